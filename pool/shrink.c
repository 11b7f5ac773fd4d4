/* SPDX-License-Identifier: MIT */

/* Taking memory back out of the heap: whole pages, or whole plain segments,
 * that lie in free blocks no stream uses any more. */

#include "annotate.h"
#include "cache.h"
#include "counters.h"
#include "driver.h"
#include "grow.h"
#include "heap.h"
#include "segment.h"
#include <runtime/host_memory.h>

/* Pages in the hands of one thread: BUSY blocks, chained by list.after. */
typedef struct catch
{
    kolk_pool *pool;
    kolk_block *blocks;
    size_t bytes, wanted;
}
catch;

/* Pages lie side by side from the segment's base, which is aligned to the device's
 * pages only. */
static uintptr_t first_page(const kolk_pool *pool, const kolk_segment *segment,
                            const kolk_block *block)
{
    const size_t up = block->address - segment->base + pool->page_size - 1;
    return segment->base + up / pool->page_size * pool->page_size;
}

static size_t whole_pages(const kolk_pool *pool, const kolk_block *block)
{
    const kolk_segment *const segment = kolk_segment_of(&pool->heap, block->address);
    const uintptr_t first = first_page(pool, segment, block);
    const uintptr_t end = kolk_block_end(block);
    return end > first ? (end - first) / pool->page_size * pool->page_size : 0;
}

