/* SPDX-License-Identifier: MIT */
#include "cache.h"
#include "counters.h"
#include "fence.h"
#include "heap.h"
#include "reclaim.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>
#include <sched.h>
#include <string.h>

/* ---- bins ---- */

kolk_block *kolk_bin_pop(kolk_cache *cache, int class, size_t alignment)
{
    kolk_bin *const bin = &cache->bins[class];
    kolk_block *const block = bin->top;
    if (!block || (block->address & (alignment - 1))) {
        bin->misses++;
        return NULL;
    }
    assert(kolk_block_state_of(block) == KOLK_STATE_BINNED);
    bin->top = block->list.after;
    bin->count--;
    bin->hits++;
    cache->binned -= kolk_block_bytes(block);
    return block;
}

bool kolk_bin_push(kolk_cache *cache, kolk_block *block)
{
    const size_t bytes = kolk_block_bytes(block);
    if (block->class == KOLK_CLASS_COUNT)
        return false;
    kolk_bin *const bin = &cache->bins[block->class];
    if (bin->count == KOLK_BIN_BLOCKS || cache->binned + bytes > KOLK_BIN_BYTES)
        return false;
    block->stamp = kolk_cache_epoch(cache);
    block->list.after = bin->top;
    kolk_block_set_state(block, KOLK_STATE_BINNED);
    bin->top = block;
    bin->count++;
    cache->binned += bytes;
    return true;
}

static void flush_bin(kolk_cache *cache, kolk_bin *bin)
{
    while (bin->top) {
        kolk_block *const block = bin->top;
        bin->top = block->list.after;
        kolk_heap_give(&cache->pool->heap, block, cache, block->stamp);
    }
    bin->count = 0;
}

void kolk_bins_flush(kolk_cache *cache)
{
    for (int class = 0; class < KOLK_CLASS_COUNT && cache->binned; class ++)
        flush_bin(cache, &cache->bins[class]);
    cache->binned = 0;
}

/* ---- the table from stream ids to caches ---- */

/* Open addressing; readers take no lock. A cache whose stream is gone leaves
 * `&gone` behind. Outgrown tables are kept, since a reader may be in one. */
struct kolk_cache_table {
    kolk_cache_table *outgrown;
    size_t count; /* a power of two */
    _Atomic(kolk_cache *) slots[];
};

static kolk_cache gone;

