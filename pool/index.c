/* SPDX-License-Identifier: MIT */
#include "index.h"

enum { TRIES = 8 };

typedef struct cell {
    int row, column;
} cell;

/* The list that holds blocks of `units`. */
static cell cell_of(uint32_t units)
{
    assert(units > 0);
    if (units < KOLK_INDEX_COLUMNS)
        return (cell){0, (int)units};
    const int row = kolk_log2(units) - 4;
    return (cell){row, (int)(units >> (row - 1)) - KOLK_INDEX_COLUMNS};
}

static kolk_block *head(const kolk_index *index, cell at)
{
    return index->heads[at.row][at.column];
}

void kolk_index_insert(kolk_index *index, kolk_block *block)
{
    const cell at = cell_of(block->units);
    kolk_block *const after = head(index, at);
    block->list.before = NULL;
    block->list.after = after;
    if (after)
        after->list.before = block;
    index->heads[at.row][at.column] = block;
    index->columns[at.row] |= 1U << at.column;
    index->rows |= 1U << at.row;
    index->bytes += kolk_block_bytes(block);
}

static void forget_empty_list(kolk_index *index, cell at)
{
    index->columns[at.row] &= ~(1U << at.column);
    if (!index->columns[at.row])
        index->rows &= ~(1U << at.row);
}

void kolk_index_remove(kolk_index *index, kolk_block *block)
{
    const cell at = cell_of(block->units);
    kolk_block *const before = block->list.before, *const after = block->list.after;
    if (after)
        after->list.before = before;
    if (before)
        before->list.after = after;
    else {
        assert(head(index, at) == block);
        index->heads[at.row][at.column] = after;
        if (!after)
            forget_empty_list(index, at);
    }
    index->bytes -= kolk_block_bytes(block);
}

/* The first non-empty list after `at`, by size. */
static bool next_cell(const kolk_index *index, cell *at)
{
    const uint32_t columns =
        index->columns[at->row] & ~(UINT32_MAX >> (31 - at->column));
    if (columns) {
        at->column = __builtin_ctz(columns);
        return true;
    }
    const uint32_t rows = index->rows & ~(UINT32_MAX >> (31 - at->row));
    if (!rows)
        return false;
    at->row = __builtin_ctz(rows);
    at->column = __builtin_ctz(index->columns[at->row]);
    return true;
}

/* The smallest of the first `tries` blocks of a list that fits. */
static kolk_block *best_of(kolk_block *block, uint32_t units, size_t alignment,
                           int tries)
{
    kolk_block *best = NULL;
    for (; block && tries > 0; block = block->list.after, tries--) {
        if (!kolk_block_fits(block, units, alignment))
            continue;
        if (!best || block->units < best->units)
            best = block;
        if (best->units == units)
            break;
    }
    return best;
}

kolk_block *kolk_index_find(const kolk_index *index, uint32_t units, size_t alignment,
                            bool thorough)
{
    const int tries = thorough ? INT32_MAX : TRIES;
    cell at = cell_of(units);
    kolk_block *found = best_of(head(index, at), units, alignment, tries);
    while (!found && next_cell(index, &at))
        found = best_of(head(index, at), units, alignment, tries);
    return found;
}

uint32_t kolk_index_largest(const kolk_index *index)
{
    if (!index->rows)
        return 0;
    const int row = kolk_log2(index->rows);
    uint32_t largest = 0;
    for (const kolk_block *block = index->heads[row][kolk_log2(index->columns[row])];
         block; block = block->list.after)
        if (block->units > largest)
            largest = block->units;
    return largest;
}

void kolk_index_walk(const kolk_index *index, uint32_t units,
                     bool (*visit)(kolk_block *block, void *context), void *context)
{
    cell at = cell_of(units);
    do {
        for (kolk_block *block = head(index, at), *after; block; block = after) {
            after = block->list.after;
            if (block->units >= units && !visit(block, context))
                return;
        }
    } while (next_cell(index, &at));
}