static uint32_t units_in(size_t bytes)
{
    return (uint32_t)(bytes >> KOLK_UNIT_SHIFT);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- finding and catching idle pages; under the heap's lock ---- */

static bool count_pages(kolk_block *block, void *context)
{
    catch *const caught = context;
    if (kolk_block_is_clean(block))
        caught->bytes += whole_pages(caught->pool, block);
    return caught->bytes < caught->wanted;
}

static bool find_pages(kolk_block *block, void *context)
{
    catch *const caught = context;
    if (!kolk_block_is_clean(block) || !whole_pages(caught->pool, block))
        return true;
    caught->blocks = block;
    return false;
}

/* Shows `visit` every large free block, until it has seen enough. */
static void visit_large(catch *caught, bool (*visit)(kolk_block *, void *))
{
    kolk_pool *const pool = caught->pool;
    const uint32_t page = (uint32_t)(pool->page_size >> KOLK_UNIT_SHIFT);
    kolk_index_walk(&pool->heap.clean[KOLK_AREA_LARGE], page, visit, caught);
    for (size_t i = 0; i < pool->cache_count; i++)
        kolk_index_walk(&pool->caches[i]->index[KOLK_AREA_LARGE], page, visit, caught);
}

static bool is_enough(kolk_pool *pool, size_t wanted)
{
    catch count = {.pool = pool, .wanted = wanted};
    visit_large(&count, count_pages);
    return count.bytes >= wanted;
}

static kolk_block *clean_with_pages(kolk_pool *pool)
{
    catch found = {.pool = pool};
    visit_large(&found, find_pages);
    return found.blocks;
}

/* Cuts whole pages out of a clean block, at most `wanted` bytes of them. */
static kolk_block *cut_pages(kolk_pool *pool, kolk_block *block, size_t wanted)
{
    const size_t bytes = least(whole_pages(pool, block), wanted);
    const uintptr_t first =
        first_page(pool, kolk_segment_of(&pool->heap, block->address), block);
    kolk_heap_unfile(&pool->heap, block);
    kolk_block_set_cache(block, NULL);
    if (first != block->address) {
        kolk_block *const lead = block;
        block = kolk_heap_cut(&pool->heap, lead, kolk_units_of(first - lead->address));
        kolk_heap_file(&pool->heap, lead);
    }
    if (kolk_block_bytes(block) > bytes)
        kolk_heap_file(&pool->heap, kolk_heap_cut(&pool->heap, block, units_in(bytes)));
    return block;
}

static void catch_pages(catch *caught)
{
    kolk_pool *const pool = caught->pool;
    kolk_block *block;
    while (caught->bytes < caught->wanted && (block = clean_with_pages(pool)) &&
           kolk_heap_prepare(&pool->heap) == KOLK_OK) {
        block = cut_pages(pool, block, caught->wanted - caught->bytes);
        caught->bytes += kolk_block_bytes(block);
        block->list.after = caught->blocks;
        caught->blocks = block;
    }
}

/* ---- unmapping what was caught; no lock held ---- */

/* Bytes unmapped from the start of the block; less if the driver refuses. */
static size_t unmap(kolk_pool *pool, const kolk_block *block)
{
    const size_t bytes = kolk_block_bytes(block);
    kolk_annotate_unmapping(pool, block->address, bytes);
    for (size_t done = 0; done < bytes; done += pool->page_size)
        if (kolk_driver_page_unmap(pool, block->address + done) != KOLK_OK) {
            kolk_annotate_mapped(pool, block->address + done, bytes - done);
            return done;
        }
    return bytes;
}

/* Second half: the pages are idle, their addresses a hole. */
static void file_unmapped(kolk_pool *pool, kolk_block *block, size_t bytes)
{
    kolk_heap *const heap = &pool->heap;
    kolk_segment *const segment = kolk_segment_of(heap, block->address);
    const size_t first = kolk_page_number(pool, segment, block->address);
    for (size_t i = 0; i < bytes / pool->page_size; i++)
        heap->idle_pages[heap->idle_count++] = segment->pages[first + i];
    segment->mapped -= bytes;
    if (bytes == kolk_block_bytes(block)) {
        kolk_heap_file_hole(heap, block);
        return;
    }
    if (bytes && !kolk_slab_ensure(&heap->blocks, 1)) {
        kolk_bump(&pool->counters.retired, kolk_block_bytes(block));
        return; /* it stays BUSY: nobody can say where its hole ends */
    }
    if (bytes) {
        kolk_block *const hole = block;
        block = kolk_heap_cut(heap, hole, units_in(bytes));
        kolk_heap_file_hole(heap, hole);
    }
    kolk_heap_file(heap, block);
}

static void unmap_all(kolk_pool *pool, catch *caught)
{
    kolk_heap *const heap = &pool->heap;
    while (caught->blocks) {
        kolk_block *const block = caught->blocks;
        caught->blocks = block->list.after;
        const size_t bytes = unmap(pool, block);
        kolk_lock_acquire(&heap->lock);
        file_unmapped(pool, block, bytes);
        kolk_lock_release(&heap->lock);
    }
}

/* Unmaps up to `wanted` bytes of idle pages; `all`: all of them or none. */
static bool make_idle(kolk_pool *pool, size_t wanted, bool all)
{
    kolk_heap *const heap = &pool->heap;
    catch caught = {.pool = pool, .wanted = wanted};
    kolk_lock_acquire(&heap->lock);
    const size_t before = heap->idle_count;
    if (!all || is_enough(pool, wanted))
        catch_pages(&caught);
    const bool any = caught.blocks != NULL;
    if (any)
        kolk_heap_begin_change(heap);
    kolk_lock_release(&heap->lock);
    if (!any)
        return false;
    unmap_all(pool, &caught);
    kolk_lock_acquire(&heap->lock);
    kolk_heap_end_change(heap);
    const bool more = heap->idle_count > before;
    kolk_lock_release(&heap->lock);
    return more;
}

/* ---- releasing to the driver ---- */

/* Takes a page off the stack while more than `keep` bytes are reserved. */
static bool pop_idle(kolk_pool *pool, size_t keep, uint64_t *page)
{
    kolk_heap *const heap = &pool->heap;
    kolk_lock_acquire(&heap->lock);
    const bool any = heap->idle_count > 0 && heap->reserved > keep;
    if (any) {
        *page = heap->idle_pages[--heap->idle_count];
        kolk_heap_begin_change(heap);
    }
    kolk_lock_release(&heap->lock);
    return any;
}

static void push_idle(kolk_pool *pool, uint64_t page)
{
    kolk_heap *const heap = &pool->heap;
    kolk_lock_acquire(&heap->lock);
    heap->idle_pages[heap->idle_count++] = page;
    kolk_heap_end_change(heap);
    kolk_lock_release(&heap->lock);
}

static void account_released(kolk_pool *pool, size_t bytes)
{
    kolk_lock_acquire(&pool->heap.lock);
    pool->heap.reserved -= bytes;
    kolk_count_reserved(pool, 0, bytes);
    kolk_heap_end_change(&pool->heap);
    kolk_lock_release(&pool->heap.lock);
}

static size_t release_idle(kolk_pool *pool, size_t keep)
{
    size_t released = 0;
    uint64_t page;
    while (pop_idle(pool, keep, &page)) {
        if (kolk_driver_page_release(pool, page) != KOLK_OK) {
            push_idle(pool, page);
            break;
        }
        account_released(pool, pool->page_size);
        released += pool->page_size;
    }
    return released;
}

/* A plain segment that is one clean free block, BUSY now. */
static kolk_block *take_idle_segment(kolk_pool *pool, size_t keep)
{
    kolk_heap *const heap = &pool->heap;
    kolk_block *found = NULL;
    kolk_lock_acquire(&heap->lock);
    for (kolk_segment *segment = heap->segments;
         segment && !found && heap->reserved > keep; segment = segment->next) {
        kolk_block *const block = segment->first;
        if (!segment->pages && block->next == &segment->end &&
            kolk_block_state_of(block) == KOLK_STATE_FREE && kolk_block_is_clean(block))
            found = block;
    }
    if (found) {
        kolk_heap_unfile(heap, found);
        kolk_heap_begin_change(heap);
    }
    kolk_lock_release(&heap->lock);
    return found;
}

static size_t release_segments(kolk_pool *pool, size_t keep)
{
    size_t released = 0;
    kolk_block *block;
    while ((block = take_idle_segment(pool, keep))) {
        const size_t bytes = kolk_block_bytes(block);
        if (!kolk_segment_free(pool, block)) {
            account_released(pool, 0);
            break;
        }
        account_released(pool, bytes);
        released += bytes;
    }
    return released;
}

static uint64_t reserved(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->heap.lock);
    const uint64_t bytes = pool->heap.reserved;
    kolk_lock_release(&pool->heap.lock);
    return bytes;
}

