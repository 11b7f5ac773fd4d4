/* SPDX-License-Identifier: MIT */

/* The two faces of the pool: handles, and pointers that are looked up. */

#include "alloc.h"
#include "cache.h"
#include "counters.h"
#include "freeze.h"
#include "segment.h"
#include <runtime/fail.h>

/* ---- handles ---- */

kolk_status kolk_block_alloc_with(kolk_pool *pool, size_t size,
                                  const kolk_alloc_options *options,
                                  kolk_stream *stream, kolk_block **out)
{
    static const kolk_alloc_options defaults;
    if (!options)
        options = &defaults;
    return kolk_pool_take_block(pool, size, options->alignment, options->tag, stream,
                                out);
}

kolk_status kolk_block_alloc(kolk_pool *pool, size_t size, kolk_stream *stream,
                             kolk_block **out)
{
    return kolk_pool_take_block(pool, size, 0, KOLK_TAG_OTHER, stream, out);
}

kolk_status kolk_block_record(kolk_block *block, kolk_stream *stream)
{
    kolk_cache *cache;
    if (block == &kolk_empty_block)
        return KOLK_OK;
    kolk_pool *const pool = kolk_block_cache(block)->pool;
    KOLK_TRY(kolk_pool_reachable(pool));
    KOLK_TRY(kolk_cache_of(pool, stream, &cache));
    return kolk_pool_record_block(block, cache);
}

void kolk_block_free(kolk_block **block)
{
    kolk_block *const freed = kolk_block_take(block);
    if (freed && freed != &kolk_empty_block)
        (void)kolk_pool_give_block(freed, NULL);
}

/* A stream that the pool cannot keep a record of is waited for here and now; if
 * that fails too, the block is never given to anybody again. */
void kolk_block_free_on(kolk_block **block, kolk_stream *stream)
{
    kolk_block *const freed = kolk_block_take(block);
    kolk_cache *cache = NULL;
    if (!freed || freed == &kolk_empty_block)
        return;
    kolk_pool *const pool = kolk_block_cache(freed)->pool;
    if (kolk_cache_of(pool, stream, &cache) == KOLK_OK ||
        kolk_stream_synchronize(stream ? stream : pool->default_stream) == KOLK_OK)
        (void)kolk_pool_give_block(freed, cache);
    else
        kolk_bump(&pool->counters.retired, kolk_block_bytes(freed));
}

void *kolk_block_data(const kolk_block *block)
{
    return (void *)block->address;
}

size_t kolk_block_size(const kolk_block *block)
{
    return kolk_block_requested(block);
}

size_t kolk_block_capacity(const kolk_block *block)
{
    return kolk_block_bytes(block);
}

/* ---- pointers ---- */

void *kolk_malloc(kolk_pool *pool, size_t size, kolk_stream *stream)
{
    kolk_block *block;
    if (kolk_pool_take_block(pool, size, 0, KOLK_TAG_OTHER, stream, &block) != KOLK_OK)
        return NULL;
    return (void *)block->address;
}

static kolk_status misuse(kolk_pool *pool, kolk_status status, const void *data)
{
    kolk_bump(&pool->counters.misuses, 1);
    return kolk_fail_at("kolk_free", status, 0, "%p: %s", data,
                        kolk_status_text(status));
}

static bool is_live(const kolk_block *block)
{
    return block && kolk_block_state_of(block) == KOLK_STATE_LIVE;
}

typedef struct sight {
    bool owned;        /* the address lies in a segment of the pool */
    kolk_block *block; /* the live block around it */
} sight;

static sight look(kolk_pool *pool, uintptr_t address)
{
    sight seen = {.owned = false};
    kolk_lock_acquire(&pool->heap.lock);
    const kolk_segment *const segment = kolk_segment_of(&pool->heap, address);
    if (segment) {
        kolk_block *const block =
            kolk_map_covering(&pool->heap.map, address, segment->base);
        seen.owned = true;
        seen.block = is_live(block) ? block : NULL;
    }
    kolk_lock_release(&pool->heap.lock);
    return seen;
}

/* Why an address is not that of a live block of the pool. */
static kolk_status diagnose(kolk_pool *pool, const void *data)
{
    const sight here = look(pool, (uintptr_t)data);
    if (here.block)
        return misuse(pool, KOLK_INTERIOR_POINTER, data);
    if (here.owned)
        return misuse(pool, KOLK_DOUBLE_FREE, data);
    if (kolk_pool_owning(pool, (uintptr_t)data))
        return misuse(pool, KOLK_WRONG_POOL, data);
    return misuse(pool, KOLK_FOREIGN_POINTER, data);
}

static kolk_status check_size(kolk_pool *pool, const kolk_block *block,
                              const size_t *size)
{
    if (!size || *size == kolk_block_requested(block))
        return KOLK_OK;
    kolk_bump(&pool->counters.misuses, 1);
    return kolk_fail_at("kolk_free_sized", KOLK_WRONG_SIZE, 0,
                        "the block at %#llx was asked for with %zu bytes, not %zu",
                        (unsigned long long)block->address, kolk_block_requested(block),
                        *size);
}

static kolk_status free_pointer(kolk_pool *pool, void *data, const size_t *size,
                                kolk_stream *stream)
{
    kolk_cache *last;
    if (!data)
        return KOLK_OK;
    KOLK_TRY(kolk_pool_reachable(pool));
    KOLK_TRY(kolk_cache_of(pool, stream, &last));
    kolk_block *const block = kolk_map_at(&pool->heap.map, (uintptr_t)data);
    if (!is_live(block))
        return diagnose(pool, data);
    KOLK_TRY(check_size(pool, block, size));
    return kolk_pool_give_block(block, last);
}

kolk_status kolk_free(kolk_pool *pool, void *data, kolk_stream *stream)
{
    return free_pointer(pool, data, NULL, stream);
}

kolk_status kolk_free_sized(kolk_pool *pool, void *data, size_t size,
                            kolk_stream *stream)
{
    return free_pointer(pool, data, &size, stream);
}

kolk_status kolk_record(kolk_pool *pool, const void *data, kolk_stream *stream)
{
    kolk_cache *cache;
    if (!data)
        return KOLK_OK;
    KOLK_TRY(kolk_pool_reachable(pool));
    KOLK_TRY(kolk_cache_of(pool, stream, &cache));
    kolk_block *block = kolk_map_at(&pool->heap.map, (uintptr_t)data);
    if (!is_live(block))
        block = look(pool, (uintptr_t)data).block;
    return block ? kolk_pool_record_block(block, cache) : diagnose(pool, data);
}
