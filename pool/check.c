/* SPDX-License-Identifier: MIT */

/* Comparing everything with everything: blocks with the segments they tile,
 * lists with the states that put blocks on them, sums with counters. */

#include "counters.h"
#include "freeze.h"
#include "heap.h"
#include "segment.h"
#include <runtime/fail.h>

typedef struct sums {
    uint64_t live, pending, free, unmapped, busy; /* bytes of blocks by state */
    uint64_t requested, blocks;                   /* of live ones */
    uint64_t mapped, address_space;
    size_t segments;
} sums;

static kolk_status broken(const kolk_block *block, const char *what)
{
    return kolk_fail_at(
        "kolk_pool_check", KOLK_CORRUPT, 0, "block at %#llx of %zu bytes: %s",
        (unsigned long long)block->address, kolk_block_bytes(block), what);
}

/* ---- blocks ---- */

static kolk_status check_live(const kolk_pool *pool, const kolk_block *block)
{
    if (!kolk_block_cache(block))
        return broken(block, "in use, but of no stream");
    if (kolk_map_at(&pool->heap.map, block->address) != block)
        return broken(block, "not found by its address");
    if (block->area != kolk_area_of(block->units))
        return broken(block, "in the wrong area for its size");
    if (block->slack >= kolk_block_bytes(block))
        return broken(block, "more slack than size");
    return KOLK_OK;
}

static bool can_join(const kolk_block *block, const kolk_block *next)
{
    const bool chunk_border =
        block->area == KOLK_AREA_SMALL && next->address % KOLK_CHUNK == 0;
    return kolk_block_state_of(next) == KOLK_STATE_FREE && block->area == next->area &&
           !chunk_border && kolk_block_cache(block) == kolk_block_cache(next);
}

static kolk_status check_free(const kolk_block *block)
{
    if (can_join(block, block->next))
        return broken(block, "not joined to its free neighbour");
    if (!kolk_block_cache(block) && block->stamp)
        return broken(block, "clean, but stamped");
    return KOLK_OK;
}

static kolk_status check_block(const kolk_pool *pool, const kolk_block *block,
                               sums *sum)
{
    const size_t bytes = kolk_block_bytes(block);
    switch (kolk_block_state_of(block)) {
    case KOLK_STATE_LIVE:
        sum->live += bytes;
        sum->requested += kolk_block_requested(block);
        sum->blocks++;
        return check_live(pool, block);
    case KOLK_STATE_PENDING:
        sum->pending += bytes;
        return check_live(pool, block);
    case KOLK_STATE_BINNED:
        sum->free += bytes;
        return check_live(pool, block);
    case KOLK_STATE_FREE:
        sum->free += bytes;
        return check_free(block);
    case KOLK_STATE_UNMAPPED:
        sum->unmapped += bytes;
        return KOLK_OK;
    case KOLK_STATE_BUSY:
        if (!kolk_heap_is_taken(&pool->heap, block))
            sum->busy += bytes;
        return KOLK_OK;
    case KOLK_STATE_UNUSED:
        break;
    }
    return broken(block, "in a segment, but not in use");
}

static kolk_status check_segment(const kolk_pool *pool, const kolk_segment *segment,
                                 sums *sum)
{
    uintptr_t at = segment->base;
    const kolk_block *previous = NULL;
    const uint64_t before = sum->unmapped + sum->busy;
    for (const kolk_block *block = segment->first; block != &segment->end;
         previous = block, block = block->next) {
        if (block->address != at || !block->units || block->prev != previous)
            return broken(block, "does not begin where the one before it ends");
        KOLK_TRY(check_block(pool, block, sum));
        at = kolk_block_end(block);
    }
    if (at != segment->base + segment->size)
        return broken(segment->first, "the blocks from here do not fill their segment");
    const uint64_t without = sum->unmapped + sum->busy - before;
    if (!pool->heap.busy && segment->size - segment->mapped != without)
        return broken(segment->first, "its segment has other pages than it counts");
    sum->mapped += segment->mapped;
    sum->address_space += segment->size;
    sum->segments++;
    return KOLK_OK;
}

/* ---- lists ---- */

typedef struct listed {
    const kolk_cache *cache;
    kolk_state state;
    kolk_area area;
    uint64_t bytes;
    const kolk_block *wrong;
} listed;

static bool visit(kolk_block *block, void *context)
{
    listed *const list = context;
    if (kolk_block_state_of(block) != list->state ||
        kolk_block_cache(block) != list->cache || block->area != list->area)
        list->wrong = block;
    list->bytes += kolk_block_bytes(block);
    return !list->wrong;
}

static kolk_status check_index(const kolk_index *index, listed list, uint64_t *sum)
{
    kolk_index_walk(index, 1, visit, &list);
    if (list.wrong)
        return broken(list.wrong, "on a list it does not belong to");
    if (list.bytes != index->bytes)
        return kolk_fail(KOLK_CORRUPT, "an index counts %llu bytes and holds %llu",
                         (unsigned long long)index->bytes,
                         (unsigned long long)list.bytes);
    *sum += list.bytes;
    return KOLK_OK;
}

