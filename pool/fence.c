/* SPDX-License-Identifier: MIT */
#include "fence.h"
#include "cache.h"
#include "counters.h"
#include "driver.h"
#include "heap.h"
#include <runtime/host_memory.h>
#include <string.h>

/* ---- use records ---- */

/* One reason less to hold a freed block; without any it goes to its owner. */
static void let_go(kolk_pool *pool, kolk_block *block)
{
    assert(kolk_block_state_of(block) == KOLK_STATE_PENDING && block->pending > 0);
    if (--block->pending)
        return;
    kolk_cache *const owner = kolk_block_cache(block);
    owner->pending -= kolk_block_bytes(block);
    kolk_count_resolved(pool, block);
    kolk_heap_give(&pool->heap, block, owner, block->stamp);
}

static void close_use(kolk_pool *pool, kolk_use *use)
{
    kolk_block *const block = use->block;
    kolk_slab_give(&pool->heap.uses, use);
    let_go(pool, block);
}

static void close_uses(kolk_pool *pool, kolk_use **list)
{
    while (*list) {
        kolk_use *const use = *list;
        *list = use->next;
        close_use(pool, use);
    }
}

/* Every epoch of the cache is known complete. */
static bool is_idle(const kolk_cache *cache)
{
    return cache->closed && cache->completed >= kolk_cache_epoch(cache);
}

/* True if that makes a batch full. */
static bool hold_one(kolk_pool *pool, kolk_use *use)
{
    kolk_cache *const cache = use->cache;
    if (is_idle(cache)) {
        close_use(pool, use);
    } else if (cache->closed && cache->newest) {
        use->next = cache->newest->uses;
        cache->newest->uses = use;
    } else {
        use->next = cache->open;
        cache->open = use;
        cache->open_count++;
    }
    return cache->open_count >= KOLK_USES_PER_FENCE && !cache->closed;
}

kolk_cache *kolk_fence_hold(kolk_pool *pool, kolk_block *block)
{
    kolk_cache *full = NULL;
    kolk_use *use = block->uses;
    block->pending = 1; /* this function's own, so that no record ends it early */
    for (const kolk_use *u = use; u; u = u->next)
        block->pending++;
    kolk_block_cache(block)->pending += kolk_block_bytes(block);
    while (use) {
        kolk_use *const next = use->next;
        kolk_cache *const cache = use->cache;
        if (hold_one(pool, use))
            full = cache;
        use = next;
    }
    let_go(pool, block);
    return full;
}

/* ---- the queue of a cache's fences ---- */

static void drop(kolk_pool *pool, kolk_fence *fence, kolk_event **dead)
{
    *dead = fence->event;
    kolk_slab_give(&pool->heap.fences, fence);
}

/* Takes the oldest fence off the queue. The last to hold it frees it. */
static kolk_event *retire_oldest(kolk_pool *pool, kolk_cache *cache)
{
    kolk_fence *const fence = cache->oldest;
    kolk_event *dead = NULL;
    cache->oldest = fence->next;
    if (!cache->oldest)
        cache->newest = NULL;
    close_uses(pool, &fence->uses);
    fence->done = true;
    if (!fence->borrowed)
        drop(pool, fence, &dead);
    return dead;
}

/* A few events at a time, destroyed with no lock held. */
typedef struct graveyard {
    kolk_event *events[16];
    size_t count;
} graveyard;

static void bury(kolk_pool *pool, graveyard *yard)
{
    for (size_t i = 0; i < yard->count; i++)
        kolk_driver_event_destroy(pool, yard->events[i]);
    yard->count = 0;
}

/* Epochs up to that one are complete. */
static void complete(kolk_pool *pool, kolk_cache *cache, uint64_t epoch)
{
    graveyard yard = {.count = 0};
    kolk_lock_acquire(&pool->heap.lock);
    if (cache->completed <= epoch)
        cache->completed = epoch + 1;
    while (cache->oldest && cache->oldest->epoch <= epoch) {
        kolk_event *const dead = retire_oldest(pool, cache);
        if (dead)
            yard.events[yard.count++] = dead;
        if (yard.count == sizeof yard.events / sizeof *yard.events) {
            kolk_lock_release(&pool->heap.lock);
            bury(pool, &yard);
            kolk_lock_acquire(&pool->heap.lock);
        }
    }
    kolk_lock_release(&pool->heap.lock);
    bury(pool, &yard);
}

/* The oldest fence, recorded and borrowed. */
static kolk_fence *borrow_oldest(kolk_pool *pool, kolk_cache *cache)
{
    kolk_lock_acquire(&pool->heap.lock);
    kolk_fence *const fence = cache->oldest;
    if (fence)
        fence->borrowed++;
    kolk_lock_release(&pool->heap.lock);
    return fence;
}

