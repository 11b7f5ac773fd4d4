/* SPDX-License-Identifier: MIT */
#include "alloc.h"
#include "annotate.h"
#include "cache.h"
#include "counters.h"
#include "fence.h"
#include "heap.h"
#include "ladder.h"
#include <runtime/fail.h>

kolk_block kolk_empty_block = {.state = KOLK_STATE_LIVE, .class = KOLK_CLASS_COUNT};

/* ---- taking ---- */

void kolk_block_adopt(const kolk_request *request, kolk_block *block)
{
    kolk_block_set_cache(block, request->cache);
    kolk_block_set_state(block, KOLK_STATE_LIVE);
    block->slack = (uint32_t)(kolk_block_bytes(block) - request->size);
    block->class = (uint8_t)request->class;
    block->tag = (uint8_t)request->tag;
    block->uses = NULL;
    kolk_count_alloc(request->cache, block);
}

void kolk_request_lock(kolk_request *request)
{
    kolk_lock_acquire(&request->cache->lock);
    while (request->cache->closed && !request->cache->captured) {
        kolk_cache *const closed = request->cache;
        kolk_lock_release(&closed->lock);
        if (kolk_cache_of(request->pool, request->stream, &request->cache) != KOLK_OK)
            request->cache = closed;
        kolk_lock_acquire(&request->cache->lock);
        if (request->cache == closed)
            return;
    }
}

static kolk_block *take_binned(kolk_request *request)
{
    if (request->class == KOLK_CLASS_COUNT)
        return NULL;
    kolk_request_lock(request);
    kolk_cache *const cache = request->cache;
    kolk_block *const block = kolk_bin_pop(cache, request->class, request->alignment);
    if (block) {
        cache->totals.hits++;
        kolk_block_adopt(request, block);
    }
    kolk_lock_release(&cache->lock);
    return block;
}

static kolk_status check_request(size_t alignment, kolk_tag tag)
{
    if (alignment > KOLK_CHUNK || (alignment & (alignment - 1)))
        return kolk_fail(KOLK_INVALID_ARGUMENT,
                         "alignment %zu is not a power of two of at most %d", alignment,
                         (int)KOLK_CHUNK);
    if ((unsigned)tag >= KOLK_TAG_COUNT)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "tag %d is not below %d", (int)tag,
                         (int)KOLK_TAG_COUNT);
    return KOLK_OK;
}

/* Fills in what the size takes; false if no block can be that large. */
static bool measure(kolk_request *request)
{
    if (request->size > KOLK_SIZE_MAX)
        return false;
    request->units = kolk_units_of(request->size);
    request->class = KOLK_CLASS_COUNT;
    if (kolk_area_of(request->units) == KOLK_AREA_SMALL) {
        request->class = kolk_class_of(request->units);
        request->units = kolk_class_units(request->class);
    }
    return true;
}

kolk_status kolk_pool_reachable(const kolk_pool *pool)
{
    if (kolk_pool_flags(pool) & KOLK_POOL_FORKED)
        return kolk_fail_native(KOLK_DEVICE, 3,
                                "the pool's device cannot be used in a forked child");
    return KOLK_OK;
}

kolk_status kolk_pool_usable(const kolk_pool *pool)
{
    KOLK_TRY(kolk_pool_reachable(pool));
    if (kolk_pool_flags(pool) & KOLK_POOL_CLOSING)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "the pool has been destroyed");
    return KOLK_OK;
}

static kolk_status find_cache(kolk_pool *pool, kolk_stream *stream, kolk_cache **out)
{
    const unsigned flags = kolk_pool_flags(pool);
    if (!flags)
        return kolk_cache_of(pool, stream, out);
    KOLK_TRY(kolk_pool_usable(pool));
    return kolk_capture_cache_of(pool, stream, out);
}

kolk_status kolk_pool_take_block(kolk_pool *pool, size_t size, size_t alignment,
                                 kolk_tag tag, kolk_stream *stream, kolk_block **out)
{
    kolk_request request;
    request.pool = pool;
    request.size = size;
    request.alignment = alignment > KOLK_UNIT ? alignment : KOLK_UNIT;
    request.tag = tag;
    request.stream = stream;
    KOLK_TRY(check_request(alignment, tag));
    KOLK_TRY(find_cache(pool, stream, &request.cache));
    if (!size) {
        *out = &kolk_empty_block;
        return KOLK_OK;
    }
    request.native = 0;
    request.rungs = 0;
    request.units = 0;
    request.asked = 0;
    request.counted = false;
    request.failure.status = KOLK_OK;
    if (!measure(&request))
        return kolk_oom_fail(&request);
    kolk_block *block = take_binned(&request);
    if (!block)
        KOLK_TRY(kolk_ladder_climb(&request, &block));
    kolk_annotate_alloc(pool, block);
    *out = block;
    return KOLK_OK;
}

