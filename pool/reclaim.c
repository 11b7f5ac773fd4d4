/* SPDX-License-Identifier: MIT */
#include "reclaim.h"
#include "cache.h"
#include "fence.h"
#include "heap.h"

/* ---- moving free blocks from one owner to another; under both locks ---- */

typedef struct move {
    const kolk_cache *from, *to; /* to NULL: only what is clean */
    kolk_block *plucked;
} move;

/* Blocks are all plucked before the first is filed: filing joins neighbours,
 * which must not be done to an index that is being walked. */
static bool pluck_any(kolk_block *block, void *context)
{
    move *const moving = context;
    kolk_heap_unfile(&moving->from->pool->heap, block);
    block->list.after = moving->plucked;
    moving->plucked = block;
    return true;
}

static bool pluck(kolk_block *block, void *context)
{
    const move *const moving = context;
    const bool may = moving->to
                         ? kolk_fence_seen(moving->to, moving->from, block->stamp)
                         : kolk_block_is_clean(block);
    return !may || pluck_any(block, context);
}

static bool move_blocks(kolk_cache *from, kolk_cache *to,
                        bool (*visit)(kolk_block *, void *))
{
    move moving = {.from = from, .to = to};
    kolk_bins_flush(from);
    for (int area = 0; area < KOLK_AREA_COUNT; area++)
        kolk_index_walk(&from->index[area], 1, visit, &moving);
    const bool any = moving.plucked != NULL;
    while (moving.plucked) {
        kolk_block *const block = moving.plucked;
        moving.plucked = block->list.after;
        kolk_block_set_cache(block, to);
        block->stamp = to ? kolk_cache_epoch(to) : 0;
        kolk_heap_file(&from->pool->heap, block);
    }
    return any;
}

void kolk_reclaim_hand_over(kolk_cache *from, kolk_cache *to)
{
    kolk_cache_lock(from);
    if (!to->closed)
        (void)move_blocks(from, to, pluck_any);
    kolk_cache_unlock(from);
}

/* Whether the stream owns free memory, or holds up somebody's. */
static bool holds_any(const kolk_cache *cache)
{
    return kolk_cache_free_bytes(cache) || cache->oldest || cache->open;
}

static bool ask_holds(kolk_cache *cache)
{
    kolk_cache_lock(cache);
    const bool holds = !cache->captured && holds_any(cache);
    kolk_cache_unlock(cache);
    return holds;
}

/* Whether there is anything to be had behind the stream: of its blocks, those too
 * that others hold. */
static bool ask_owes(kolk_cache *cache)
{
    kolk_cache_lock(cache);
    const bool owes = !cache->captured && (holds_any(cache) || cache->pending);
    kolk_cache_unlock(cache);
    return owes;
}

/* ---- what is complete ---- */

static bool harvest(kolk_cache *cache)
{
    bool any = false;
    kolk_cache_lock(cache);
    if (cache->completed > cache->harvested) {
        cache->harvested = cache->completed;
        any = move_blocks(cache, NULL, pluck);
    }
    kolk_cache_unlock(cache);
    return any;
}

static bool has_fence(kolk_pool *pool, const kolk_cache *cache)
{
    kolk_lock_acquire(&pool->heap.lock);
    const bool has = cache->oldest != NULL;
    kolk_lock_release(&pool->heap.lock);
    return has;
}

/* Without a fence nobody will ever know, so take one, and ask at once: an idle
 * stream answers yes. */
static bool poll(kolk_pool *pool, kolk_cache *cache)
{
    bool any = kolk_fence_poll(pool, cache);
    if (!has_fence(pool, cache) && ask_owes(cache) &&
        kolk_fence_take(pool, cache, NULL))
        any |= kolk_fence_poll(pool, cache);
    return harvest(cache) || any;
}

bool kolk_reclaim_completed(kolk_pool *pool)
{
    bool any = false;
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++) {
        kolk_cache *const cache = kolk_cache_at(pool, i);
        if (ask_owes(cache))
            any |= poll(pool, cache);
    }
    return any;
}

static bool awaits_its_end(kolk_cache *cache)
{
    kolk_cache_lock(cache);
    const bool awaits = cache->closed && cache->oldest;
    kolk_cache_unlock(cache);
    return awaits;
}

void kolk_reclaim_closed(kolk_pool *pool)
{
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++) {
        kolk_cache *const cache = kolk_cache_at(pool, i);
        if (awaits_its_end(cache))
            (void)poll(pool, cache);
    }
}

/* ---- what another stream still may use ---- */

static kolk_block *find_fitting(kolk_cache *other, uint32_t units, size_t alignment)
{
    kolk_bins_flush(other);
    return kolk_heap_find_in(other, units, alignment);
}

