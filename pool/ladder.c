/* SPDX-License-Identifier: MIT */

/* The out-of-memory ladder. After every rung the pool is searched again, and no
 * rung does more than it takes:
 *
 *   CACHED     the stream's own bins and memory, and what is clean
 *   COMPLETED  poll the other streams; what they completed becomes clean
 *   GROW       pages the pool holds but has not mapped, then the driver's
 *   ORDERED    one other stream after the other: wait for it on the device,
 *              then take the one block that fits, or else all it has; last
 *              what one holds of another that was waited for after it
 *   REMAP      unmap idle pages and grow again with them
 *   CALLBACK   ask the user
 *   WAIT       wait on the host for one fence after the other
 *
 * PREFER_MEMORY takes ORDERED and REMAP before GROW. A request that finds
 * another thread between two halves of a change starts again once it is done,
 * since what that thread holds may be just what is missing. */

#include "ladder.h"
#include "cache.h"
#include "counters.h"
#include "fence.h"
#include "grow.h"
#include "heap.h"
#include "reclaim.h"
#include <runtime/fail.h>
#include <sched.h>

enum { CALLBACKS = 8, ROUNDS = 64 };

static void take_rung(kolk_request *request, kolk_rung rung)
{
    request->rungs |= 1U << rung;
}

/* Keeps what is not a lack of device memory: that is what the caller is told. */
static void note_failure(kolk_request *request, kolk_status status)
{
    const kolk_error *const error = kolk_last_error();
    if (status == KOLK_OUT_OF_MEMORY)
        request->native = error->native;
    else
        request->failure = *error;
}

static bool adopt(kolk_request *request, kolk_block *block, kolk_block **out)
{
    kolk_request_lock(request);
    kolk_block_adopt(request, block);
    kolk_lock_release(&request->cache->lock);
    *out = block;
    return true;
}

/* ---- CACHED ---- */

/* A hit is what the first search finds: it costs no driver call. */
static void count_first(kolk_request *request, bool hit)
{
    if (request->counted)
        return;
    request->counted = true;
    request->cache->totals.hits += hit;
    request->cache->totals.misses += !hit;
}

static kolk_block *search_locked(kolk_request *request)
{
    kolk_cache *const cache = request->cache;
    kolk_heap *const heap = &request->pool->heap;
    kolk_block *block =
        kolk_heap_take(heap, cache, request->units, request->alignment, false);
    if (!block) {
        kolk_bins_flush(cache);
        block = kolk_heap_take(heap, cache, request->units, request->alignment, true);
    }
    if (block)
        kolk_block_adopt(request, block);
    count_first(request, block != NULL);
    return block;
}

static bool search(kolk_request *request, kolk_block **out)
{
    kolk_request_lock(request);
    kolk_lock_acquire(&request->pool->heap.lock);
    const kolk_status status = kolk_heap_prepare(&request->pool->heap);
    kolk_block *const block = status == KOLK_OK ? search_locked(request) : NULL;
    kolk_cache_unlock(request->cache);
    if (status != KOLK_OK)
        note_failure(request, status);
    *out = block;
    return block != NULL;
}

/* ---- COMPLETED ---- */

/* A stream alone may reuse what it freed whether or not it is complete. */
static bool completed(kolk_request *request, kolk_block **out)
{
    take_rung(request, KOLK_RUNG_COMPLETED);
    return kolk_cache_count(request->pool) > 1 &&
           kolk_reclaim_completed(request->pool) && search(request, out);
}

/* ---- GROW ---- */

static bool grow(kolk_request *request, kolk_block **out)
{
    kolk_block *block = NULL;
    take_rung(request, KOLK_RUNG_GROW);
    const kolk_status status = kolk_heap_grow(
        request->pool, request->cache, request->units, request->alignment, &block);
    if (status != KOLK_OK)
        note_failure(request, status);
    return status == KOLK_OK && adopt(request, block, out);
}

/* ---- ORDERED ---- */

/* Goes behind one stream after the other until the request is served. A stream
 * may never end its work, so those come first that can serve it alone. */
static bool go_behind(kolk_request *request, uint64_t least, kolk_block **out)
{
    const size_t count = kolk_cache_count(request->pool);
    for (size_t i = 0; i < count; i++) {
        kolk_cache *const other = kolk_cache_at(request->pool, i);
        if (kolk_reclaim_prospect(request->cache, other) >= least &&
            kolk_reclaim_all_of(request->pool, request->cache, other) &&
            search(request, out))
            return true;
    }
    return false;
}

static bool ordered(kolk_request *request, kolk_block **out)
{
    kolk_pool *const pool = request->pool;
    take_rung(request, KOLK_RUNG_ORDERED);
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++) {
        kolk_block *const block =
            kolk_reclaim_fitting(pool, request->cache, kolk_cache_at(pool, i),
                                 request->units, request->alignment);
        if (block)
            return adopt(request, block, out);
    }
    if (go_behind(request, kolk_bytes_of(request->units), out) ||
        go_behind(request, 0, out))
        return true;
    for (size_t i = 0; i < count; i++)
        kolk_reclaim_seen(request->cache, kolk_cache_at(pool, i));
    return search(request, out);
}