/* ---- using and giving ---- */

static bool is_recorded(const kolk_block *block, const kolk_cache *cache)
{
    const kolk_use *use = block->uses;
    while (use && use->cache != cache)
        use = use->next;
    return use != NULL;
}

/* Under both locks of the block's cache. */
static bool add_use(kolk_pool *pool, kolk_block *block, kolk_cache *cache)
{
    if (cache == kolk_block_cache(block) || is_recorded(block, cache))
        return true;
    if (!kolk_slab_ensure(&pool->heap.uses, 1))
        return false;
    kolk_use *const use = kolk_slab_take(&pool->heap.uses);
    *use = (kolk_use){.next = block->uses, .block = block, .cache = cache};
    block->uses = use;
    return true;
}

static kolk_status refuse(kolk_pool *pool, const kolk_block *block)
{
    kolk_bump(&pool->counters.misuses, 1);
    return kolk_fail(KOLK_DOUBLE_FREE,
                     "the block at %#llx is not live: it was freed before",
                     (unsigned long long)block->address);
}

kolk_status kolk_pool_record_block(kolk_block *block, kolk_cache *cache)
{
    kolk_cache *const owner = kolk_block_cache(block);
    kolk_cache_lock(owner);
    const bool live = kolk_block_state_of(block) == KOLK_STATE_LIVE;
    const bool added = live && add_use(owner->pool, block, cache);
    kolk_cache_unlock(owner);
    if (!live)
        return refuse(owner->pool, block);
    if (!added)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for a use record");
    return KOLK_OK;
}

/* Nobody else used it: the stream's own order is all it takes. */
static void give_plain(kolk_cache *cache, kolk_block *block)
{
    kolk_count_free(cache, block, false);
    if (!cache->closed && kolk_bin_push(cache, block))
        return;
    kolk_lock_acquire(&cache->pool->heap.lock);
    kolk_heap_give(&cache->pool->heap, block, cache, kolk_cache_stamp(cache));
    kolk_lock_release(&cache->pool->heap.lock);
}

/* Holds the block until the other streams are done. Without host memory for
 * the record it is held for ever, which is safe. Returns a stream to fence. */
static kolk_cache *give_pending(kolk_cache *cache, kolk_block *block, kolk_cache *last)
{
    kolk_pool *const pool = cache->pool;
    kolk_cache *full = NULL;
    kolk_count_free(cache, block, true);
    kolk_lock_acquire(&pool->heap.lock);
    const bool noted = !last || add_use(pool, block, last);
    block->stamp = kolk_cache_stamp(cache);
    kolk_block_set_state(block, KOLK_STATE_PENDING);
    if (noted) {
        full = kolk_fence_hold(pool, block);
    } else {
        block->pending = UINT32_MAX;
        cache->pending += kolk_block_bytes(block);
        kolk_bump(&pool->counters.retired, kolk_block_bytes(block));
    }
    kolk_lock_release(&pool->heap.lock);
    return full;
}

/* One event for a batch, so that a program that never misses does not pile up
 * records; and a look at the oldest, so that it does not pile up events. */
static void fence_batch(kolk_pool *pool, kolk_cache *full)
{
    if (kolk_fence_take(pool, full, NULL))
        (void)kolk_fence_poll(pool, full);
}

/* Whether `last` is a stream of its own beside the block's. A captured block's
 * cache stands for the stream it is captured on. */
static bool is_another(const kolk_cache *last, const kolk_cache *cache)
{
    if (!last || last == cache)
        return false;
    return !cache->captured ||
           kolk_cache_stream_id(last) != kolk_cache_stream_id(cache);
}

kolk_status kolk_pool_give_block(kolk_block *block, kolk_cache *last)
{
    kolk_cache *const cache = kolk_block_cache(block);
    kolk_pool *const pool = cache->pool;
    kolk_cache *full = NULL;
    kolk_lock_acquire(&cache->lock);
    if (kolk_block_state_of(block) != KOLK_STATE_LIVE ||
        kolk_block_cache(block) != cache) {
        kolk_lock_release(&cache->lock);
        return refuse(pool, block);
    }
    kolk_annotate_free(pool, block);
    const bool another = is_another(last, cache);
    if (block->uses || another)
        full = give_pending(cache, block, another ? last : NULL);
    else
        give_plain(cache, block);
    const bool closing = kolk_pool_flags(pool) & KOLK_POOL_CLOSING;
    kolk_lock_release(&cache->lock);
    if (full)
        fence_batch(pool, full);
    if (closing)
        kolk_pool_freed_one(pool);
    return KOLK_OK;
}
