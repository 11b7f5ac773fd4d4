/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_HEAP_H
#define KOLK_POOL_HEAP_H

/* The surgery on blocks: cutting, joining, and keeping free ones in the index
 * they belong to. Everything here is done under the heap's lock, makes no
 * driver call, and costs the same however many blocks there are.
 *
 * A free block is the largest it can be: no two neighbours in the same area
 * are both free and usable by the same streams. Clean memory next to memory a
 * stream owns goes over to that stream, so that one stream alone sees one
 * coalescing range. */

#include "core.h"

void kolk_heap_init(kolk_heap *heap);
void kolk_heap_fini(kolk_heap *heap);

/* Host memory for whatever one allocation or one free may have to cut. */
kolk_status kolk_heap_prepare(kolk_heap *heap);

/* The two halves of a change around driver calls. Under the heap's lock. */
void kolk_heap_begin_change(kolk_heap *heap);
void kolk_heap_end_change(kolk_heap *heap);

/* Changes that other threads have finished or are making; `out_busy` is the
 * number of those under way. */
uint64_t kolk_heap_others_changes(kolk_heap *heap, uint32_t *out_busy);

/* A block of `units` for the stream of `cache`, out of what it owns or what is
 * clean, cut to size and in the map, in state BUSY; NULL if there is none.
 * Needs kolk_heap_prepare(). */
kolk_block *kolk_heap_take(kolk_heap *heap, kolk_cache *cache, uint32_t units,
                           size_t alignment, bool thorough);

/* A FREE block of `owner` out of which carve() can serve the request, or NULL. */
kolk_block *kolk_heap_find_in(const kolk_cache *owner, uint32_t units,
                              size_t alignment);

/* Takes back a block that is in the map: LIVE, PENDING or BINNED until now.
 * The stream of `owner` may use it at once, others after epoch `stamp`; NULL:
 * everybody. */
void kolk_heap_give(kolk_heap *heap, kolk_block *block, kolk_cache *owner,
                    uint64_t stamp);

/* Joins a block that is on no list to its neighbours and files it as free. */
void kolk_heap_file(kolk_heap *heap, kolk_block *block);

/* Takes a FREE or UNMAPPED block off its index; it is BUSY then. */
void kolk_heap_unfile(kolk_heap *heap, kolk_block *block);

/* Files a BUSY block as addresses without memory, joined to such neighbours. */
void kolk_heap_file_hole(kolk_heap *heap, kolk_block *block);

/* Cuts a BUSY block to `units` and returns the rest, BUSY as well. */
kolk_block *kolk_heap_cut(kolk_heap *heap, kolk_block *block, uint32_t units);

/* Joins BUSY `second` to BUSY `first`, its neighbour before it. */
void kolk_heap_join(kolk_heap *heap, kolk_block *first, kolk_block *second);

/* Cuts the request out of a BUSY block in which it fits, as take() does. */
kolk_block *kolk_heap_carve(kolk_heap *heap, kolk_block *block, uint32_t units,
                            size_t alignment);

/* Whether a BUSY block has been cut out for a caller who does not have it yet:
 * there is memory behind it, and its address leads to it. */
bool kolk_heap_is_taken(const kolk_heap *heap, const kolk_block *block);

/* Whether no stream can still be using the free block. */
bool kolk_block_is_clean(const kolk_block *block);

static inline kolk_area kolk_area_of(uint32_t units)
{
    return units <= KOLK_SMALL_MAX / KOLK_UNIT ? KOLK_AREA_SMALL : KOLK_AREA_LARGE;
}

#endif
