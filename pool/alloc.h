/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_ALLOC_H
#define KOLK_POOL_ALLOC_H

/* One allocation and one free, whichever face they come from. */

#include "core.h"

kolk_status kolk_pool_take_block(kolk_pool *pool, size_t size, size_t alignment,
                                 kolk_tag tag, kolk_stream *stream, kolk_block **out);

/* Frees a live block after the work on `last`, NULL for the block's own stream.
 * DOUBLE_FREE with nothing changed if it is not live. */
kolk_status kolk_pool_give_block(kolk_block *block, kolk_cache *last);

/* Adds a use record of the stream of `cache` unless there is one. */
kolk_status kolk_pool_record_block(kolk_block *block, kolk_cache *cache);

/* What every block of size 0 is. */
extern kolk_block kolk_empty_block;

/* The cache to allocate from for `stream`: its own, or that of the capture it
 * is in (capture.c). */
kolk_status kolk_capture_cache_of(kolk_pool *pool, kolk_stream *stream,
                                  kolk_cache **out);

/* Refuses a pool whose process forked from under its device. */
kolk_status kolk_pool_reachable(const kolk_pool *pool);

/* The same, and a pool whose owner let go. */
kolk_status kolk_pool_usable(const kolk_pool *pool);

/* Counts a freed block of a pool without an owner; the last takes the pool. */
void kolk_pool_freed_one(kolk_pool *pool);

#endif
