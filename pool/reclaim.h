/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_RECLAIM_H
#define KOLK_POOL_RECLAIM_H

/* Memory that another stream freed: when it belongs to no stream any more, and
 * how one stream gets at what another still may use. All of these take and
 * release the locks themselves; true means that a search may now succeed. */

#include "core.h"

/* Polls every stream, and files as clean what is complete. */
bool kolk_reclaim_completed(kolk_pool *pool);

/* The same for streams that are gone, whose caches may then serve others. */
void kolk_reclaim_closed(kolk_pool *pool);

/* A BUSY block for the request out of what `other` owns free, after a wait on
 * the device unless `cache` is behind it already; NULL if none fits. */
kolk_block *kolk_reclaim_fitting(kolk_pool *pool, kolk_cache *cache, kolk_cache *other,
                                 uint32_t units, size_t alignment);

/* Bytes that `cache` could have at most once it is behind `other`: what it owns
 * itself, what is clean, what `other` owns free, and what `other` holds up. */
uint64_t kolk_reclaim_prospect(kolk_cache *cache, kolk_cache *other);

/* Orders `cache` after `other` and gives it all that `other` owns free, and
 * the blocks that were held for it. */
bool kolk_reclaim_all_of(kolk_pool *pool, kolk_cache *cache, kolk_cache *other);

/* The same with what `cache` is ordered after already, its own uses among it. */
void kolk_reclaim_seen(kolk_cache *cache, kolk_cache *other);

/* Rounds over all streams after which nothing is held up that was freed before:
 * a block waits for the streams on record first, and then for its own. */
enum { KOLK_RECLAIM_PASSES = 2 };

/* Waits on the host for the oldest work of the stream that holds memory up. */
bool kolk_reclaim_wait(kolk_pool *pool, kolk_cache *cache);

/* The same, for streams that are gone and left no fence. */
bool kolk_reclaim_orphans(kolk_pool *pool);

/* Gives all that `from` owns free to the open stream of `to`, in whose order it
 * was used. */
void kolk_reclaim_hand_over(kolk_cache *from, kolk_cache *to);

/* Waits until everything that was freed until now is clean; what is being captured, or
 * what the driver will not tell about, stays. */
void kolk_reclaim_everything(kolk_pool *pool);

#endif
