/* SPDX-License-Identifier: MIT */

/* Nested peaks: a scope puts the peaks so far aside and starts from the current
 * values; closing it gives the outer one the higher of both. */

#include "counters.h"
#include <runtime/fail.h>

enum { DEPTH = sizeof((kolk_pool *)NULL)->scopes / sizeof(kolk_peaks) };

static uint64_t restart(kolk_gauge *gauge)
{
    return atomic_exchange_explicit(&gauge->peak, kolk_read(&gauge->current),
                                    memory_order_relaxed);
}

static kolk_peaks restart_all(kolk_counters *counters)
{
    return (kolk_peaks){.requested = restart(&counters->requested),
                        .allocated = restart(&counters->allocated),
                        .active = restart(&counters->active),
                        .reserved = restart(&counters->reserved)};
}

kolk_status kolk_pool_peak_begin(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->scope_lock);
    const bool room = pool->scope_depth < DEPTH;
    if (room)
        pool->scopes[pool->scope_depth++] = restart_all(&pool->counters);
    kolk_lock_release(&pool->scope_lock);
    if (room)
        return KOLK_OK;
    return kolk_fail(KOLK_OUT_OF_RANGE, "a scope of depth %d, at most %d nest",
                     DEPTH + 1, DEPTH);
}

static uint64_t merge(kolk_gauge *gauge, uint64_t outer)
{
    const uint64_t inner = kolk_read(&gauge->peak);
    kolk_gauge_raise_peak(gauge, outer);
    return inner;
}

kolk_status kolk_pool_peak_end(kolk_pool *pool, kolk_peaks *out)
{
    kolk_counters *const counters = &pool->counters;
    kolk_lock_acquire(&pool->scope_lock);
    const bool open = pool->scope_depth > 0;
    if (open) {
        const kolk_peaks outer = pool->scopes[--pool->scope_depth];
        const kolk_peaks inner = {
            .requested = merge(&counters->requested, outer.requested),
            .allocated = merge(&counters->allocated, outer.allocated),
            .active = merge(&counters->active, outer.active),
            .reserved = merge(&counters->reserved, outer.reserved)};
        if (out)
            *out = inner;
    }
    kolk_lock_release(&pool->scope_lock);
    if (open)
        return KOLK_OK;
    return kolk_fail(KOLK_INVALID_ARGUMENT, "no scope is open");
}

void kolk_pool_reset_peaks(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->scope_lock);
    (void)restart_all(&pool->counters);
    for (int i = 0; i < pool->scope_depth; i++)
        pool->scopes[i] = (kolk_peaks){0};
    kolk_lock_release(&pool->scope_lock);
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++)
        (void)restart(&pool->counters.tags[tag]);
    (void)restart(&pool->counters.blocks);
    (void)restart(&pool->counters.segments);
}
