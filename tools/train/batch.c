/* SPDX-License-Identifier: MIT */
#include "batch.h"

#include "host.h"

#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void train_batches_open(const train_text *text, const train_lines *lines,
                        int64_t context, int64_t capacity, train_batches *out)
{
    const size_t room = (size_t)smaller(capacity, lines->characters);
    *out = (train_batches){.text = text,
                           .lines = lines,
                           .context = context,
                           .capacity = capacity,
                           .order = train_calloc((size_t)lines->count, sizeof(int64_t)),
                           .ids = train_calloc(room * (size_t)context, sizeof(int32_t)),
                           .targets = train_calloc(room, sizeof(int32_t)),
                           .losses = train_calloc(room, sizeof(float))};
    for (int64_t i = 0; i < lines->count; i++)
        out->order[i] = i;
}

/* Every order is equally likely: Fisher and Yates. */
static void draw_order(train_batches *batches)
{
    for (int64_t i = batches->lines->count - 1; i > 0; i--) {
        const int64_t j = train_random_below(&batches->random, i + 1);
        const int64_t moved = batches->order[i];
        batches->order[i] = batches->order[j];
        batches->order[j] = moved;
    }
}

void train_batches_shuffle(train_batches *batches, uint64_t seed)
{
    batches->random.state = seed;
    batches->shuffled = true;
    batches->brim = true;
    draw_order(batches);
}

void train_batches_close(train_batches *batches)
{
    free(batches->order);
    free(batches->ids);
    free(batches->targets);
    free(batches->losses);
    *batches = (train_batches){0};
}

static void add_character(train_batches *batches, const train_line *line, int64_t at)
{
    const train_text *const text = batches->text;
    int32_t *const ids = batches->ids + batches->count * batches->context;
    for (int64_t i = 0; i < batches->context; i++) {
        const int64_t from = at - batches->context + i;
        ids[i] = from < line->start ? text->newline : text->ids[from];
    }
    batches->targets[batches->count++] = text->ids[at];
}

static void start_over(train_batches *batches)
{
    batches->next = 0;
    if (batches->shuffled)
        draw_order(batches);
}

/* How many characters of the next line go into the minibatch; 0 closes it. */
static int64_t fitting(const train_batches *batches, const train_line *line)
{
    const int64_t length = line->end - line->begin;
    const int64_t room = batches->capacity - batches->count;
    return length <= room ? length : batches->brim ? room : 0;
}

static bool add_line(train_batches *batches)
{
    if (batches->next == batches->lines->count)
        return false;
    const train_line *const line = &batches->lines->at[batches->order[batches->next]];
    const int64_t count = fitting(batches, line);
    for (int64_t i = 0; i < count; i++)
        add_character(batches, line, line->begin + i);
    batches->next += count > 0;
    return count > 0;
}

bool train_batches_next(train_batches *batches)
{
    batches->count = 0;
    while (add_line(batches))
        ;
    batches->brim = false;
    if (batches->count == 0)
        start_over(batches);
    return batches->count > 0;
}