static size_t hash(uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static kolk_cache *slot_at(const kolk_cache_table *table, size_t i)
{
    return atomic_load_explicit(&table->slots[i & (table->count - 1)],
                                memory_order_acquire);
}

static kolk_cache *find(kolk_pool *pool, uint64_t id)
{
    const kolk_cache_table *const table =
        atomic_load_explicit(&pool->table, memory_order_acquire);
    if (!table)
        return NULL;
    const size_t first = hash(id);
    for (size_t i = first; i < first + table->count; i++) {
        kolk_cache *const cache = slot_at(table, i);
        if (!cache)
            return NULL;
        if (cache != &gone && kolk_cache_stream_id(cache) == id)
            return cache;
    }
    return NULL;
}

static void insert(kolk_cache_table *table, kolk_cache *cache)
{
    size_t i = hash(kolk_cache_stream_id(cache));
    while (slot_at(table, i) && slot_at(table, i) != &gone)
        i++;
    atomic_store_explicit(&table->slots[i & (table->count - 1)], cache,
                          memory_order_release);
}

static void withdraw(kolk_pool *pool, const kolk_cache *cache)
{
    kolk_cache_table *const table =
        atomic_load_explicit(&pool->table, memory_order_relaxed);
    for (size_t i = 0; table && i < table->count; i++)
        if (slot_at(table, i) == cache)
            atomic_store_explicit(&table->slots[i], &gone, memory_order_release);
}

static size_t table_bytes(size_t count)
{
    return sizeof(kolk_cache_table) + count * sizeof(_Atomic(kolk_cache *));
}

static size_t occupied(const kolk_cache_table *table)
{
    size_t used = 0;
    for (size_t i = 0; i < table->count; i++)
        used += slot_at(table, i) && slot_at(table, i) != &gone;
    return used;
}

/* Room for one more, at most half full. */
static bool table_ensure(kolk_pool *pool)
{
    kolk_cache_table *const old =
        atomic_load_explicit(&pool->table, memory_order_relaxed);
    if (old && 2 * (occupied(old) + 1) <= old->count)
        return true;
    const size_t count = old ? 2 * old->count : 32;
    kolk_cache_table *const table = kolk_host_alloc(table_bytes(count));
    if (!table)
        return false;
    table->outgrown = old;
    table->count = count;
    for (size_t i = 0; old && i < old->count; i++)
        if (slot_at(old, i) && slot_at(old, i) != &gone)
            insert(table, slot_at(old, i));
    atomic_store_explicit(&pool->table, table, memory_order_release);
    return true;
}

/* ---- life of a cache ---- */

/* Outgrown registries are kept, in the word before the first entry, since a
 * reader may be in one. */
static bool registry_ensure(kolk_pool *pool)
{
    if (pool->cache_count < pool->cache_room)
        return true;
    const size_t room = pool->cache_room ? 2 * pool->cache_room : 16;
    kolk_cache **const link = kolk_host_alloc((room + 1) * sizeof *link);
    if (!link)
        return false;
    kolk_cache **const caches = link + 1;
    if (pool->cache_count)
        memcpy(caches, pool->caches, pool->cache_count * sizeof *caches);
    link[0] = (kolk_cache *)(void *)pool->caches;
    pool->caches = caches;
    pool->cache_room = room;
    return true;
}

static void registry_destroy(kolk_cache **caches)
{
    while (caches) {
        kolk_cache **const link = caches - 1;
        caches = (kolk_cache **)(void *)link[0];
        kolk_host_free(link);
    }
}

/* Takes the last fence and returns with the cache locked. Another thread may have
 * freed something since the fence: it takes one more, or nothing would ever tell
 * that this is complete. */
static bool fence_and_lock(kolk_pool *pool, kolk_cache *cache)
{
    for (;;) {
        kolk_cache_lock(cache);
        const uint64_t frees = cache->totals.frees;
        kolk_cache_unlock(cache);
        const bool fenced = kolk_fence_take(pool, cache, NULL);
        kolk_cache_lock(cache);
        if (!fenced || (frees == cache->totals.frees && !cache->open))
            return fenced;
        kolk_cache_unlock(cache);
    }
}

/* Called while the stream can still be used: what it did for the pool gets its
 * last fence, and nobody uses the stream through the pool any more. */
static void closing(kolk_stream_observer *observer, kolk_stream *stream)
{
    kolk_cache *const cache =
        (kolk_cache *)((char *)observer - offsetof(kolk_cache, observer));
    kolk_pool *const pool = cache->pool;
    (void)stream;
    const bool fenced = fence_and_lock(pool, cache);
    withdraw(pool, cache);
    cache->closed = true;
    cache->orphaned = !fenced;
    while (cache->borrowed) {
        kolk_cache_unlock(cache);
        sched_yield();
        kolk_cache_lock(cache);
    }
    cache->stream = NULL;
    kolk_cache_unlock(cache);
    atomic_store(&cache->observed, false);
}

static bool is_spent(const kolk_cache *cache)
{
    return cache->closed && !cache->captured &&
           cache->totals.allocs == cache->totals.frees && !cache->pending &&
           !kolk_cache_free_bytes(cache) && !cache->oldest && !cache->open &&
           !atomic_load(&cache->observed);
}

/* Its epochs go on, as others have seen some of them, but from one that is not
 * complete: an orphan's last is said to be so before it ends. */
static void reopen(kolk_cache *cache)
{
    if (kolk_cache_epoch(cache) < cache->completed)
        atomic_store_explicit(&cache->epoch, cache->completed, memory_order_relaxed);
    cache->closed = cache->orphaned = false;
}

/* A closed cache that owns nothing serves a new stream, so that a program which
 * makes a stream a step does not grow. Its totals move to the pool's. */
static kolk_cache *reuse(kolk_pool *pool)
{
    for (size_t i = 0; i < pool->cache_count; i++) {
        kolk_cache *const cache = pool->caches[i];
        if (!cache->closed || !kolk_lock_try(&cache->lock))
            continue;
        const bool spent = is_spent(cache);
        if (spent) {
            kolk_totals_add(&pool->past, &cache->totals);
            cache->totals = (kolk_totals){0};
            reopen(cache);
        }
        kolk_lock_release(&cache->lock);
        if (spent)
            return cache;
    }
    return NULL;
}

static kolk_cache *make_new(kolk_pool *pool)
{
    if (!registry_ensure(pool))
        return NULL;
    kolk_cache *const cache = kolk_host_alloc(sizeof *cache);
    if (!cache)
        return NULL;
    cache->pool = pool;
    cache->number = pool->cache_count;
    cache->observer.closing = closing;
    pool->caches[pool->cache_count++] = cache;
    return cache;
}

static kolk_cache *new_cache(kolk_pool *pool, kolk_stream *stream)
{
    kolk_cache *cache = reuse(pool);
    if (!cache)
        cache = make_new(pool);
    if (!cache)
        return NULL;
    cache->stream = stream;
    atomic_store_explicit(&cache->stream_id, stream->id, memory_order_relaxed);
    return cache;
}

static kolk_cache *add(kolk_pool *pool, kolk_stream *stream, bool *added)
{
    kolk_cache *cache = find(pool, stream->id);
    if (cache)
        return cache;
    if (!table_ensure(pool))
        return NULL;
    cache = new_cache(pool, stream);
    if (!cache)
        return NULL;
    insert(atomic_load_explicit(&pool->table, memory_order_relaxed), cache);
    atomic_store(&cache->observed, true);
    *added = true;
    return cache;
}

static kolk_status no_room(void)
{
    return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                     "the host has no memory for a stream's cache");
}