static kolk_status check_bins(const kolk_cache *cache, uint64_t *sum)
{
    uint64_t bytes = 0;
    for (int class = 0; class < KOLK_CLASS_COUNT; class ++) {
        uint32_t count = 0;
        for (const kolk_block *block = cache->bins[class].top; block;
             block = block->list.after, count++) {
            if (kolk_block_state_of(block) != KOLK_STATE_BINNED ||
                block->class != class || block->units != kolk_class_units(class) ||
                kolk_block_cache(block) != cache)
                return broken(block, "in a bin it does not belong to");
            bytes += kolk_block_bytes(block);
        }
        if (count != cache->bins[class].count)
            return kolk_fail(KOLK_CORRUPT, "bin %d counts %u blocks and holds %u",
                             class, cache->bins[class].count, count);
    }
    if (bytes != cache->binned)
        return kolk_fail(KOLK_CORRUPT, "bins count %llu bytes and hold %llu",
                         (unsigned long long)cache->binned, (unsigned long long)bytes);
    *sum += bytes;
    return KOLK_OK;
}

static kolk_status check_lists(const kolk_pool *pool, uint64_t *out_free,
                               uint64_t *out_holes)
{
    for (int area = 0; area < KOLK_AREA_COUNT; area++) {
        listed list = {.state = KOLK_STATE_FREE, .area = (kolk_area)area};
        KOLK_TRY(check_index(&pool->heap.clean[area], list, out_free));
        for (size_t i = 0; i < pool->cache_count; i++) {
            list.cache = pool->caches[i];
            KOLK_TRY(check_index(&pool->caches[i]->index[area], list, out_free));
        }
    }
    for (size_t i = 0; i < pool->cache_count; i++)
        KOLK_TRY(check_bins(pool->caches[i], out_free));
    const listed holes = {.state = KOLK_STATE_UNMAPPED, .area = KOLK_AREA_LARGE};
    return check_index(&pool->heap.holes, holes, out_holes);
}

/* ---- sums ---- */

static kolk_status equal(const char *what, uint64_t counted, uint64_t found)
{
    if (counted == found)
        return KOLK_OK;
    return kolk_fail(KOLK_CORRUPT, "%s: counted %llu, found %llu", what,
                     (unsigned long long)counted, (unsigned long long)found);
}

static kolk_status check_order(const kolk_pool_stats *stats)
{
    const kolk_stat *const chain[] = {&stats->requested, &stats->allocated,
                                      &stats->active, &stats->reserved};
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
        if (chain[i]->peak < chain[i]->current)
            return kolk_fail(KOLK_CORRUPT, "peak %llu is below current %llu",
                             (unsigned long long)chain[i]->peak,
                             (unsigned long long)chain[i]->current);
        if (i && chain[i - 1]->current > chain[i]->current)
            return kolk_fail(KOLK_CORRUPT,
                             "%llu bytes exceed the %llu they are part of",
                             (unsigned long long)chain[i - 1]->current,
                             (unsigned long long)chain[i]->current);
    }
    return KOLK_OK;
}

static kolk_status check_sums(kolk_pool *pool, const sums *sum)
{
    const kolk_pool_stats stats = kolk_stats_read(pool, true);
    uint64_t tagged = 0;
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++)
        tagged += stats.tags[tag].current;
    KOLK_TRY(equal("requested bytes", stats.requested.current, sum->requested));
    KOLK_TRY(equal("tagged bytes", tagged, sum->requested));
    KOLK_TRY(equal("allocated bytes", stats.allocated.current, sum->live));
    KOLK_TRY(equal("active bytes", stats.active.current, sum->live + sum->pending));
    KOLK_TRY(equal("live blocks", stats.blocks.current, sum->blocks));
    KOLK_TRY(equal("segments", stats.segments.current, sum->segments));
    KOLK_TRY(equal("address space", stats.address_space, sum->address_space));
    if (!pool->heap.busy)
        KOLK_TRY(equal("reserved bytes", stats.reserved.current,
                       sum->mapped + pool->heap.idle_count * pool->page_size));
    if (!pool->heap.busy)
        KOLK_TRY(equal("accounted bytes", pool->heap.reserved, stats.reserved.current));
    return check_order(&stats);
}

static kolk_status check_frozen(kolk_pool *pool)
{
    sums sum = {0};
    uint64_t listed_free = 0, listed_holes = 0;
    for (const kolk_segment *segment = pool->heap.segments; segment;
         segment = segment->next)
        KOLK_TRY(check_segment(pool, segment, &sum));
    KOLK_TRY(check_lists(pool, &listed_free, &listed_holes));
    KOLK_TRY(equal("free bytes on lists", listed_free, sum.free));
    KOLK_TRY(equal("unmapped bytes on lists", listed_holes, sum.unmapped));
    return check_sums(pool, &sum);
}

kolk_status kolk_pool_check(kolk_pool *pool)
{
    kolk_pool_freeze_at_rest(pool);
    const kolk_status status = check_frozen(pool);
    kolk_pool_thaw(pool);
    return status;
}
