/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_SEGMENT_H
#define KOLK_POOL_SEGMENT_H

/* Segments: ranges of addresses backed page by page, or plain allocations. */

#include "core.h"

/* Reserves a range of at least `size` bytes of addresses, all of it one hole. */
kolk_status kolk_segment_reserve(kolk_pool *pool, size_t size);

/* Takes `size` bytes in one plain allocation; `out` is all of it, BUSY. The
 * bytes are accounted for by the caller. */
kolk_status kolk_segment_alloc(kolk_pool *pool, size_t size, kolk_block **out);

/* Takes a plain segment that is one BUSY block off the list, and frees it. False:
 * the driver refused, and the segment is one clean block again. */
bool kolk_segment_free(kolk_pool *pool, kolk_block *block);

/* The segment that covers an address, or NULL. Under the heap's lock. */
kolk_segment *kolk_segment_of(const kolk_heap *heap, uintptr_t address);

/* Number of the page at an address of a paged segment. */
static inline size_t kolk_page_number(const kolk_pool *pool,
                                      const kolk_segment *segment, uintptr_t address)
{
    return (address - segment->base) / pool->page_size;
}

/* Gives a segment's own memory back to the host. */
void kolk_segment_forget(kolk_segment *segment);

#endif