void kolk_fence_return(kolk_pool *pool, kolk_fence *fence)
{
    kolk_event *dead = NULL;
    kolk_lock_acquire(&pool->heap.lock);
    if (--fence->borrowed == 0 && fence->done)
        drop(pool, fence, &dead);
    kolk_lock_release(&pool->heap.lock);
    if (dead)
        kolk_driver_event_destroy(pool, dead);
}

bool kolk_fence_poll(kolk_pool *pool, kolk_cache *cache)
{
    bool any = false, done = true;
    while (done) {
        kolk_fence *const fence = borrow_oldest(pool, cache);
        if (!fence)
            return any;
        done = false;
        if (kolk_driver_event_query(pool, fence->event, &done) == KOLK_OK && done) {
            complete(pool, cache, fence->epoch);
            any = true;
        } else {
            done = false;
        }
        kolk_fence_return(pool, fence);
    }
    return any;
}

bool kolk_fence_wait_oldest(kolk_pool *pool, kolk_cache *cache)
{
    kolk_fence *const fence = borrow_oldest(pool, cache);
    if (!fence)
        return false;
    const bool waited = kolk_driver_event_synchronize(pool, fence->event) == KOLK_OK;
    if (waited)
        complete(pool, cache, fence->epoch);
    kolk_fence_return(pool, fence);
    return waited;
}

/* A wrapped stream may have been destroyed behind the wrapper, and its handle
 * given to another: an event recorded there would say nothing. And while a
 * stream is being captured, an event or a wait would break the capture. */
static bool is_usable(kolk_pool *pool, kolk_stream *stream)
{
    uint64_t capture = 0;
    return kolk_stream_is_itself(stream) &&
           kolk_driver_stream_capture(pool, stream, &capture) == KOLK_OK && !capture;
}

static bool is_captured(kolk_pool *pool, kolk_cache *cache)
{
    kolk_stream *const stream = kolk_cache_borrow_stream(cache);
    const bool captured = stream && !is_usable(pool, stream);
    if (stream)
        kolk_cache_return_stream(cache);
    return captured;
}

/* No work can have come after the device was idle: the stream is gone. */
static void orphan_is_idle(kolk_pool *pool, kolk_cache *cache)
{
    kolk_cache_lock(cache);
    if (cache->orphaned) {
        close_uses(pool, &cache->open);
        cache->open_count = 0;
        cache->completed = kolk_cache_epoch(cache) + 1;
    }
    kolk_cache_unlock(cache);
}

bool kolk_fence_wait_device(kolk_pool *pool)
{
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++)
        if (is_captured(pool, kolk_cache_at(pool, i)))
            return false;
    if (kolk_driver_synchronize(pool) != KOLK_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        orphan_is_idle(pool, kolk_cache_at(pool, i));
    return true;
}

/* ---- taking a fence ---- */

/* First half: what is freed from here on is the next fence's. */
static bool end_epoch(kolk_pool *pool, kolk_cache *cache, kolk_fence *made)
{
    kolk_cache_lock(cache);
    const bool room = kolk_slab_ensure(&pool->heap.fences, 1);
    if (room) {
        made->epoch = kolk_cache_epoch(cache);
        made->uses = cache->open;
        atomic_store_explicit(&cache->epoch, made->epoch + 1, memory_order_relaxed);
        cache->open = NULL;
        cache->open_count = 0;
        kolk_heap_begin_change(&pool->heap);
    }
    kolk_cache_unlock(cache);
    return room;
}

static void reopen(kolk_cache *cache, kolk_use *uses)
{
    while (uses) {
        kolk_use *const use = uses;
        uses = use->next;
        use->next = cache->open;
        cache->open = use;
        cache->open_count++;
    }
}

static void record(kolk_pool *pool, kolk_stream *stream, kolk_fence *made)
{
    kolk_event *event;
    if (kolk_driver_event_create(pool, &event) != KOLK_OK)
        return;
    if (kolk_driver_event_record(pool, event, stream) == KOLK_OK)
        made->event = event;
    else
        kolk_driver_event_destroy(pool, event);
}

/* Queues the fence by its epoch: a thread that began later may have been faster. */
static void publish(kolk_cache *cache, kolk_fence *fence)
{
    kolk_fence **at = &cache->oldest;
    if (cache->newest && cache->newest->epoch < fence->epoch)
        at = &cache->newest->next;
    while (*at && (*at)->epoch < fence->epoch)
        at = &(*at)->next;
    fence->next = *at;
    *at = fence;
    if (!fence->next)
        cache->newest = fence;
}

/* Second half: publishes `made`, or puts the use records back without it. */
static bool finish(kolk_pool *pool, kolk_cache *cache, const kolk_fence *made,
                   kolk_fence **out)
{
    kolk_fence *fence = NULL;
    kolk_lock_acquire(&pool->heap.lock);
    kolk_heap_end_change(&pool->heap);
    if (made->event && kolk_slab_ensure(&pool->heap.fences, 1)) {
        fence = kolk_slab_take(&pool->heap.fences);
        *fence = *made;
        fence->borrowed = out != NULL;
        publish(cache, fence);
    } else {
        reopen(cache, made->uses);
    }
    kolk_lock_release(&pool->heap.lock);
    if (!fence && made->event)
        kolk_driver_event_destroy(pool, made->event);
    if (fence && out)
        *out = fence;
    return fence != NULL;
}