size_t kolk_heap_shrink(kolk_pool *pool, size_t keep)
{
    if (!pool->page_size)
        return release_segments(pool, keep);
    size_t released = release_idle(pool, keep);
    const uint64_t now = reserved(pool);
    if (now > keep) {
        const size_t pages =
            (size_t)(now - keep + pool->page_size - 1) / pool->page_size;
        make_idle(pool, pages * pool->page_size, false);
        released += release_idle(pool, keep);
    }
    return released;
}

/* Bytes that the driver may still give: what the limit leaves of what it says is
 * free. If it does not say, nothing. */
static size_t room_to_grow(kolk_pool *pool)
{
    size_t free, total;
    const size_t limit = atomic_load(&pool->limit);
    const uint64_t now = reserved(pool);
    if (limit && now >= limit)
        return 0;
    if (kolk_driver_memory_info(pool, &free, &total) != KOLK_OK)
        return 0;
    return limit ? least(free, limit - (size_t)now) : free;
}

static size_t held_idle(kolk_pool *pool)
{
    kolk_lock_acquire(&pool->heap.lock);
    const size_t bytes = pool->heap.idle_count * pool->page_size;
    kolk_lock_release(&pool->heap.lock);
    return bytes;
}

/* Where the limit does not stand in the way, the driver does. */
static bool remap_plain(kolk_pool *pool, size_t bytes)
{
    const size_t limit = atomic_load(&pool->limit);
    return release_segments(pool, limit > bytes ? limit - bytes : 0) > 0 ||
           release_segments(pool, 0) > 0;
}

bool kolk_heap_remap(kolk_pool *pool, size_t bytes)
{
    if (!pool->page_size)
        return remap_plain(pool, bytes);
    const size_t idle = held_idle(pool);
    if (idle < bytes && make_idle(pool, bytes - idle, true))
        return true;
    const size_t have = idle + room_to_grow(pool) / pool->page_size * pool->page_size;
    return have < bytes && make_idle(pool, bytes - have, true);
}

/* ---- the end ---- */

static void unmap_block(kolk_pool *pool, const kolk_segment *segment,
                        const kolk_block *block)
{
    kolk_annotate_unmapping(pool, block->address, kolk_block_bytes(block));
    for (uintptr_t at = first_page(pool, segment, block); at < kolk_block_end(block);
         at += pool->page_size) {
        (void)kolk_driver_page_unmap(pool, at);
        (void)kolk_driver_page_release(
            pool, segment->pages[kolk_page_number(pool, segment, at)]);
    }
}

static void dismantle_paged(kolk_pool *pool, const kolk_segment *segment)
{
    for (const kolk_block *block = segment->first; block != &segment->end;
         block = block->next)
        if (kolk_block_state_of(block) != KOLK_STATE_UNMAPPED)
            unmap_block(pool, segment, block);
    (void)kolk_driver_range_free(pool, segment->base, segment->size);
}

/* Of blocks that nobody could reclaim, such as a capture's. */
static void drop_chunks(kolk_heap *heap, const kolk_segment *segment)
{
    for (const kolk_block *block = segment->first; block != &segment->end;
         block = block->next)
        if (block->area == KOLK_AREA_SMALL && block->address % KOLK_CHUNK == 0)
            kolk_map_drop_chunk(&heap->map, block->address);
}

void kolk_heap_dismantle(kolk_pool *pool)
{
    kolk_heap *const heap = &pool->heap;
    const bool reachable = !(kolk_pool_flags(pool) & KOLK_POOL_FORKED);
    while (heap->segments) {
        kolk_segment *const segment = heap->segments;
        heap->segments = segment->next;
        drop_chunks(heap, segment);
        if (reachable && segment->pages)
            dismantle_paged(pool, segment);
        else if (reachable) {
            kolk_annotate_unmapping(pool, segment->base, segment->size);
            (void)kolk_driver_memory_free(pool, segment->base);
        }
        kolk_segment_forget(segment);
    }
    while (reachable && heap->idle_count)
        (void)kolk_driver_page_release(pool, heap->idle_pages[--heap->idle_count]);
    kolk_host_free(heap->idle_pages);
    heap->idle_pages = NULL;
}
