/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_TEXT_H
#define KOLK_TRAIN_TEXT_H

/* The text as numbers. A character is a code point; its id is its rank among
 * the characters that occur, in the order of code points. Newline always has
 * an id, since every line starts as if newlines came before it: what a line
 * is predicted from lies in the line itself.
 *
 * A line ends with its newline. One longer than TRAIN_LINE_MAX is cut into
 * pieces, which count as lines but still see what came before them in theirs.
 * Every tenth line is held out, interleaved so that both parts speak of the
 * same things; of fewer than ten, the last. */

#include <kolk/status.h>

#define TRAIN_LINE_MAX 256
#define TRAIN_HELD_OUT 10

/* Characters [begin, end) of the text are to be predicted; what they are
 * predicted from reaches back to `start`, where the line starts. */
typedef struct train_line {
    int64_t start, begin, end;
} train_line;

typedef struct train_lines {
    train_line *at;
    int64_t count;
    int64_t characters; /* in all of them */
} train_lines;

typedef struct train_text {
    int32_t *ids;
    int64_t count;
    uint32_t *characters; /* code points by id, ascending */
    int32_t vocabulary;
    int32_t newline; /* its id */
    train_lines train, held_out;
} train_text;

/* Reads at most `limit` bytes of a file; a character that the limit cuts is
 * left out. IO gives the system's reason. Otherwise as train_text_parse(). */
KOLK_NODISCARD kolk_status train_text_read(const char *path, int64_t limit,
                                           train_text *out);

/* Takes in `size` bytes; errors call them `name`. CORRUPT: they are no UTF-8
 * (says where), or none at all, or fewer than two lines. */
KOLK_NODISCARD kolk_status train_text_parse(const char *name, const uint8_t *bytes,
                                            size_t size, train_text *out);

/* Fine for one that is all zeros, too. */
void train_text_close(train_text *text);

/* What a model that knows only how often each character occurs would lose per
 * held-out character, in nats: the cross entropy of the held-out part under
 * the frequencies of the training part, each counted once more than it occurs,
 * so that it stays finite. */
double train_text_unigram_entropy(const train_text *text);

#endif