static bool fits_at(kolk_cache *other, uint32_t units, size_t alignment,
                    uint64_t *stamp)
{
    kolk_cache_lock(other);
    const kolk_block *const block =
        other->captured ? NULL : find_fitting(other, units, alignment);
    if (block)
        *stamp = block->stamp;
    kolk_cache_unlock(other);
    return block != NULL;
}

static bool is_behind(kolk_pool *pool, const kolk_cache *cache, const kolk_cache *other,
                      uint64_t stamp)
{
    kolk_lock_acquire(&pool->heap.lock);
    const bool seen = kolk_fence_seen(cache, other, stamp);
    kolk_lock_release(&pool->heap.lock);
    return seen;
}

kolk_block *kolk_reclaim_fitting(kolk_pool *pool, kolk_cache *cache, kolk_cache *other,
                                 uint32_t units, size_t alignment)
{
    uint64_t stamp = 0;
    if (cache == other || !fits_at(other, units, alignment, &stamp))
        return NULL;
    if (!is_behind(pool, cache, other, stamp) &&
        !kolk_fence_order(pool, cache, other, stamp))
        return NULL;
    kolk_cache_lock(other);
    kolk_block *block = kolk_heap_prepare(&pool->heap) == KOLK_OK
                            ? find_fitting(other, units, alignment)
                            : NULL;
    if (block && kolk_fence_seen(cache, other, block->stamp)) {
        kolk_heap_unfile(&pool->heap, block);
        block = kolk_heap_carve(&pool->heap, block, units, alignment);
    } else {
        block = NULL;
    }
    kolk_cache_unlock(other);
    return block;
}

static uint64_t held_by(const kolk_use *use)
{
    uint64_t bytes = 0;
    for (; use; use = use->next)
        bytes += kolk_block_bytes(use->block);
    return bytes;
}

uint64_t kolk_reclaim_prospect(kolk_cache *cache, kolk_cache *other)
{
    const kolk_heap *const heap = &cache->pool->heap;
    kolk_cache_lock(other);
    uint64_t bytes = kolk_cache_free_bytes(other) + held_by(other->open);
    for (const kolk_fence *fence = other->oldest; fence; fence = fence->next)
        bytes += held_by(fence->uses);
    for (int area = 0; area < KOLK_AREA_COUNT; area++)
        bytes += cache->index[area].bytes + heap->clean[area].bytes;
    kolk_cache_unlock(other);
    return bytes;
}

void kolk_reclaim_seen(kolk_cache *cache, kolk_cache *other)
{
    kolk_cache_lock(other);
    kolk_fence_close_uses(cache, other);
    if (cache != other && !other->captured)
        (void)move_blocks(other, cache, pluck);
    kolk_cache_unlock(other);
}

bool kolk_reclaim_all_of(kolk_pool *pool, kolk_cache *cache, kolk_cache *other)
{
    if (cache == other || !ask_owes(other) ||
        !kolk_fence_order(pool, cache, other, kolk_cache_epoch(other) - other->closed))
        return false;
    kolk_reclaim_seen(cache, other);
    return true;
}

/* ---- waiting on the host ---- */

bool kolk_reclaim_wait(kolk_pool *pool, kolk_cache *cache)
{
    if (!ask_holds(cache))
        return false;
    if (!has_fence(pool, cache) && !kolk_fence_take(pool, cache, NULL))
        return false;
    if (!kolk_fence_wait_oldest(pool, cache))
        return false;
    (void)harvest(cache);
    return true;
}

bool kolk_reclaim_orphans(kolk_pool *pool)
{
    bool any = false;
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count && !any; i++) {
        kolk_cache *const cache = kolk_cache_at(pool, i);
        kolk_cache_lock(cache);
        any = cache->orphaned && holds_any(cache);
        kolk_cache_unlock(cache);
    }
    if (!any || !kolk_fence_wait_device(pool))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)harvest(kolk_cache_at(pool, i));
    return true;
}

static bool is_complete(kolk_pool *pool, const kolk_cache *cache, uint64_t epoch)
{
    kolk_lock_acquire(&pool->heap.lock);
    const bool complete = cache->completed > epoch;
    kolk_lock_release(&pool->heap.lock);
    return complete;
}

/* Not for what other threads go on to free there: that would never end. */
static void wait_for_freed(kolk_pool *pool, kolk_cache *cache)
{
    const uint64_t epoch = kolk_cache_epoch(cache);
    while (!is_complete(pool, cache, epoch) && kolk_reclaim_wait(pool, cache))
        ;
}

void kolk_reclaim_everything(kolk_pool *pool)
{
    for (int pass = 0; pass < KOLK_RECLAIM_PASSES; pass++) {
        const size_t count = kolk_cache_count(pool);
        for (size_t i = 0; i < count; i++)
            wait_for_freed(pool, kolk_cache_at(pool, i));
        (void)kolk_reclaim_orphans(pool);
    }
}
