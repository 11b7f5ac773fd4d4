/* SPDX-License-Identifier: MIT */
#include "counters.h"
#include "cache.h"

void kolk_gauge_raise_peak(kolk_gauge *gauge, uint64_t value)
{
    uint64_t peak = kolk_read(&gauge->peak);
    while (value > peak &&
           !atomic_compare_exchange_weak_explicit(
               &gauge->peak, &peak, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

void kolk_count_alloc(kolk_cache *cache, const kolk_block *block)
{
    kolk_counters *const counters = &cache->pool->counters;
    const uint64_t bytes = kolk_block_bytes(block),
                   requested = kolk_block_requested(block);
    cache->totals.allocs++;
    cache->totals.allocated += bytes;
    cache->totals.requested += requested;
    cache->totals.tags[block->tag] += requested;
    kolk_gauge_add(&counters->blocks, 1);
    kolk_gauge_add(&counters->active, bytes);
    kolk_gauge_add(&counters->allocated, bytes);
    kolk_gauge_add(&counters->requested, requested);
    kolk_gauge_add(&counters->tags[block->tag], requested);
}

void kolk_count_free(kolk_cache *cache, const kolk_block *block, bool pending)
{
    kolk_counters *const counters = &cache->pool->counters;
    const uint64_t bytes = kolk_block_bytes(block),
                   requested = kolk_block_requested(block);
    cache->totals.frees++;
    cache->totals.allocated_freed += bytes;
    cache->totals.requested_freed += requested;
    kolk_gauge_subtract(&counters->tags[block->tag], requested);
    kolk_gauge_subtract(&counters->requested, requested);
    kolk_gauge_subtract(&counters->allocated, bytes);
    if (!pending)
        kolk_gauge_subtract(&counters->active, bytes);
    kolk_gauge_subtract(&counters->blocks, 1);
}

void kolk_count_resolved(kolk_pool *pool, const kolk_block *block)
{
    kolk_gauge_subtract(&pool->counters.active, kolk_block_bytes(block));
}

void kolk_count_reserved(kolk_pool *pool, size_t more, size_t less)
{
    kolk_counters *const counters = &pool->counters;
    kolk_bump(&counters->reserved_total, more);
    if (more)
        kolk_gauge_add(&counters->reserved, more);
    kolk_gauge_subtract(&counters->reserved, less);
}

void kolk_totals_add(kolk_totals *sum, const kolk_totals *more)
{
    sum->allocs += more->allocs;
    sum->frees += more->frees;
    sum->hits += more->hits;
    sum->misses += more->misses;
    sum->requested += more->requested;
    sum->allocated += more->allocated;
    sum->requested_freed += more->requested_freed;
    sum->allocated_freed += more->allocated_freed;
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++)
        sum->tags[tag] += more->tags[tag];
}

static kolk_totals past_of(kolk_pool *pool, bool frozen)
{
    if (!frozen)
        kolk_lock_acquire(&pool->heap.lock);
    const kolk_totals past = pool->past;
    if (!frozen)
        kolk_lock_release(&pool->heap.lock);
    return past;
}

kolk_totals kolk_totals_of(kolk_pool *pool, bool frozen)
{
    kolk_totals sum = past_of(pool, frozen);
    const size_t count = frozen ? pool->cache_count : kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++) {
        kolk_cache *const cache = frozen ? pool->caches[i] : kolk_cache_at(pool, i);
        if (!frozen)
            kolk_lock_acquire(&cache->lock);
        kolk_totals_add(&sum, &cache->totals);
        if (!frozen)
            kolk_lock_release(&cache->lock);
    }
    return sum;
}

uint32_t kolk_largest_free(const kolk_pool *pool)
{
    uint32_t largest = 0;
    for (int area = 0; area < KOLK_AREA_COUNT; area++) {
        const uint32_t clean = kolk_index_largest(&pool->heap.clean[area]);
        largest = clean > largest ? clean : largest;
        for (size_t i = 0; i < pool->cache_count; i++) {
            const uint32_t own = kolk_index_largest(&pool->caches[i]->index[area]);
            largest = own > largest ? own : largest;
        }
    }
    return largest;
}

/* ---- the public reading ---- */

static kolk_stat stat_of(const kolk_gauge *gauge, uint64_t total)
{
    kolk_stat stat = {.current = kolk_read(&gauge->current), .allocated = total};
    const uint64_t peak = kolk_read(&gauge->peak);
    stat.peak = peak > stat.current ? peak : stat.current;
    stat.freed = stat.allocated - stat.current;
    return stat;
}

static void read_totals(kolk_pool_stats *stats, const kolk_counters *counters,
                        const kolk_totals *totals)
{
    stats->requested = stat_of(&counters->requested, totals->requested);
    stats->allocated = stat_of(&counters->allocated, totals->allocated);
    stats->active = stat_of(&counters->active, totals->allocated);
    stats->blocks = stat_of(&counters->blocks, totals->allocs);
    stats->reserved =
        stat_of(&counters->reserved, kolk_read(&counters->reserved_total));
    stats->segments =
        stat_of(&counters->segments, kolk_read(&counters->segments_total));
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++)
        stats->tags[tag] = stat_of(&counters->tags[tag], totals->tags[tag]);
    stats->allocs = totals->allocs;
    stats->frees = totals->frees;
    stats->hits = totals->hits;
    stats->misses = totals->misses;
}

