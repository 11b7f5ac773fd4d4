/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_INDEX_H
#define KOLK_POOL_INDEX_H

/* Free blocks by size: two-level segregated fit (Masmano, Ripoll, Crespo and
 * Real, "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", 2004).
 *
 * Every doubling of the size in units is cut into 32 lists. Below 32 units a
 * list holds one size; above, list (row, column) holds the sizes from
 * (32 + column) << (row - 1) up to the next list's. A bitmap of the rows with a
 * non-empty list, and one of the lists of each row, find the next larger
 * non-empty list in two instructions.
 *
 * Any block of a list above the request's own fits. Blocks of the request's
 * own list may fit: the few at its head are tried first, since what a loop
 * freed last is what it asks for next. */

#include "block.h"

enum { KOLK_INDEX_COLUMNS = 32, KOLK_INDEX_ROWS = 28 };

typedef struct kolk_index {
    uint32_t rows;
    uint32_t columns[KOLK_INDEX_ROWS];
    kolk_block *heads[KOLK_INDEX_ROWS][KOLK_INDEX_COLUMNS];
    uint64_t bytes; /* in all blocks of the index */
} kolk_index;

void kolk_index_insert(kolk_index *index, kolk_block *block);
void kolk_index_remove(kolk_index *index, kolk_block *block);

/* A block that holds `units` at a multiple of `alignment` bytes, a power of
 * two; NULL if there is none. Looks at no more than a few blocks of a list
 * unless `thorough`, and then at all that may fit. */
kolk_block *kolk_index_find(const kolk_index *index, uint32_t units, size_t alignment,
                            bool thorough);

/* Units of the largest block, 0 if empty. Walks one list. */
uint32_t kolk_index_largest(const kolk_index *index);

/* Calls `visit` for each block of at least `units`, until it returns false.
 * `visit` may remove the block it is given, and no other. */
void kolk_index_walk(const kolk_index *index, uint32_t units,
                     bool (*visit)(kolk_block *block, void *context), void *context);

/* Whether the block, wherever it lies, holds `units` at the alignment. */
static inline bool kolk_block_fits(const kolk_block *block, uint32_t units,
                                   size_t alignment)
{
    const uintptr_t start = (block->address + alignment - 1) & ~(alignment - 1);
    const size_t lead = start - block->address;
    return kolk_block_bytes(block) >= lead + kolk_bytes_of(units);
}

#endif
