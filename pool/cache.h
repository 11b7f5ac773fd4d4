/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_CACHE_H
#define KOLK_POOL_CACHE_H

/* The pool's side of one stream, found by the stream's id.
 *
 * A bin holds freed blocks of one size class, whole, the last freed on top: a
 * hit is a pop under the cache's own lock. Bins are a shortcut, not a place
 * where memory gets lost: before the pool asks the driver for anything they are
 * emptied into the heap, where neighbours join. */

#include "core.h"

/* The cache of `stream`, made on first use. NULL: the default stream.
 * DEVICE_MISMATCH if the stream is another device's. */
kolk_status kolk_cache_of(kolk_pool *pool, kolk_stream *stream, kolk_cache **out);

/* A cache that no stream leads to, for what is captured on `stream`. */
kolk_status kolk_cache_create_captured(kolk_pool *pool, kolk_stream *stream,
                                       kolk_cache **out);

/* The registry. Caches are never freed before the pool is. */
size_t kolk_cache_count(kolk_pool *pool);
kolk_cache *kolk_cache_at(kolk_pool *pool, size_t number);

/* The cache's stream, kept from being destroyed until it is returned; NULL if it
 * is gone, or if nothing may be recorded on it since it belongs to a capture. */
kolk_stream *kolk_cache_borrow_stream(kolk_cache *cache);
void kolk_cache_return_stream(kolk_cache *cache);

/* Lets go of all streams; afterwards none of them knows the pool. */
void kolk_cache_detach_all(kolk_pool *pool);
void kolk_cache_destroy_all(kolk_pool *pool);

/* Under the cache's lock. pop: NULL if the bin has no such block. push: false
 * if the bin is full. */
kolk_block *kolk_bin_pop(kolk_cache *cache, int class, size_t alignment);
bool kolk_bin_push(kolk_cache *cache, kolk_block *block);

/* Moves all binned blocks to the heap. Under both locks. */
void kolk_bins_flush(kolk_cache *cache);

/* The stamp of what is freed on the stream now. */
static inline uint64_t kolk_cache_stamp(const kolk_cache *cache)
{
    const uint64_t epoch = kolk_cache_epoch(cache);
    return cache->closed && !cache->orphaned ? epoch - 1 : epoch;
}

/* Bytes free in the bins and indexes of the cache. Under both locks. */
static inline uint64_t kolk_cache_free_bytes(const kolk_cache *cache)
{
    return cache->binned + cache->index[KOLK_AREA_LARGE].bytes +
           cache->index[KOLK_AREA_SMALL].bytes;
}

static inline void kolk_cache_lock(kolk_cache *cache)
{
    kolk_lock_acquire(&cache->lock);
    kolk_lock_acquire(&cache->pool->heap.lock);
}

static inline void kolk_cache_unlock(kolk_cache *cache)
{
    kolk_lock_release(&cache->pool->heap.lock);
    kolk_lock_release(&cache->lock);
}

#endif
