/* SPDX-License-Identifier: MIT */
#include "heap.h"
#include <runtime/fail.h>

enum {
    CHUNK_UNITS = KOLK_CHUNK / KOLK_UNIT,
    CUTS_PER_CALL = 4 /* a chunk's lead and tail, a block's lead and tail */
};

void kolk_heap_init(kolk_heap *heap)
{
    *heap = (kolk_heap){0};
    kolk_slab_init(&heap->blocks, sizeof(kolk_block));
    kolk_slab_init(&heap->uses, sizeof(kolk_use));
    kolk_slab_init(&heap->fences, sizeof(kolk_fence));
}

void kolk_heap_fini(kolk_heap *heap)
{
    kolk_map_fini(&heap->map);
    kolk_slab_fini(&heap->fences);
    kolk_slab_fini(&heap->uses);
    kolk_slab_fini(&heap->blocks);
}

kolk_status kolk_heap_prepare(kolk_heap *heap)
{
    if (kolk_slab_ensure(&heap->blocks, CUTS_PER_CALL) &&
        kolk_map_ensure_chunk(&heap->map))
        return KOLK_OK;
    return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                     "the host has no memory for block descriptors");
}

/* So that a thread can tell its own changes from the others'. Wrong only by
 * pools it never asks about, and then it looks once more than needed. */
static _Thread_local uint64_t own_changes;

void kolk_heap_begin_change(kolk_heap *heap)
{
    heap->busy++;
}

void kolk_heap_end_change(kolk_heap *heap)
{
    heap->busy--;
    heap->changes++;
    own_changes++;
}

uint64_t kolk_heap_others_changes(kolk_heap *heap, uint32_t *out_busy)
{
    kolk_lock_acquire(&heap->lock);
    const uint64_t others = heap->changes - own_changes;
    *out_busy = heap->busy;
    kolk_lock_release(&heap->lock);
    return others;
}

bool kolk_heap_is_taken(const kolk_heap *heap, const kolk_block *block)
{
    return kolk_block_state_of(block) == KOLK_STATE_BUSY &&
           kolk_map_at(&heap->map, block->address) == block;
}

bool kolk_block_is_clean(const kolk_block *block)
{
    const kolk_cache *const cache = kolk_block_cache(block);
    return !cache || block->stamp < cache->completed;
}

static kolk_index *index_of(kolk_heap *heap, const kolk_block *block)
{
    kolk_cache *const cache = kolk_block_cache(block);
    return cache ? &cache->index[block->area] : &heap->clean[block->area];
}

void kolk_heap_unfile(kolk_heap *heap, kolk_block *block)
{
    if (kolk_block_state_of(block) == KOLK_STATE_UNMAPPED)
        kolk_index_remove(&heap->holes, block);
    else {
        assert(kolk_block_state_of(block) == KOLK_STATE_FREE);
        kolk_index_remove(index_of(heap, block), block);
    }
    kolk_block_set_state(block, KOLK_STATE_BUSY);
}

kolk_block *kolk_heap_cut(kolk_heap *heap, kolk_block *block, uint32_t units)
{
    assert(kolk_block_state_of(block) == KOLK_STATE_BUSY);
    assert(units > 0 && units < block->units);
    kolk_block *const rest = kolk_slab_take(&heap->blocks);
    rest->address = block->address + kolk_bytes_of(units);
    rest->units = block->units - units;
    rest->area = block->area;
    rest->stamp = block->stamp;
    rest->slack = 0;
    kolk_block_set_cache(rest, kolk_block_cache(block));
    kolk_block_set_state(rest, KOLK_STATE_BUSY);
    rest->prev = block;
    rest->next = block->next;
    rest->next->prev = rest;
    block->next = rest;
    block->units = units;
    return rest;
}