static kolk_status make(kolk_pool *pool, kolk_stream *stream, kolk_cache **out)
{
    bool added = false;
    kolk_reclaim_closed(pool);
    kolk_lock_acquire(&pool->heap.lock);
    kolk_cache *const cache = add(pool, stream, &added);
    kolk_lock_release(&pool->heap.lock);
    if (!cache)
        return no_room();
    if (added)
        kolk_stream_observe(stream, &cache->observer);
    *out = cache;
    return KOLK_OK;
}

kolk_status kolk_cache_of(kolk_pool *pool, kolk_stream *stream, kolk_cache **out)
{
    if (!stream)
        stream = pool->default_stream;
    if (!kolk_device_equal(stream->device, pool->device))
        return kolk_fail(KOLK_DEVICE_MISMATCH,
                         "the stream is on device %d:%d, the pool on %d:%d",
                         (int)stream->device.kind, stream->device.ordinal,
                         (int)pool->device.kind, pool->device.ordinal);
    kolk_cache *const cache = find(pool, stream->id);
    if (!cache)
        return make(pool, stream, out);
    *out = cache;
    return KOLK_OK;
}

kolk_status kolk_cache_create_captured(kolk_pool *pool, kolk_stream *stream,
                                       kolk_cache **out)
{
    if (!stream)
        stream = pool->default_stream;
    kolk_lock_acquire(&pool->heap.lock);
    kolk_cache *const cache = new_cache(pool, stream);
    if (cache)
        cache->captured = true;
    kolk_lock_release(&pool->heap.lock);
    if (!cache)
        return no_room();
    *out = cache;
    return KOLK_OK;
}

size_t kolk_cache_count(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->heap.lock);
    const size_t count = pool->cache_count;
    kolk_lock_release(&pool->heap.lock);
    return count;
}

kolk_cache *kolk_cache_at(kolk_pool *pool, size_t number)
{
    kolk_lock_acquire(&pool->heap.lock);
    kolk_cache *const cache = pool->caches[number];
    kolk_lock_release(&pool->heap.lock);
    return cache;
}

kolk_stream *kolk_cache_borrow_stream(kolk_cache *cache)
{
    kolk_lock *const lock = &cache->pool->heap.lock;
    kolk_lock_acquire(lock);
    kolk_stream *const stream = cache->closed || cache->captured ? NULL : cache->stream;
    if (stream)
        cache->borrowed++;
    kolk_lock_release(lock);
    return stream;
}

void kolk_cache_return_stream(kolk_cache *cache)
{
    kolk_lock *const lock = &cache->pool->heap.lock;
    kolk_lock_acquire(lock);
    cache->borrowed--;
    kolk_lock_release(lock);
}

/* Either this takes the observer off the stream, or it waits for the thread that
 * is just telling it. */
static void detach(kolk_cache *cache)
{
    kolk_stream *const stream = kolk_cache_borrow_stream(cache);
    if (stream) {
        if (kolk_stream_unobserve(stream, &cache->observer))
            atomic_store(&cache->observed, false);
        kolk_cache_return_stream(cache);
    }
    while (atomic_load(&cache->observed))
        sched_yield();
}

void kolk_cache_detach_all(kolk_pool *pool)
{
    for (size_t i = 0; i < pool->cache_count; i++)
        if (atomic_load(&pool->caches[i]->observed))
            detach(pool->caches[i]);
}

void kolk_cache_destroy_all(kolk_pool *pool)
{
    for (size_t i = 0; i < pool->cache_count; i++) {
        kolk_host_free(pool->caches[i]->seen);
        kolk_host_free(pool->caches[i]);
    }
    registry_destroy(pool->caches);
    kolk_cache_table *table = atomic_load(&pool->table);
    while (table) {
        kolk_cache_table *const outgrown = table->outgrown;
        kolk_host_free(table);
        table = outgrown;
    }
}
