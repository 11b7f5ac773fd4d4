/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "alloc.h"
#include "cache.h"
#include "driver.h"
#include "fence.h"
#include "reclaim.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>

static kolk_stream *stream_or_default(kolk_pool *pool, kolk_stream *stream)
{
    return stream ? stream : pool->default_stream;
}

/* The cache of the announced capture of a stream, or of the one with that id. */
static kolk_cache *diverted(kolk_pool *pool, const kolk_cache *ordinary, uint64_t id)
{
    kolk_cache *cache = NULL;
    kolk_lock_acquire(&pool->heap.lock);
    for (const kolk_capture *capture = pool->captures; capture && !cache;
         capture = capture->next)
        if (id ? capture->id == id : capture->active && capture->ordinary == ordinary)
            cache = capture->cache;
    kolk_lock_release(&pool->heap.lock);
    return cache;
}

static void update_flag(kolk_pool *pool)
{
    bool any = pool->config.capture_safe;
    for (const kolk_capture *capture = pool->captures; capture; capture = capture->next)
        any |= capture->active;
    if (any)
        atomic_fetch_or(&pool->flags, KOLK_POOL_CAPTURING);
    else
        atomic_fetch_and(&pool->flags, ~(unsigned)KOLK_POOL_CAPTURING);
}

static kolk_status begin(kolk_pool *pool, kolk_stream *stream, kolk_cache *ordinary,
                         uint64_t id, kolk_capture **out)
{
    kolk_capture *const capture = kolk_host_alloc(sizeof *capture);
    if (!capture)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for a capture");
    const kolk_status status =
        kolk_cache_create_captured(pool, stream, &capture->cache);
    if (status != KOLK_OK) {
        kolk_host_free(capture);
        return status;
    }
    capture->pool = pool;
    capture->ordinary = ordinary;
    capture->active = id == 0;
    capture->id = id;
    kolk_lock_acquire(&pool->heap.lock);
    capture->next = pool->captures;
    pool->captures = capture;
    update_flag(pool);
    kolk_lock_release(&pool->heap.lock);
    *out = capture;
    return KOLK_OK;
}

kolk_status kolk_capture_begin(kolk_pool *pool, kolk_stream *stream, kolk_capture **out)
{
    kolk_cache *ordinary;
    stream = stream_or_default(pool, stream);
    KOLK_TRY(kolk_pool_usable(pool));
    KOLK_TRY(kolk_cache_of(pool, stream, &ordinary));
    if (diverted(pool, ordinary, 0))
        return kolk_fail(KOLK_INVALID_ARGUMENT, "stream %llu is being captured already",
                         (unsigned long long)stream->id);
    return begin(pool, stream, ordinary, 0, out);
}

void kolk_capture_end(kolk_capture *capture)
{
    kolk_pool *const pool = capture->pool;
    kolk_lock_acquire(&pool->heap.lock);
    capture->active = false;
    update_flag(pool);
    kolk_lock_release(&pool->heap.lock);
}

/* Asks the driver when the pool is to find out by itself. */
static kolk_status find_unannounced(kolk_pool *pool, kolk_stream *stream,
                                    kolk_cache **cache)
{
    uint64_t id = 0;
    kolk_capture *made;
    KOLK_TRY(kolk_driver_stream_capture(pool, stream, &id));
    kolk_cache *const found = id ? diverted(pool, NULL, id) : *cache;
    if (!found) {
        KOLK_TRY(begin(pool, stream, *cache, id, &made));
        *cache = made->cache;
        return KOLK_OK;
    }
    *cache = found;
    return KOLK_OK;
}

kolk_status kolk_capture_cache_of(kolk_pool *pool, kolk_stream *stream,
                                  kolk_cache **out)
{
    kolk_cache *cache;
    stream = stream_or_default(pool, stream);
    KOLK_TRY(kolk_cache_of(pool, stream, &cache));
    kolk_cache *const own = diverted(pool, cache, 0);
    if (own)
        cache = own;
    else if (pool->config.capture_safe)
        KOLK_TRY(find_unannounced(pool, stream, &cache));
    *out = cache;
    return KOLK_OK;
}

static void unlink_capture(kolk_capture *capture)
{
    kolk_pool *const pool = capture->pool;
    kolk_capture **at = &pool->captures;
    kolk_lock_acquire(&pool->heap.lock);
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    update_flag(pool);
    kolk_lock_release(&pool->heap.lock);
}

/* What is free goes to the stream, in its order. What is still live is memory of
 * a stream that is gone: clean once the device has been idle. */
static void release(kolk_cache *cache, kolk_cache *ordinary)
{
    kolk_cache_lock(cache);
    cache->captured = false;
    cache->closed = cache->orphaned = true;
    cache->stream = NULL;
    kolk_cache_unlock(cache);
    kolk_reclaim_hand_over(cache, ordinary);
}

void kolk_capture_destroy(kolk_capture **out)
{
    kolk_capture *const capture = *out;
    *out = NULL;
    if (!capture)
        return;
    unlink_capture(capture);
    release(capture->cache, capture->ordinary);
    kolk_host_free(capture);
}

void kolk_capture_destroy_all(kolk_pool *pool)
{
    while (pool->captures) {
        kolk_capture *const capture = pool->captures;
        pool->captures = capture->next;
        kolk_host_free(capture);
    }
}