void kolk_heap_join(kolk_heap *heap, kolk_block *first, kolk_block *second)
{
    assert(first->next == second && kolk_block_end(first) == second->address);
    first->units += second->units;
    first->next = second->next;
    first->next->prev = first;
    kolk_block_set_state(second, KOLK_STATE_UNUSED);
    kolk_slab_give(&heap->blocks, second);
}

/* Memory that no stream uses any more should not look owned. */
static void settle(kolk_block *block)
{
    if (kolk_block_is_clean(block)) {
        kolk_block_set_cache(block, NULL);
        block->stamp = 0;
    }
}

static bool is_captured(const kolk_cache *cache)
{
    return cache && cache->captured;
}

/* Whether two neighbours may become one block, and if so, the owner of both. A
 * graph does not grow into its neighbours: it would keep them as long as it lives. */
static bool mergeable(const kolk_block *first, const kolk_block *second)
{
    if (first->area != second->area)
        return false;
    if (first->area == KOLK_AREA_SMALL && second->address % KOLK_CHUNK == 0)
        return false;
    const kolk_cache *const a = kolk_block_cache(first), *const b =
                                                             kolk_block_cache(second);
    if (a == b)
        return true;
    return !is_captured(a) && !is_captured(b) &&
           (kolk_block_is_clean(first) || kolk_block_is_clean(second));
}

static void merge(kolk_heap *heap, kolk_block *first, kolk_block *second)
{
    settle(first);
    settle(second);
    kolk_cache *const a = kolk_block_cache(first), *const b = kolk_block_cache(second);
    assert(a == b || !a || !b);
    kolk_block_set_cache(first, a ? a : b);
    if (second->stamp > first->stamp)
        first->stamp = second->stamp;
    kolk_heap_join(heap, first, second);
}

static bool joins(const kolk_block *first, const kolk_block *second,
                  const kolk_block *neighbour)
{
    return neighbour && kolk_block_state_of(neighbour) == KOLK_STATE_FREE &&
           mergeable(first, second);
}

/* More than one neighbour on a side: when one has become clean it can go over to
 * the owner of both of its own neighbours. */
static kolk_block *merge_neighbours(kolk_heap *heap, kolk_block *block)
{
    while (joins(block, block->next, block->next)) {
        kolk_heap_unfile(heap, block->next);
        merge(heap, block, block->next);
    }
    while (joins(block->prev, block, block->prev)) {
        kolk_block *const prev = block->prev;
        kolk_heap_unfile(heap, prev);
        merge(heap, prev, block);
        block = prev;
    }
    return block;
}

static bool is_whole_chunk(const kolk_block *block)
{
    return block->area == KOLK_AREA_SMALL && block->units == CHUNK_UNITS &&
           block->address % KOLK_CHUNK == 0;
}

void kolk_heap_file(kolk_heap *heap, kolk_block *block)
{
    assert(kolk_block_state_of(block) == KOLK_STATE_BUSY);
    settle(block);
    block = merge_neighbours(heap, block);
    if (is_whole_chunk(block)) {
        kolk_map_drop_chunk(&heap->map, block->address);
        block->area = KOLK_AREA_LARGE;
        block = merge_neighbours(heap, block);
    }
    kolk_block_set_state(block, KOLK_STATE_FREE);
    kolk_index_insert(index_of(heap, block), block);
}

void kolk_heap_file_hole(kolk_heap *heap, kolk_block *block)
{
    kolk_block *const next = block->next, *const prev = block->prev;
    kolk_block_set_cache(block, NULL);
    block->area = KOLK_AREA_LARGE;
    block->stamp = 0;
    if (kolk_block_state_of(next) == KOLK_STATE_UNMAPPED) {
        kolk_heap_unfile(heap, next);
        kolk_heap_join(heap, block, next);
    }
    if (prev && kolk_block_state_of(prev) == KOLK_STATE_UNMAPPED) {
        kolk_heap_unfile(heap, prev);
        kolk_heap_join(heap, prev, block);
        block = prev;
    }
    kolk_block_set_state(block, KOLK_STATE_UNMAPPED);
    kolk_index_insert(&heap->holes, block);
}

