/* SPDX-License-Identifier: MIT */
#include "grow.h"
#include "annotate.h"
#include "counters.h"
#include "driver.h"
#include "heap.h"
#include "segment.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>

enum { PLAIN_STEP = 2 << 20 };

static size_t round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

size_t kolk_grow_bytes(const kolk_pool *pool, uint32_t units, size_t alignment)
{
    const size_t step = pool->page_size ? pool->page_size : PLAIN_STEP;
    if (kolk_area_of(units) == KOLK_AREA_SMALL)
        return round_up(KOLK_CHUNK, step);
    const size_t lead = alignment > KOLK_UNIT && !pool->page_size ? alignment : 0;
    return round_up(kolk_bytes_of(units) + lead, step);
}

static kolk_status refuse(const kolk_pool *pool, size_t bytes)
{
    return kolk_fail(
        KOLK_OUT_OF_MEMORY,
        "%zu bytes more than the %llu reserved would pass the limit of %zu", bytes,
        (unsigned long long)pool->heap.reserved, atomic_load(&pool->limit));
}

/* Accounts for bytes that are about to be asked for. Under the heap's lock. */
static bool account(kolk_pool *pool, size_t bytes)
{
    const size_t limit = atomic_load_explicit(&pool->limit, memory_order_relaxed);
    if (limit && (pool->heap.reserved > limit || bytes > limit - pool->heap.reserved))
        return false;
    pool->heap.reserved += bytes;
    return true;
}

static void unaccount(kolk_pool *pool, size_t bytes)
{
    pool->heap.reserved -= bytes;
}

/* ---- where new pages go ---- */

/* A hole, and the free block before it that the request may begin in. */
typedef struct place {
    kolk_block *hole, *prefix;
    size_t bytes; /* of new pages, from the start of the hole */
} place;

struct wish {
    kolk_cache *cache;
    size_t size, alignment, page;
};

static bool can_begin_in(const kolk_block *block, const kolk_cache *cache)
{
    return block && kolk_block_state_of(block) == KOLK_STATE_FREE &&
           block->area == KOLK_AREA_LARGE &&
           (kolk_block_cache(block) == cache || kolk_block_is_clean(block));
}

/* How many bytes of pages at the start of the hole serve the wish. */
static bool measure(kolk_block *hole, const struct wish *wish, place *out)
{
    kolk_block *const before =
        can_begin_in(hole->prev, wish->cache) ? hole->prev : NULL;
    const uintptr_t from = before ? before->address : hole->address;
    const uintptr_t start = (from + wish->alignment - 1) & ~(wish->alignment - 1);
    const uintptr_t end = start + wish->size;
    if (end > kolk_block_end(hole))
        return false;
    const size_t more = end > hole->address ? end - hole->address : 0;
    *out = (place){hole, before, round_up(more, wish->page)};
    return true;
}

static void improve(place *best, kolk_block *hole, const struct wish *wish)
{
    place here;
    if (hole && kolk_block_state_of(hole) == KOLK_STATE_UNMAPPED &&
        measure(hole, wish, &here) && (!best->hole || here.bytes < best->bytes))
        *best = here;
}

/* The smallest hole that is large enough, or the end of a segment. */
static bool choose(kolk_pool *pool, const struct wish *wish, place *out)
{
    kolk_heap *const heap = &pool->heap;
    place best = {.hole = NULL};
    improve(&best,
            kolk_index_find(&heap->holes,
                            kolk_units_of(round_up(wish->size, wish->page)),
                            wish->alignment, false),
            wish);
    for (kolk_segment *segment = heap->segments; segment; segment = segment->next)
        improve(&best, segment->end.prev, wish);
    *out = best;
    return best.hole != NULL;
}

/* ---- paged segments ---- */