static void read_events(kolk_pool_stats *stats, const kolk_counters *counters)
{
    stats->retries = kolk_read(&counters->retries);
    stats->ooms = kolk_read(&counters->ooms);
    stats->misuses = kolk_read(&counters->misuses);
    stats->cross_stream_waits = kolk_read(&counters->waits);
    stats->retired = kolk_read(&counters->retired);
    for (int call = 0; call < KOLK_CALL_COUNT; call++) {
        const kolk_call_count *const from = &counters->calls[call];
        stats->calls[call] =
            (kolk_call_stat){kolk_read(&from->count), kolk_read(&from->failed),
                             kolk_read(&from->nanoseconds)};
    }
}

static uint64_t bookkeeping(const kolk_pool *pool)
{
    const kolk_heap *const heap = &pool->heap;
    return sizeof *pool + pool->cache_count * sizeof(kolk_cache) +
           pool->cache_room * sizeof(kolk_cache *) + heap->map.bytes +
           heap->blocks.bytes + heap->uses.bytes + heap->fences.bytes +
           heap->idle_room * sizeof(uint64_t);
}

static void read_heap(kolk_pool_stats *stats, const kolk_pool *pool)
{
    stats->largest_free = kolk_bytes_of(kolk_largest_free(pool));
    stats->unmapped = pool->heap.idle_count * pool->page_size;
    stats->address_space = pool->heap.address_space;
    stats->bookkeeping = bookkeeping(pool);
}

static void raise(uint64_t *peak, uint64_t value)
{
    *peak = value > *peak ? value : *peak;
}

/* Peaks of the pool's life lie aside while a scope is open. */
static void read_bytes(kolk_pool_stats *stats, kolk_pool *pool,
                       const kolk_totals *totals)
{
    kolk_lock_acquire(&pool->scope_lock);
    read_totals(stats, &pool->counters, totals);
    for (int i = 0; i < pool->scope_depth; i++) {
        raise(&stats->requested.peak, pool->scopes[i].requested);
        raise(&stats->allocated.peak, pool->scopes[i].allocated);
        raise(&stats->active.peak, pool->scopes[i].active);
        raise(&stats->reserved.peak, pool->scopes[i].reserved);
    }
    kolk_lock_release(&pool->scope_lock);
}

kolk_pool_stats kolk_stats_read(kolk_pool *pool, bool frozen)
{
    kolk_pool_stats stats = {0};
    const kolk_totals totals = kolk_totals_of(pool, frozen);
    read_bytes(&stats, pool, &totals);
    read_events(&stats, &pool->counters);
    if (!frozen)
        kolk_lock_acquire(&pool->heap.lock);
    read_heap(&stats, pool);
    if (!frozen)
        kolk_lock_release(&pool->heap.lock);
    return stats;
}

kolk_pool_stats kolk_pool_stats_of(const kolk_pool *pool)
{
    return kolk_stats_read((kolk_pool *)pool, false);
}

uint64_t kolk_pool_driver_calls(const kolk_pool *pool)
{
    uint64_t sum = 0;
    for (int call = 0; call < KOLK_CALL_COUNT; call++)
        sum += kolk_read(&pool->counters.calls[call].count);
    return sum;
}

const char *kolk_call_name(kolk_call call)
{
    static const char *const names[] = {
#define X(name, value, text) [value] = text,
        KOLK_CALL_LIST(X)
#undef X
    };
    return (unsigned)call < KOLK_CALL_COUNT ? names[call] : "?";
}

const char *kolk_tag_name(kolk_tag tag)
{
    static const char *const names[] = {
#define X(name, value, text) [value] = text,
        KOLK_TAG_LIST(X)
#undef X
    };
    return (unsigned)tag < KOLK_TAG_COUNT ? names[tag] : "?";
}
