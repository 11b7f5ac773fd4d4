/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_FENCE_H
#define KOLK_POOL_FENCE_H

/* When a stream's work is done, and how another stream gets behind it.
 *
 * Nothing is recorded for frees that stay on their stream. A fence is taken
 * when somebody else needs the memory: one event then speaks for every free of
 * the epoch it ends, and for every use record that waits on that stream.
 *
 * A fence is published only with its event recorded: until then no other
 * thread can mistake it for a complete one, and nobody is given memory on its
 * strength. Fences of one cache are queued oldest first; a complete one
 * completes all older ones, since its event comes after everything they cover. */

#include "core.h"

/* Use records that may wait for one event before it is recorded unasked. */
enum { KOLK_USES_PER_FENCE = 64 };

/* Ends the epoch of `cache` with a recorded event. `out`, if not NULL, gets the
 * fence, borrowed until kolk_fence_return(). False, and everything as before:
 * the stream is gone or being captured, or the driver refused. */
bool kolk_fence_take(kolk_pool *pool, kolk_cache *cache, kolk_fence **out);

void kolk_fence_return(kolk_pool *pool, kolk_fence *fence);

/* Looks at the oldest fences until one is not complete; true if any was. */
bool kolk_fence_poll(kolk_pool *pool, kolk_cache *cache);

/* Waits on the host for the oldest fence; false if there is none. */
bool kolk_fence_wait_oldest(kolk_pool *pool, kolk_cache *cache);

/* Waits on the host until the device is idle: the last resort for streams that
 * went away without a fence. */
bool kolk_fence_wait_device(kolk_pool *pool);

/* Makes the stream of `cache` wait on the device for what `other` freed up to
 * `stamp`, and for the use records that wait on it. */
bool kolk_fence_order(kolk_pool *pool, kolk_cache *cache, kolk_cache *other,
                      uint64_t stamp);

/* Whether `cache` is ordered after what `other` freed with that stamp. Under the
 * heap's lock. */
bool kolk_fence_seen(const kolk_cache *cache, const kolk_cache *other, uint64_t stamp);

/* Closes the use records that `other` holds for blocks which `cache` may have,
 * now that it is ordered after `other`: the blocks go to `cache`. Under the
 * heap's lock. */
void kolk_fence_close_uses(kolk_cache *cache, kolk_cache *other);

/* Hands a freed block's use records to the streams they name; the block comes
 * back when all are closed. Returns one of the streams whose batch is full by now,
 * or NULL. Under the heap's lock. */
kolk_cache *kolk_fence_hold(kolk_pool *pool, kolk_block *block);

/* Destroys what fences are left, complete or not. For the pool's end. */
void kolk_fence_forget_all(kolk_pool *pool);

#endif