/* New pages between the two halves of growing. */
struct growth {
    place at;
    kolk_block *fresh; /* the part of the hole that gets pages, BUSY */
    kolk_segment *segment;
    size_t first, count; /* pages of the segment */
    size_t held;         /* of them, the first few that need not be created */
    size_t stuck, kept;  /* abandoned: those still mapped, and those still there */
};

static bool idle_ensure(kolk_heap *heap, size_t count)
{
    if (count <= heap->idle_room)
        return true;
    const size_t room = 2 * count + 64;
    uint64_t *const pages = kolk_host_alloc(room * sizeof *pages);
    if (!pages)
        return false;
    for (size_t i = 0; i < heap->idle_count; i++)
        pages[i] = heap->idle_pages[i];
    kolk_host_free(heap->idle_pages);
    heap->idle_pages = pages;
    heap->idle_room = room;
    return true;
}

static void claim(kolk_pool *pool, struct growth *growth)
{
    kolk_heap *const heap = &pool->heap;
    place *const at = &growth->at;
    const uint32_t units = (uint32_t)(at->bytes >> KOLK_UNIT_SHIFT);
    if (at->prefix)
        kolk_heap_unfile(heap, at->prefix);
    kolk_heap_unfile(heap, at->hole);
    growth->fresh = at->hole;
    if (at->hole->units > units)
        kolk_heap_file_hole(heap, kolk_heap_cut(heap, at->hole, units));
    growth->segment = kolk_segment_of(heap, at->hole->address);
    growth->first = kolk_page_number(pool, growth->segment, at->hole->address);
    for (size_t i = 0; i < growth->held; i++)
        growth->segment->pages[growth->first + i] =
            heap->idle_pages[--heap->idle_count];
    kolk_heap_begin_change(heap);
}

static void file_as_before(kolk_heap *heap, kolk_block *block)
{
    if (block)
        kolk_heap_file(heap, block);
}

/* Chooses the place and accounts for the pages; no place is OUT_OF_RANGE. */
static kolk_status plan(kolk_pool *pool, const struct wish *wish, struct growth *growth)
{
    kolk_heap *const heap = &pool->heap;
    KOLK_TRY(kolk_heap_prepare(heap));
    if (!choose(pool, wish, &growth->at))
        return KOLK_OUT_OF_RANGE;
    growth->count = growth->at.bytes / wish->page;
    growth->held = growth->count < heap->idle_count ? growth->count : heap->idle_count;
    const size_t more = (growth->count - growth->held) * wish->page;
    if (!account(pool, more))
        return refuse(pool, more);
    if (!idle_ensure(heap, (size_t)(heap->reserved / wish->page))) {
        unaccount(pool, more);
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the host has no memory for page lists");
    }
    claim(pool, growth);
    return KOLK_OK;
}

static uintptr_t page_address(const kolk_pool *pool, const struct growth *growth,
                              size_t i)
{
    return growth->fresh->address + i * pool->page_size;
}

static uint64_t *page_of(const struct growth *growth, size_t i)
{
    return &growth->segment->pages[growth->first + i];
}

/* Creates and maps; `made` and `mapped` say how far it came. */
static kolk_status back(kolk_pool *pool, struct growth *growth, size_t *made,
                        size_t *mapped)
{
    *made = growth->held;
    for (*mapped = 0; *mapped < growth->count; ++*mapped) {
        if (*mapped >= growth->held) {
            KOLK_TRY(kolk_driver_page_create(pool, page_of(growth, *mapped)));
            ++*made;
        }
        KOLK_TRY(kolk_driver_page_map(pool, page_address(pool, growth, *mapped),
                                      *page_of(growth, *mapped)));
    }
    return KOLK_OK;
}

/* Takes the pages away again, the last first, and releases those that were
 * created for this. What the driver refuses to take stays with the pool. */
