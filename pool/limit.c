/* SPDX-License-Identifier: MIT */

/* Limits, trimming, and what a pool says about itself. */

#include "alloc.h"
#include "counters.h"
#include "grow.h"
#include "reclaim.h"
#include <runtime/fail.h>

kolk_device kolk_pool_device(const kolk_pool *pool)
{
    return pool->device;
}

kolk_pool_config kolk_pool_config_of(const kolk_pool *pool)
{
    kolk_pool_config config = pool->config;
    config.limit = atomic_load(&pool->limit);
    return config;
}

size_t kolk_pool_trim(kolk_pool *pool, size_t keep)
{
    if (kolk_pool_flags(pool) & KOLK_POOL_FORKED)
        return 0;
    kolk_reclaim_everything(pool);
    const size_t given_back = kolk_heap_shrink(pool, keep);
    if (keep == 0)
        kolk_device_trim(pool->device);
    return given_back;
}

static uint64_t reserved(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->heap.lock);
    const uint64_t bytes = pool->heap.reserved;
    kolk_lock_release(&pool->heap.lock);
    return bytes;
}

/* The new limit is in force before the trim, so that no thread grows past it
 * meanwhile; if live memory stands in the way the old one comes back. */
kolk_status kolk_pool_set_limit(kolk_pool *pool, size_t limit)
{
    KOLK_TRY(kolk_pool_reachable(pool));
    const size_t old = atomic_exchange(&pool->limit, limit);
    if (!limit || reserved(pool) <= limit)
        return KOLK_OK;
    (void)kolk_pool_trim(pool, limit);
    const uint64_t left = reserved(pool);
    if (left <= limit)
        return KOLK_OK;
    atomic_store(&pool->limit, old);
    return kolk_fail(KOLK_OUT_OF_RANGE,
                     "limit %zu is below the %llu bytes that cannot be given back",
                     limit, (unsigned long long)left);
}
