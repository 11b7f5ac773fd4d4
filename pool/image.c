/* SPDX-License-Identifier: MIT */
#include "image.h"
#include "counters.h"
#include "freeze.h"
#include "heap.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- how many rows; the pool is frozen ---- */

static size_t count_blocks(const kolk_pool *pool)
{
    size_t count = 0;
    for (const kolk_segment *segment = pool->heap.segments; segment;
         segment = segment->next)
        for (const kolk_block *block = segment->first; block != &segment->end;
             block = block->next)
            count++;
    return count;
}

static bool make_room(kolk_pool_image *image, const kolk_pool *pool)
{
    image->segment_count = pool->heap.segment_count;
    image->block_count = count_blocks(pool);
    image->stream_count = pool->cache_count;
    image->bin_count = KOLK_CLASS_COUNT;
    image->segments =
        kolk_host_alloc((image->segment_count + 1) * sizeof *image->segments);
    image->blocks = kolk_host_alloc((image->block_count + 1) * sizeof *image->blocks);
    image->streams =
        kolk_host_alloc((image->stream_count + 1) * sizeof *image->streams);
    image->bins = kolk_host_alloc(image->bin_count * sizeof *image->bins);
    return image->segments && image->blocks && image->streams && image->bins;
}

/* ---- filling them ---- */

static kolk_block_state state_of(const kolk_pool *pool, const kolk_block *block)
{
    if (kolk_heap_is_taken(&pool->heap, block))
        return KOLK_BLOCK_FREE; /* a caller's in a moment, counted nowhere yet */
    switch (kolk_block_state_of(block)) {
    case KOLK_STATE_LIVE:
        return KOLK_BLOCK_LIVE;
    case KOLK_STATE_PENDING:
        return KOLK_BLOCK_PENDING;
    case KOLK_STATE_UNMAPPED:
    case KOLK_STATE_BUSY:
    case KOLK_STATE_UNUSED:
        return KOLK_BLOCK_UNMAPPED;
    case KOLK_STATE_BINNED:
    case KOLK_STATE_FREE:
        break;
    }
    return KOLK_BLOCK_FREE;
}

static kolk_block_row row_of(const kolk_pool *pool, const kolk_block *block)
{
    const kolk_cache *const cache = kolk_block_cache(block);
    kolk_block_row row = {.address = block->address,
                          .size = kolk_block_bytes(block),
                          .stream = cache ? kolk_cache_stream_id(cache) : 0,
                          .state = state_of(pool, block)};
    if (row.state == KOLK_BLOCK_LIVE || row.state == KOLK_BLOCK_PENDING) {
        row.requested = kolk_block_requested(block);
        row.tag = (kolk_tag)block->tag;
    }
    return row;
}

static int by_address(const void *a, const void *b)
{
    const kolk_segment_row *const left = a, *const right = b;
    return left->address < right->address ? -1 : left->address > right->address;
}

static void fill_blocks(kolk_pool_image *image, const kolk_pool *pool,
                        const kolk_segment *segment, kolk_segment_row *row,
                        size_t *next)
{
    row->first_block = *next;
    for (const kolk_block *block = segment->first; block != &segment->end;
         block = block->next)
        image->blocks[(*next)++] = row_of(pool, block);
    row->block_count = *next - row->first_block;
}

static void fill_segments(kolk_pool_image *image, const kolk_pool *pool)
{
    size_t next = 0, i = 0;
    for (const kolk_segment *segment = pool->heap.segments; segment;
         segment = segment->next, i++) {
        kolk_segment_row *const row = &image->segments[i];
        *row = (kolk_segment_row){.address = segment->base,
                                  .size = segment->size,
                                  .mapped = segment->mapped,
                                  .paged = segment->pages != NULL};
        fill_blocks(image, pool, segment, row, &next);
    }
    qsort(image->segments, image->segment_count, sizeof *image->segments, by_address);
}

static void fill_bins(kolk_pool_image *image, const kolk_pool *pool)
{
    for (int class = 0; class < KOLK_CLASS_COUNT; class ++) {
        kolk_bin_row *const row = &image->bins[class];
        row->size = kolk_bytes_of(kolk_class_units(class));
        for (size_t i = 0; i < pool->cache_count; i++) {
            const kolk_bin *const bin = &pool->caches[i]->bins[class];
            row->free += bin->count;
            row->hits += bin->hits;
            row->misses += bin->misses;
        }
        row->blocks = row->free;
    }
}

/* Blocks of a class that are handed out count as well. */
static void count_live_by_class(kolk_pool_image *image, const kolk_pool *pool)
{
    for (const kolk_segment *segment = pool->heap.segments; segment;
         segment = segment->next)
        for (const kolk_block *block = segment->first; block != &segment->end;
             block = block->next) {
            const kolk_block_state state = state_of(pool, block);
            if ((state == KOLK_BLOCK_LIVE || state == KOLK_BLOCK_PENDING) &&
                block->class < KOLK_CLASS_COUNT)
                image->bins[block->class].blocks++;
        }
}

static kolk_stream_row stream_row(const kolk_cache *cache)
{
    const kolk_totals *const totals = &cache->totals;
    return (kolk_stream_row){
        .id = kolk_cache_stream_id(cache),
        .requested = totals->requested - totals->requested_freed,
        .allocated = totals->allocated - totals->allocated_freed,
        .cached = cache->binned + cache->index[KOLK_AREA_LARGE].bytes +
                  cache->index[KOLK_AREA_SMALL].bytes,
        .pending = cache->pending,
        .allocs = totals->allocs,
        .frees = totals->frees,
        .hits = totals->hits,
        .misses = totals->misses,
        .closed = cache->closed,
    };
}

static int by_id(const void *a, const void *b)
{
    const kolk_stream_row *const left = a, *const right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static void fill_streams(kolk_pool_image *image, const kolk_pool *pool)
{
    for (size_t i = 0; i < pool->cache_count; i++)
        image->streams[i] = stream_row(pool->caches[i]);
    qsort(image->streams, image->stream_count, sizeof *image->streams, by_id);
}

static int64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void fill(kolk_pool_image *image, kolk_pool *pool)
{
    image->device = pool->device;
    image->info = pool->info;
    image->config = kolk_pool_config_of(pool);
    image->stats = kolk_stats_read(pool, true);
    image->time_us = microseconds();
    image->process = (int)getpid();
    fill_segments(image, pool);
    fill_bins(image, pool);
    count_live_by_class(image, pool);
    fill_streams(image, pool);
}

kolk_status kolk_pool_image_take(kolk_pool *pool, kolk_pool_image **out)
{
    kolk_pool_image *image = kolk_host_alloc(sizeof *image);
    if (!image)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for an image");
    kolk_pool_freeze_at_rest(pool);
    const bool room = make_room(image, pool);
    if (room)
        fill(image, pool);
    kolk_pool_thaw(pool);
    if (!room) {
        kolk_pool_image_destroy(&image);
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for an image");
    }
    *out = image;
    return KOLK_OK;
}

void kolk_pool_image_destroy(kolk_pool_image **out)
{
    kolk_pool_image *const image = *out;
    *out = NULL;
    if (!image)
        return;
    kolk_host_free(image->segments);
    kolk_host_free(image->blocks);
    kolk_host_free(image->streams);
    kolk_host_free(image->bins);
    kolk_host_free(image);
}
