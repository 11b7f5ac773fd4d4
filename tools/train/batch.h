/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_BATCH_H
#define KOLK_TRAIN_BATCH_H

/* Minibatches: lines are gathered, in the order of the text or in a shuffled
 * one, as long as they fit in `capacity` characters; so the size changes from
 * one to the next. For each character it holds the id and those of the
 * `context` characters before it, newlines where the line has not begun.
 *
 * For training the first one is filled to the brim, its last line cut, so that
 * the largest step comes first: from then on the memory that a step needs is
 * there. */

#include "random.h"
#include "text.h"

typedef struct train_batches {
    const train_text *text;
    const train_lines *lines;
    int64_t context, capacity;
    int64_t *order;      /* of the lines in this pass */
    int64_t next;        /* position in `order` */
    train_random random; /* of the shuffle */
    bool shuffled;
    bool brim; /* the next one is filled to it */

    int64_t count;    /* characters in the present minibatch */
    int32_t *ids;     /* [count, context] */
    int32_t *targets; /* [count] */
    float *losses;    /* [count], room for the answers */
} train_batches;

/* Lines in order. `capacity` >= TRAIN_LINE_MAX. */
void train_batches_open(const train_text *text, const train_lines *lines,
                        int64_t context, int64_t capacity, train_batches *out);

/* For training: each pass takes the lines in an order of its own. */
void train_batches_shuffle(train_batches *batches, uint64_t seed);

void train_batches_close(train_batches *batches);

/* Gathers the next one. False, with none, at the end of a pass; the call after
 * that starts another. */
bool train_batches_next(train_batches *batches);

#endif
