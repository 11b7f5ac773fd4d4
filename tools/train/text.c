/* SPDX-License-Identifier: MIT */
#include "text.h"

#include "failure.h"
#include "host.h"
#include "utf8.h"

#include <math.h>
#include <stdlib.h>

enum { CODE_POINTS = 0x110000 };

/* Leaves the code points where the ids will be. */
static kolk_status decode(const char *name, const uint8_t *bytes, size_t size,
                          train_text *text)
{
    size_t offset = 0;
    while (offset < size) {
        uint32_t code;
        const size_t length = train_utf8_decode(bytes + offset, size - offset, &code);
        if (length == 0)
            return train_fail(KOLK_CORRUPT,
                              "%s: byte 0x%02x at offset %zu does not start a "
                              "character of UTF-8",
                              name, bytes[offset], offset);
        text->ids[text->count++] = (int32_t)code;
        offset += length;
    }
    return KOLK_OK;
}

/* `rank` has an entry for each code point: first whether it occurs, then its
 * id. */
static void number_characters(train_text *text, int32_t *rank)
{
    rank['\n'] = 1;
    for (int64_t i = 0; i < text->count; i++)
        rank[text->ids[i]] = 1;
    for (int32_t code = 0; code < CODE_POINTS; code++)
        text->vocabulary += rank[code];
    text->characters = train_calloc((size_t)text->vocabulary, sizeof *text->characters);
    int32_t next = 0;
    for (int32_t code = 0; code < CODE_POINTS; code++)
        if (rank[code]) {
            text->characters[next] = (uint32_t)code;
            rank[code] = next++;
        }
    text->newline = rank['\n'];
}

static void replace_by_ids(train_text *text)
{
    int32_t *const rank = train_calloc(CODE_POINTS, sizeof *rank);
    number_characters(text, rank);
    for (int64_t i = 0; i < text->count; i++)
        text->ids[i] = rank[text->ids[i]];
    free(rank);
}

/* Calls `take` for each line in turn. Called twice: to count, then to sort. */
static int64_t walk_lines(train_text *text,
                          void (*take)(train_text *, int64_t, const train_line *))
{
    int64_t index = 0;
    train_line line = {0, 0, 0};
    while (line.end < text->count) {
        const bool is_newline = text->ids[line.end++] == text->newline;
        const bool is_long = line.end - line.begin == TRAIN_LINE_MAX;
        if (!is_newline && !is_long && line.end < text->count)
            continue;
        if (take)
            take(text, index, &line);
        index++;
        line.begin = line.end;
        if (is_newline)
            line.start = line.end;
    }
    return index;
}

static void append(train_lines *lines, const train_line *line)
{
    lines->at[lines->count++] = *line;
    lines->characters += line->end - line->begin;
}

static void sort_line(train_text *text, int64_t index, const train_line *line)
{
    const bool is_tenth = index % TRAIN_HELD_OUT == TRAIN_HELD_OUT - 1;
    append(is_tenth ? &text->held_out : &text->train, line);
}

/* Of fewer than ten lines the last one moves over. */
static void hold_out_last(train_text *text)
{
    const train_line last = text->train.at[--text->train.count];
    text->train.characters -= last.end - last.begin;
    append(&text->held_out, &last);
}

static kolk_status split(const char *name, train_text *text)
{
    const int64_t lines = walk_lines(text, NULL);
    if (lines < 2)
        return train_fail(KOLK_CORRUPT,
                          "%s: too short: %lld line of %lld characters, but it takes 2 "
                          "lines, one to learn from and one to test with",
                          name, (long long)lines, (long long)text->count);
    text->train.at = train_calloc((size_t)lines, sizeof *text->train.at);
    text->held_out.at = train_calloc((size_t)lines, sizeof *text->held_out.at);
    (void)walk_lines(text, sort_line);
    if (text->held_out.count == 0)
        hold_out_last(text);
    return KOLK_OK;
}

static kolk_status parse(const char *name, const uint8_t *bytes, size_t size,
                         train_text *text)
{
    if (size == 0)
        return train_fail(KOLK_CORRUPT, "%s: the file is empty", name);
    text->ids = train_calloc(size, sizeof *text->ids);
    KOLK_TRY(decode(name, bytes, size, text));
    replace_by_ids(text);
    return split(name, text);
}

kolk_status train_text_parse(const char *name, const uint8_t *bytes, size_t size,
                             train_text *out)
{
    train_text text = {0};
    const kolk_status status = parse(name, bytes, size, &text);
    if (status == KOLK_OK)
        *out = text;
    else
        train_text_close(&text);
    return status;
}

void train_text_close(train_text *text)
{
    free(text->ids);
    free(text->characters);
    free(text->train.at);
    free(text->held_out.at);
    *text = (train_text){0};
}

/* Adds to `counts` how often each id occurs in the lines. */
static void tally(const train_text *text, const train_lines *lines, int64_t *counts)
{
    for (int64_t i = 0; i < lines->count; i++)
        for (int64_t at = lines->at[i].begin; at < lines->at[i].end; at++)
            counts[text->ids[at]]++;
}

double train_text_unigram_entropy(const train_text *text)
{
    int64_t *const known = train_calloc(2 * (size_t)text->vocabulary, sizeof *known);
    int64_t *const asked = known + text->vocabulary;
    tally(text, &text->train, known);
    tally(text, &text->held_out, asked);
    const double total = (double)(text->train.characters + text->vocabulary);
    double sum = 0.0;
    for (int32_t id = 0; id < text->vocabulary; id++)
        sum -= (double)asked[id] * log((double)(known[id] + 1) / total);
    free(known);
    return sum / (double)text->held_out.characters;
}
