/* SPDX-License-Identifier: MIT */

/* A pool's life: made empty, let go by its owner, gone with its last block. */

#include "alloc.h"
#include "cache.h"
#include "capture.h"
#include "fence.h"
#include "freeze.h"
#include "grow.h"
#include "heap.h"
#include "reclaim.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>
#include <string.h>

/* ---- configuration ---- */

static size_t round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

static kolk_status check_limit(const kolk_pool_config *config,
                               const kolk_device_info *info)
{
    const double fraction = config->limit_fraction;
    if (!(fraction >= 0.0 && fraction <= 1.0))
        return kolk_fail(KOLK_INVALID_ARGUMENT, "limit_fraction %g is not in [0, 1]",
                         fraction);
    if (config->limit && fraction > 0.0)
        return kolk_fail(KOLK_INVALID_ARGUMENT,
                         "limit %zu and limit_fraction %g are both given",
                         config->limit, fraction);
    if (fraction > 0.0 && fraction * (double)info->total < 1.0)
        return kolk_fail(KOLK_INVALID_ARGUMENT,
                         "limit_fraction %g of the device's %zu bytes is not a byte",
                         fraction, info->total);
    return KOLK_OK;
}

static kolk_status check_pages(const kolk_pool_config *config,
                               const kolk_device_info *info)
{
    if (config->no_pages && config->page_size)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "page_size %zu is given with no_pages",
                         config->page_size);
    if (config->page_size && (!info->page_size || config->page_size % info->page_size))
        return kolk_fail(KOLK_INVALID_ARGUMENT,
                         "page_size %zu is not a multiple of the device's %zu",
                         config->page_size, info->page_size);
    if (config->page_size > KOLK_SIZE_MAX)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "page_size %zu is above %zu",
                         config->page_size, KOLK_SIZE_MAX);
    if (config->address_space > KOLK_SIZE_MAX)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "address_space %zu is above %zu",
                         config->address_space, KOLK_SIZE_MAX);
    return KOLK_OK;
}

static kolk_status check_config(const kolk_pool_config *config,
                                const kolk_device_info *info)
{
    KOLK_TRY(check_limit(config, info));
    KOLK_TRY(check_pages(config, info));
    if ((unsigned)config->policy > KOLK_PREFER_MEMORY)
        return kolk_fail(KOLK_INVALID_ARGUMENT, "policy %d is neither 0 nor 1",
                         (int)config->policy);
    if (!memchr(config->name, 0, sizeof config->name))
        return kolk_fail(KOLK_INVALID_ARGUMENT, "name has no end within its %zu bytes",
                         sizeof config->name);
    return KOLK_OK;
}

/* Addresses are cheap and memory is not: room for the device's memory four times
 * over lets idle pages move instead of growing. */
static size_t usual_address_space(const kolk_pool *pool)
{
    return pool->info.total > KOLK_SIZE_MAX / 4 ? KOLK_SIZE_MAX : 4 * pool->info.total;
}

/* In whole pages, one at least, and no more than a block can measure. */
static size_t in_pages(size_t size, size_t page)
{
    const size_t most = KOLK_SIZE_MAX / page * page;
    return size >= most ? most : round_up(size ? size : 1, page);
}

static void resolve(kolk_pool *pool, const kolk_pool_config *config)
{
    pool->config = *config;
    if (config->limit_fraction > 0.0)
        pool->config.limit =
            (size_t)(config->limit_fraction * (double)pool->info.total);
    if (!config->no_pages && !config->page_size)
        pool->config.page_size = pool->info.page_size;
    pool->config.no_pages = pool->config.page_size == 0;
    pool->page_size = pool->config.page_size;
    if (pool->page_size && !config->address_space)
        pool->config.address_space = usual_address_space(pool);
    if (pool->page_size)
        pool->config.address_space =
            in_pages(pool->config.address_space, pool->page_size);
    atomic_init(&pool->limit, pool->config.limit);
}

/* ---- creation ---- */

static void free_pool(kolk_pool *pool)
{
    kolk_capture_destroy_all(pool);
    kolk_cache_destroy_all(pool);
    kolk_heap_fini(&pool->heap);
    kolk_host_free(pool);
}

static kolk_status set_up(kolk_pool *pool)
{
    kolk_heap_init(&pool->heap);
    if (!kolk_map_init(&pool->heap.map))
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for a pool's map");
    KOLK_TRY(kolk_stream_create_default(pool->device, &pool->default_stream));
    if (pool->config.capture_safe)
        atomic_init(&pool->flags, KOLK_POOL_CAPTURING);
    return kolk_pool_enlist(pool);
}

kolk_status kolk_pool_create(kolk_device device, const kolk_pool_config *config,
                             kolk_pool **out)
{
    static const kolk_pool_config defaults;
    kolk_device_info info;
    if (!config)
        config = &defaults;
    KOLK_TRY(kolk_device_describe(device, &info));
    KOLK_TRY(check_config(config, &info));
    kolk_pool *const pool = kolk_host_alloc(sizeof *pool);
    if (!pool)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY, "the host has no memory for a pool");
    pool->device = device;
    pool->info = info;
    resolve(pool, config);
    const kolk_status status = set_up(pool);
    if (status != KOLK_OK) {
        kolk_stream_destroy(&pool->default_stream);
        free_pool(pool);
        return status;
    }
    *out = pool;
    return KOLK_OK;
}

/* ---- the end ---- */

static void tear_down(kolk_pool *pool)
{
    const bool forked = kolk_pool_flags(pool) & KOLK_POOL_FORKED;
    kolk_pool_delist(pool);
    if (!forked)
        kolk_reclaim_everything(pool);
    kolk_cache_detach_all(pool);
    kolk_fence_forget_all(pool);
    kolk_heap_dismantle(pool);
    kolk_stream_destroy(&pool->default_stream);
    kolk_device_trim(pool->device);
    free_pool(pool);
}

static uint64_t live_blocks(const kolk_pool *pool)
{
    uint64_t live = pool->past.allocs - pool->past.frees;
    for (size_t i = 0; i < pool->cache_count; i++)
        live += pool->caches[i]->totals.allocs - pool->caches[i]->totals.frees;
    return live;
}

void kolk_pool_destroy(kolk_pool **out)
{
    kolk_pool *const pool = kolk_pool_take(out);
    if (!pool)
        return;
    kolk_pool_freeze(pool);
    const uint64_t live = live_blocks(pool);
    atomic_store(&pool->remaining, live + 1);
    atomic_fetch_or(&pool->flags, KOLK_POOL_CLOSING);
    kolk_pool_thaw(pool);
    if (live && !(kolk_pool_flags(pool) & KOLK_POOL_FORKED))
        (void)kolk_pool_trim(pool, 0);
    kolk_pool_freed_one(pool);
}

/* The owner counts as one more block, so that nothing ends under its hands. */
void kolk_pool_freed_one(kolk_pool *pool)
{
    if (atomic_fetch_sub(&pool->remaining, 1) == 1)
        tear_down(pool);
}
