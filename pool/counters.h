/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_COUNTERS_H
#define KOLK_POOL_COUNTERS_H

/* Counting. A gauge is written by whoever changes the quantity, and its peak
 * by whoever raises it; totals belong to a cache's lock and readers sum them. */

#include "core.h"

static inline uint64_t kolk_read(const atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void kolk_bump(atomic_uint_least64_t *counter, uint64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

void kolk_gauge_raise_peak(kolk_gauge *gauge, uint64_t value);

static inline void kolk_gauge_add(kolk_gauge *gauge, uint64_t by)
{
    const uint64_t now =
        atomic_fetch_add_explicit(&gauge->current, by, memory_order_relaxed) + by;
    if (now > kolk_read(&gauge->peak))
        kolk_gauge_raise_peak(gauge, now);
}

static inline void kolk_gauge_subtract(kolk_gauge *gauge, uint64_t by)
{
    atomic_fetch_sub_explicit(&gauge->current, by, memory_order_relaxed);
}

/* A block became live, or stopped being live. The cache is the one it was
 * allocated for, and locked. `pending`: its bytes stay active. */
void kolk_count_alloc(kolk_cache *cache, const kolk_block *block);
void kolk_count_free(kolk_cache *cache, const kolk_block *block, bool pending);

/* A pending block came back. */
void kolk_count_resolved(kolk_pool *pool, const kolk_block *block);

void kolk_count_reserved(kolk_pool *pool, size_t more, size_t less);
void kolk_totals_add(kolk_totals *sum, const kolk_totals *more);

/* Sums over the streams. Takes each lock in turn; `frozen`: they are held. */
kolk_totals kolk_totals_of(kolk_pool *pool, bool frozen);
kolk_pool_stats kolk_stats_read(kolk_pool *pool, bool frozen);

/* Units of the largest free block. Under the heap's lock. */
uint32_t kolk_largest_free(const kolk_pool *pool);

#endif