static void unback(kolk_pool *pool, struct growth *growth, size_t made, size_t mapped)
{
    while (mapped > 0 && kolk_driver_page_unmap(
                             pool, page_address(pool, growth, mapped - 1)) == KOLK_OK)
        mapped--;
    growth->stuck = mapped;
    growth->kept = growth->held > mapped ? growth->held : mapped;
    for (size_t i = growth->kept; i < made; i++)
        if (kolk_driver_page_release(pool, *page_of(growth, i)) != KOLK_OK)
            *page_of(growth, growth->kept++) = *page_of(growth, i);
}

/* Files the pages still mapped as clean memory, and the rest as a hole. */
static void file_abandoned(kolk_pool *pool, struct growth *growth)
{
    kolk_heap *const heap = &pool->heap;
    kolk_block *const block = growth->fresh;
    const size_t stuck = growth->stuck * pool->page_size;
    growth->segment->mapped += stuck;
    if (!stuck) {
        kolk_heap_file_hole(heap, block);
    } else if (growth->stuck == growth->count || kolk_slab_ensure(&heap->blocks, 1)) {
        kolk_annotate_mapped(pool, block->address, stuck);
        if (growth->stuck < growth->count)
            kolk_heap_file_hole(heap, kolk_heap_cut(heap, block, kolk_units_of(stuck)));
        kolk_block_set_cache(block, NULL);
        kolk_heap_file(heap, block);
    } else {
        kolk_bump(&pool->counters.retired, kolk_block_bytes(block));
    }
}

static void abandon(kolk_pool *pool, struct growth *growth)
{
    kolk_heap *const heap = &pool->heap;
    kolk_lock_acquire(&heap->lock);
    for (size_t i = growth->kept; i-- > growth->stuck;)
        heap->idle_pages[heap->idle_count++] = *page_of(growth, i);
    unaccount(pool, (growth->count - growth->kept) * pool->page_size);
    kolk_count_reserved(pool, (growth->kept - growth->held) * pool->page_size, 0);
    file_abandoned(pool, growth);
    file_as_before(heap, growth->at.prefix);
    kolk_heap_end_change(heap);
    kolk_lock_release(&heap->lock);
}

static kolk_block *settle_in(kolk_pool *pool, struct growth *growth, uint32_t units,
                             size_t alignment)
{
    kolk_heap *const heap = &pool->heap;
    kolk_block *block = growth->fresh;
    kolk_block_set_cache(block, NULL);
    growth->segment->mapped += growth->at.bytes;
    kolk_count_reserved(pool, (growth->count - growth->held) * pool->page_size, 0);
    if (growth->at.prefix) {
        block = growth->at.prefix;
        kolk_heap_join(heap, block, growth->fresh);
    }
    kolk_heap_end_change(heap);
    return kolk_heap_carve(heap, block, units, alignment);
}

static kolk_status grow_paged(kolk_pool *pool, const struct wish *wish, uint32_t units,
                              kolk_block **out)
{
    struct growth growth;
    size_t made, mapped;
    kolk_lock_acquire(&pool->heap.lock);
    kolk_status status = plan(pool, wish, &growth);
    kolk_lock_release(&pool->heap.lock);
    if (status != KOLK_OK)
        return status;
    status = back(pool, &growth, &made, &mapped);
    if (status != KOLK_OK) {
        unback(pool, &growth, made, mapped);
        abandon(pool, &growth);
        return status;
    }
    kolk_annotate_mapped(pool, growth.fresh->address, growth.at.bytes);
    kolk_lock_acquire(&pool->heap.lock);
    status = kolk_heap_prepare(&pool->heap);
    if (status == KOLK_OK)
        *out = settle_in(pool, &growth, units, wish->alignment);
    kolk_lock_release(&pool->heap.lock);
    if (status != KOLK_OK) {
        unback(pool, &growth, made, mapped);
        abandon(pool, &growth);
    }
    return status;
}

/* A range large enough for the wish, as near to the usual size as there are
 * addresses to be had. */