void kolk_heap_give(kolk_heap *heap, kolk_block *block, kolk_cache *owner,
                    uint64_t stamp)
{
    kolk_map_drop(&heap->map, block);
    kolk_block_set_cache(block, owner);
    kolk_block_set_state(block, KOLK_STATE_BUSY);
    block->stamp = stamp;
    kolk_heap_file(heap, block);
}

/* The part of a BUSY block that starts at the alignment and has `units`; what
 * is before and after it is filed again. */
static kolk_block *trim_to(kolk_heap *heap, kolk_block *block, uint32_t units,
                           size_t alignment)
{
    const uintptr_t start = (block->address + alignment - 1) & ~(alignment - 1);
    if (start != block->address) {
        kolk_block *const lead = block;
        block = kolk_heap_cut(heap, lead, kolk_units_of(start - lead->address));
        kolk_heap_file(heap, lead);
    }
    if (block->units > units)
        kolk_heap_file(heap, kolk_heap_cut(heap, block, units));
    return block;
}

static kolk_block *make_chunk(kolk_heap *heap, kolk_block *block)
{
    block = trim_to(heap, block, CHUNK_UNITS, KOLK_CHUNK);
    kolk_map_add_chunk(&heap->map, block->address);
    block->area = KOLK_AREA_SMALL;
    return block;
}

kolk_block *kolk_heap_carve(kolk_heap *heap, kolk_block *block, uint32_t units,
                            size_t alignment)
{
    if (block->area != kolk_area_of(units))
        block = make_chunk(heap, block);
    block = trim_to(heap, block, units, alignment);
    kolk_map_add(&heap->map, block);
    return block;
}

/* Cuts `units` out of a block of the index, or says that it has none. */
static kolk_block *take(kolk_heap *heap, const kolk_index *index, uint32_t units,
                        size_t alignment, bool thorough)
{
    const kolk_area area = kolk_area_of(units);
    kolk_block *const block = kolk_index_find(&index[area], units, alignment, thorough);
    if (!block)
        return NULL;
    kolk_heap_unfile(heap, block);
    return kolk_heap_carve(heap, block, units, alignment);
}

/* Likewise, out of a new chunk of large memory when no chunk has room. */
static kolk_block *take_in_new_chunk(kolk_heap *heap, const kolk_index *index,
                                     uint32_t units, size_t alignment, bool thorough)
{
    if (kolk_area_of(units) != KOLK_AREA_SMALL)
        return NULL;
    kolk_block *const block =
        kolk_index_find(&index[KOLK_AREA_LARGE], CHUNK_UNITS, KOLK_CHUNK, thorough);
    if (!block)
        return NULL;
    kolk_heap_unfile(heap, block);
    return kolk_heap_carve(heap, block, units, alignment);
}

kolk_block *kolk_heap_take(kolk_heap *heap, kolk_cache *cache, uint32_t units,
                           size_t alignment, bool thorough)
{
    kolk_block *block = take(heap, cache->index, units, alignment, thorough);
    if (!block)
        block = take(heap, heap->clean, units, alignment, thorough);
    if (!block)
        block = take_in_new_chunk(heap, cache->index, units, alignment, thorough);
    if (!block)
        block = take_in_new_chunk(heap, heap->clean, units, alignment, thorough);
    return block;
}

/* What a request of `units` needs in one piece of the area it is cut from. */
kolk_block *kolk_heap_find_in(const kolk_cache *owner, uint32_t units, size_t alignment)
{
    const kolk_area area = kolk_area_of(units);
    kolk_block *const block =
        kolk_index_find(&owner->index[area], units, alignment, true);
    if (block || area == KOLK_AREA_LARGE)
        return block;
    return kolk_index_find(&owner->index[KOLK_AREA_LARGE], CHUNK_UNITS, KOLK_CHUNK,
                           true);
}
