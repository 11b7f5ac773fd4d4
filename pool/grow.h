/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_GROW_H
#define KOLK_POOL_GROW_H

/* Memory from the driver and back to it.
 *
 * Every change has two halves around the driver calls. The first, under the
 * heap's lock, takes blocks out of everybody's reach (BUSY) and accounts for
 * the bytes, so that two threads together cannot pass the limit; the second
 * files them in their new state, or as they were if the driver refused. */

#include "core.h"

/* More memory, in which a request of `units` fits, and the request cut out of
 * it: BUSY and in the map. Pages held but not mapped are used first. Fails with
 * OUT_OF_MEMORY when the limit or the driver says so; the driver's code is the
 * error's `native`. */
kolk_status kolk_heap_grow(kolk_pool *pool, kolk_cache *cache, uint32_t units,
                           size_t alignment, kolk_block **out);

/* Unmaps idle pages until `bytes` of pages are held and not mapped, or until
 * what the driver has left makes up for the rest; if neither is enough, nothing
 * is unmapped. With plain segments, gives whole idle ones back until the limit
 * leaves room for `bytes`, or all of them if it does. */
bool kolk_heap_remap(kolk_pool *pool, size_t bytes);

/* Gives clean memory back until at most `keep` bytes are reserved. */
size_t kolk_heap_shrink(kolk_pool *pool, size_t keep);

/* Returns every byte and address, whoever uses it. For the pool's end. */
void kolk_heap_dismantle(kolk_pool *pool);

/* Bytes that a request of `units` may need from the driver. */
size_t kolk_grow_bytes(const kolk_pool *pool, uint32_t units, size_t alignment);

#endif