bool kolk_fence_take(kolk_pool *pool, kolk_cache *cache, kolk_fence **out)
{
    kolk_stream *const stream = kolk_cache_borrow_stream(cache);
    kolk_fence made = {0};
    bool taken = false;
    if (!stream)
        return false;
    if (is_usable(pool, stream) && end_epoch(pool, cache, &made)) {
        record(pool, stream, &made);
        taken = finish(pool, cache, &made, out);
    }
    kolk_cache_return_stream(cache);
    return taken;
}

/* A recorded fence that covers frees with that stamp and every use record. */
static bool covering(kolk_pool *pool, kolk_cache *cache, uint64_t stamp,
                     kolk_fence **out)
{
    kolk_lock_acquire(&pool->heap.lock);
    kolk_fence *const newest = cache->newest;
    const bool covers =
        newest && newest->epoch >= stamp && (!cache->open || cache->closed);
    if (covers)
        newest->borrowed++;
    kolk_lock_release(&pool->heap.lock);
    if (!covers)
        return kolk_fence_take(pool, cache, out);
    *out = newest;
    return true;
}

/* ---- order between two streams ---- */

bool kolk_fence_seen(const kolk_cache *cache, const kolk_cache *other, uint64_t stamp)
{
    if (cache == other || stamp < other->completed)
        return true;
    return other->number < cache->seen_count && stamp < cache->seen[other->number];
}

static bool seen_ensure(kolk_cache *cache, size_t count)
{
    if (count <= cache->seen_count)
        return true;
    const size_t room = count + 16;
    uint64_t *const seen = kolk_host_alloc(room * sizeof *seen);
    if (!seen)
        return false;
    if (cache->seen_count)
        memcpy(seen, cache->seen, cache->seen_count * sizeof *seen);
    kolk_host_free(cache->seen);
    cache->seen = seen;
    cache->seen_count = room;
    return true;
}

static bool note_seen(kolk_pool *pool, kolk_cache *cache, const kolk_cache *other,
                      uint64_t epoch)
{
    kolk_lock_acquire(&pool->heap.lock);
    const bool noted = seen_ensure(cache, other->number + 1);
    if (noted && cache->seen[other->number] <= epoch)
        cache->seen[other->number] = epoch + 1;
    kolk_lock_release(&pool->heap.lock);
    return noted;
}

static bool wait_for(kolk_pool *pool, kolk_cache *cache, kolk_fence *fence)
{
    kolk_stream *const stream = kolk_cache_borrow_stream(cache);
    if (!stream)
        return false;
    const bool waits = is_usable(pool, stream) &&
                       kolk_driver_stream_wait(pool, stream, fence->event) == KOLK_OK;
    kolk_cache_return_stream(cache);
    if (waits)
        kolk_bump(&pool->counters.waits, 1);
    return waits;
}

bool kolk_fence_order(kolk_pool *pool, kolk_cache *cache, kolk_cache *other,
                      uint64_t stamp)
{
    kolk_fence *fence;
    if (!covering(pool, other, stamp, &fence))
        return false;
    const bool ordered =
        wait_for(pool, cache, fence) && note_seen(pool, cache, other, fence->epoch);
    kolk_fence_return(pool, fence);
    return ordered;
}

/* The block will come back to `cache` instead of its owner. */
static void redirect(kolk_cache *cache, kolk_block *block)
{
    kolk_block_cache(block)->pending -= kolk_block_bytes(block);
    cache->pending += kolk_block_bytes(block);
    kolk_block_set_cache(block, cache);
    block->stamp = kolk_cache_epoch(cache);
}

/* Returns how many it closed. */
static uint32_t close_seen(kolk_cache *cache, kolk_use **at)
{
    uint32_t closed = 0;
    while (*at) {
        kolk_use *const use = *at;
        kolk_block *const block = use->block;
        if (kolk_fence_seen(cache, kolk_block_cache(block), block->stamp)) {
            *at = use->next;
            redirect(cache, block);
            close_use(cache->pool, use);
            closed++;
        } else {
            at = &use->next;
        }
    }
    return closed;
}

void kolk_fence_close_uses(kolk_cache *cache, kolk_cache *other)
{
    for (kolk_fence *fence = other->oldest; fence; fence = fence->next)
        if (kolk_fence_seen(cache, other, fence->epoch))
            (void)close_seen(cache, &fence->uses);
    if (cache == other)
        other->open_count -= close_seen(cache, &other->open);
}

void kolk_fence_forget_all(kolk_pool *pool)
{
    for (size_t i = 0; i < pool->cache_count; i++)
        for (kolk_fence *fence = pool->caches[i]->oldest; fence; fence = fence->next)
            kolk_driver_event_destroy(pool, fence->event);
}
