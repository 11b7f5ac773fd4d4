/* SPDX-License-Identifier: MIT */
#include "segment.h"
#include "annotate.h"
#include "counters.h"
#include "driver.h"
#include "heap.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>

kolk_segment *kolk_segment_of(const kolk_heap *heap, uintptr_t address)
{
    kolk_segment *segment = heap->segments;
    while (segment && address - segment->base >= segment->size)
        segment = segment->next;
    return segment;
}

void kolk_segment_forget(kolk_segment *segment)
{
    if (segment)
        kolk_host_free(segment->pages);
    kolk_host_free(segment);
}

/* The host side of a segment, filed nowhere yet; NULL without host memory. */
static kolk_segment *new_segment(size_t size, size_t page_size)
{
    kolk_segment *const segment = kolk_host_alloc(sizeof *segment);
    if (!segment)
        return NULL;
    segment->size = size;
    if (!page_size)
        return segment;
    segment->pages = kolk_host_alloc(size / page_size * sizeof *segment->pages);
    if (segment->pages)
        return segment;
    kolk_segment_forget(segment);
    return NULL;
}

static kolk_status no_room(size_t size)
{
    return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                     "the host has no memory to describe a segment of %zu bytes", size);
}

/* Files a segment as one BUSY block that covers it. */
static kolk_block *add(kolk_pool *pool, kolk_segment *segment)
{
    kolk_heap *const heap = &pool->heap;
    if (!kolk_slab_ensure(&heap->blocks, 1) ||
        !kolk_map_cover(&heap->map, segment->base, segment->size))
        return NULL;
    kolk_block *const block = kolk_slab_take(&heap->blocks);
    *block = (kolk_block){.address = segment->base, .class = KOLK_CLASS_COUNT};
    block->units = (uint32_t)(segment->size >> KOLK_UNIT_SHIFT);
    kolk_block_set_state(block, KOLK_STATE_BUSY);
    kolk_block_set_state(&segment->end, KOLK_STATE_BUSY);
    block->next = &segment->end;
    segment->end.prev = segment->first = block;
    segment->end.address = segment->base + segment->size;
    segment->next = heap->segments;
    heap->segments = segment;
    heap->segment_count++;
    heap->address_space += segment->size;
    kolk_gauge_add(&pool->counters.segments, 1);
    kolk_bump(&pool->counters.segments_total, 1);
    return block;
}

static void remove_segment(kolk_pool *pool, kolk_segment *segment)
{
    kolk_heap *const heap = &pool->heap;
    kolk_segment **at = &heap->segments;
    while (*at != segment)
        at = &(*at)->next;
    *at = segment->next;
    heap->segment_count--;
    heap->address_space -= segment->size;
    kolk_gauge_subtract(&pool->counters.segments, 1);
}

kolk_status kolk_segment_reserve(kolk_pool *pool, size_t size)
{
    kolk_segment *const segment = new_segment(size, pool->page_size);
    void *base;
    if (!segment)
        return no_room(size);
    const kolk_status status = kolk_driver_range_reserve(pool, size, &base);
    if (status != KOLK_OK) {
        kolk_segment_forget(segment);
        return status;
    }
    segment->base = (uintptr_t)base;
    kolk_lock_acquire(&pool->heap.lock);
    kolk_block *const block = add(pool, segment);
    if (block)
        kolk_heap_file_hole(&pool->heap, block);
    kolk_lock_release(&pool->heap.lock);
    if (block)
        return KOLK_OK;
    (void)kolk_driver_range_free(pool, segment->base, size);
    kolk_segment_forget(segment);
    return no_room(size);
}

kolk_status kolk_segment_alloc(kolk_pool *pool, size_t size, kolk_block **out)
{
    kolk_segment *const segment = new_segment(size, 0);
    void *base;
    if (!segment)
        return no_room(size);
    const kolk_status status = kolk_driver_memory_alloc(pool, size, &base);
    if (status != KOLK_OK) {
        kolk_segment_forget(segment);
        return status;
    }
    segment->base = (uintptr_t)base;
    segment->mapped = size;
    kolk_lock_acquire(&pool->heap.lock);
    kolk_block *const block = add(pool, segment);
    kolk_lock_release(&pool->heap.lock);
    if (block) {
        *out = block;
        return KOLK_OK;
    }
    (void)kolk_driver_memory_free(pool, segment->base);
    kolk_segment_forget(segment);
    return no_room(size);
}

static void withdraw(kolk_pool *pool, kolk_segment *segment, kolk_block *block)
{
    kolk_annotate_unmapping(pool, segment->base, segment->size);
    kolk_lock_acquire(&pool->heap.lock);
    assert(segment->first == block && block->next == &segment->end);
    remove_segment(pool, segment);
    kolk_block_set_state(block, KOLK_STATE_UNUSED);
    kolk_slab_give(&pool->heap.blocks, block);
    kolk_lock_release(&pool->heap.lock);
}

static void restore(kolk_pool *pool, kolk_segment *segment)
{
    kolk_annotate_mapped(pool, segment->base, segment->size);
    kolk_lock_acquire(&pool->heap.lock);
    kolk_block *const block = add(pool, segment);
    if (block)
        kolk_heap_file(&pool->heap, block);
    kolk_lock_release(&pool->heap.lock);
    if (!block)
        kolk_segment_forget(segment);
}

/* Off the list first: once it is free, another thread may be given its address. */
bool kolk_segment_free(kolk_pool *pool, kolk_block *block)
{
    kolk_lock_acquire(&pool->heap.lock);
    kolk_segment *const segment = kolk_segment_of(&pool->heap, block->address);
    kolk_lock_release(&pool->heap.lock);
    withdraw(pool, segment, block);
    const bool freed = kolk_driver_memory_free(pool, segment->base) == KOLK_OK;
    if (freed)
        kolk_segment_forget(segment);
    else
        restore(pool, segment);
    return freed;
}