/* ---- REMAP ---- */

static bool move_pages(kolk_request *request, kolk_block **out)
{
    const size_t bytes =
        kolk_grow_bytes(request->pool, request->units, request->alignment);
    while (kolk_heap_remap(request->pool, bytes))
        if (grow(request, out) || search(request, out))
            return true;
    return false;
}

/* Asks again what is complete: a lone stream was not asked yet. */
static bool remap(kolk_request *request, kolk_block **out)
{
    take_rung(request, KOLK_RUNG_REMAP);
    (void)kolk_reclaim_completed(request->pool);
    return move_pages(request, out);
}

/* ---- CALLBACK ---- */

/* Pools whose callbacks run on this thread: what those ask for in turn must not
 * ask them again, or there would be no end to it. */
typedef struct question {
    const kolk_pool *pool;
    const struct question *outer;
} question;

static _Thread_local const question *asking;

static bool may_ask(const kolk_request *request)
{
    for (const question *now = asking; now; now = now->outer)
        if (now->pool == request->pool)
            return false;
    return request->pool->config.on_oom && request->asked < CALLBACKS;
}

static bool ask(kolk_request *request)
{
    const kolk_pool_config *const config = &request->pool->config;
    const question now = {.pool = request->pool, .outer = asking};
    take_rung(request, KOLK_RUNG_CALLBACK);
    request->asked++;
    const kolk_oom oom = kolk_oom_of(request);
    asking = &now;
    const bool again = config->on_oom(request->pool, &oom, config->on_oom_arg);
    asking = now.outer;
    return again;
}

/* ---- WAIT ---- */

static bool wait_once(kolk_request *request, kolk_block **out)
{
    kolk_pool *const pool = request->pool;
    const size_t count = kolk_cache_count(pool);
    for (size_t i = 0; i < count; i++) {
        kolk_cache *const cache = kolk_cache_at(pool, i);
        while (kolk_reclaim_wait(pool, cache))
            if (search(request, out) || move_pages(request, out))
                return true;
    }
    return kolk_reclaim_orphans(pool) &&
           (search(request, out) || move_pages(request, out));
}

static bool wait(kolk_request *request, kolk_block **out)
{
    take_rung(request, KOLK_RUNG_WAIT);
    for (int pass = 0; pass < KOLK_RECLAIM_PASSES; pass++)
        if (wait_once(request, out))
            return true;
    return false;
}

/* ---- the ladder ---- */

static bool without_waiting(kolk_request *request, kolk_block **out)
{
    if (request->pool->config.policy == KOLK_PREFER_MEMORY)
        return completed(request, out) || ordered(request, out) ||
               remap(request, out) || grow(request, out);
    return completed(request, out) || grow(request, out) || ordered(request, out) ||
           remap(request, out);
}

static bool climb(kolk_request *request, kolk_block **out)
{
    while (!without_waiting(request, out))
        if (!may_ask(request) || !ask(request))
            return wait(request, out);
    return true;
}

/* Waits for the changes that other threads are making, if any. */
static bool others_changed(kolk_heap *heap, uint64_t *seen)
{
    uint32_t busy;
    uint64_t now = kolk_heap_others_changes(heap, &busy);
    while (now == *seen && busy) {
        sched_yield();
        now = kolk_heap_others_changes(heap, &busy);
    }
    const bool changed = now != *seen;
    *seen = now;
    return changed;
}

static bool climb_patiently(kolk_request *request, kolk_block **out)
{
    kolk_heap *const heap = &request->pool->heap;
    uint32_t busy;
    uint64_t seen = kolk_heap_others_changes(heap, &busy);
    for (int round = 0; round < ROUNDS; round++) {
        if (climb(request, out))
            return true;
        if (!others_changed(heap, &seen))
            return false;
    }
    return false;
}

kolk_status kolk_ladder_climb(kolk_request *request, kolk_block **out)
{
    kolk_pool *const pool = request->pool;
    request->rungs = 1U << KOLK_RUNG_CACHED;
    if (search(request, out))
        return KOLK_OK;
    if (climb_patiently(request, out)) {
        if (request->rungs & ~(1U << KOLK_RUNG_CACHED | 1U << KOLK_RUNG_COMPLETED |
                               1U << KOLK_RUNG_GROW))
            kolk_bump(&pool->counters.retries, 1);
        return KOLK_OK;
    }
    if (request->failure.status != KOLK_OK)
        return kolk_fail_at(__func__, request->failure.status, request->failure.native,
                            "%s", request->failure.message);
    return kolk_oom_fail(request);
}