static kolk_status reserve(kolk_pool *pool, const struct wish *wish)
{
    const size_t least = round_up(wish->size + wish->alignment, wish->page);
    size_t size = pool->config.address_space;
    kolk_status status = KOLK_OUT_OF_MEMORY;
    for (; size > least && status != KOLK_OK; size = size / 2 / wish->page * wish->page)
        status = kolk_segment_reserve(pool, size);
    return status == KOLK_OK ? KOLK_OK : kolk_segment_reserve(pool, least);
}

static kolk_status grow_pages(kolk_pool *pool, const struct wish *wish, uint32_t units,
                              kolk_block **out)
{
    kolk_status status = grow_paged(pool, wish, units, out);
    if (status != KOLK_OUT_OF_RANGE)
        return status;
    KOLK_TRY(reserve(pool, wish));
    status = grow_paged(pool, wish, units, out);
    return status == KOLK_OUT_OF_RANGE ? refuse(pool, wish->size) : status;
}

/* ---- plain segments ---- */

static kolk_status alloc_segment(kolk_pool *pool, size_t bytes, kolk_block **out)
{
    kolk_lock_acquire(&pool->heap.lock);
    const bool allowed = account(pool, bytes);
    const kolk_status refusal = allowed ? KOLK_OK : refuse(pool, bytes);
    if (allowed)
        kolk_heap_begin_change(&pool->heap);
    kolk_lock_release(&pool->heap.lock);
    if (!allowed)
        return refusal;
    const kolk_status status = kolk_segment_alloc(pool, bytes, out);
    kolk_lock_acquire(&pool->heap.lock);
    if (status == KOLK_OK)
        kolk_count_reserved(pool, bytes, 0);
    else
        unaccount(pool, bytes);
    kolk_heap_end_change(&pool->heap);
    kolk_lock_release(&pool->heap.lock);
    return status;
}

static void free_segment(kolk_pool *pool, kolk_block *block)
{
    const size_t bytes = kolk_block_bytes(block);
    if (!kolk_segment_free(pool, block))
        return;
    kolk_lock_acquire(&pool->heap.lock);
    unaccount(pool, bytes);
    kolk_count_reserved(pool, 0, bytes);
    kolk_lock_release(&pool->heap.lock);
}

static kolk_status grow_plain(kolk_pool *pool, uint32_t units, size_t alignment,
                              kolk_block **out)
{
    const bool small = kolk_area_of(units) == KOLK_AREA_SMALL;
    const uint32_t piece = small ? KOLK_CHUNK / KOLK_UNIT : units;
    const size_t at = small ? KOLK_CHUNK : alignment;
    size_t bytes = kolk_grow_bytes(pool, units, alignment);
    kolk_block *block;
    KOLK_TRY(alloc_segment(pool, bytes, &block));
    if (!kolk_block_fits(block, piece, at)) {
        free_segment(pool, block);
        KOLK_TRY(alloc_segment(pool, bytes + at, &block));
    }
    kolk_annotate_mapped(pool, block->address, kolk_block_bytes(block));
    kolk_lock_acquire(&pool->heap.lock);
    const kolk_status status = kolk_heap_prepare(&pool->heap);
    if (status == KOLK_OK)
        *out = kolk_heap_carve(&pool->heap, block, units, alignment);
    kolk_lock_release(&pool->heap.lock);
    if (status != KOLK_OK)
        free_segment(pool, block);
    return status;
}

kolk_status kolk_heap_grow(kolk_pool *pool, kolk_cache *cache, uint32_t units,
                           size_t alignment, kolk_block **out)
{
    if (!pool->page_size)
        return grow_plain(pool, units, alignment, out);
    const bool small = kolk_area_of(units) == KOLK_AREA_SMALL;
    const struct wish wish = {.cache = cache,
                              .size = small ? KOLK_CHUNK : kolk_bytes_of(units),
                              .alignment = small ? KOLK_CHUNK : alignment,
                              .page = pool->page_size};
    return grow_pages(pool, &wish, units, out);
}
