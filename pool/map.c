/* SPDX-License-Identifier: MIT */
#include "map.h"
#include <runtime/host_memory.h>

enum {
    ENTRY_SHIFT = 20,
    LEAF_BITS = 14,
    LEAF_COUNT = 1 << LEAF_BITS,
    ROOT_COUNT = 1 << (48 - ENTRY_SHIFT - LEAF_BITS),
    ENTRIES_PER_CHUNK = KOLK_CHUNK >> ENTRY_SHIFT,
    CHUNK_UNITS = KOLK_CHUNK / KOLK_UNIT
};

struct kolk_chunk {
    uintptr_t base;
    kolk_chunk *next; /* among the spares */
    _Atomic(kolk_block *) starts[CHUNK_UNITS];
};

/* A block, or a chunk with the lowest bit set. */
typedef atomic_uintptr_t entry;
enum { CHUNK_BIT = 1 };

struct kolk_map_leaf {
    entry entries[LEAF_COUNT];
};

bool kolk_map_init(kolk_map *map)
{
    *map = (kolk_map){.bytes = ROOT_COUNT * sizeof *map->leaves};
    map->leaves = kolk_host_alloc(map->bytes);
    return map->leaves != NULL;
}

static kolk_map_leaf *leaf_at(const kolk_map *map, size_t root)
{
    return atomic_load_explicit(&map->leaves[root], memory_order_acquire);
}

void kolk_map_fini(kolk_map *map)
{
    while (map->spare) {
        kolk_chunk *const chunk = map->spare;
        map->spare = chunk->next;
        kolk_host_free(chunk);
    }
    for (size_t root = 0; map->leaves && root < ROOT_COUNT; root++)
        kolk_host_free(leaf_at(map, root));
    kolk_host_free(map->leaves);
    *map = (kolk_map){0};
}

static bool add_leaf(kolk_map *map, size_t root)
{
    if (leaf_at(map, root))
        return true;
    kolk_map_leaf *const leaf = kolk_host_alloc(sizeof *leaf);
    if (!leaf)
        return false;
    map->bytes += sizeof *leaf;
    atomic_store_explicit(&map->leaves[root], leaf, memory_order_release);
    return true;
}

bool kolk_map_cover(kolk_map *map, uintptr_t base, size_t size)
{
    assert(size > 0);
    const size_t first = base >> (ENTRY_SHIFT + LEAF_BITS);
    const size_t last = (base + (size - 1)) >> (ENTRY_SHIFT + LEAF_BITS);
    if (last >= ROOT_COUNT)
        return false;
    for (size_t root = first; root <= last; root++)
        if (!add_leaf(map, root))
            return false;
    return true;
}

/* NULL where no segment was ever. */
static entry *entry_of(const kolk_map *map, uintptr_t address)
{
    const size_t number = address >> ENTRY_SHIFT;
    if (number >> LEAF_BITS >= ROOT_COUNT)
        return NULL;
    kolk_map_leaf *const leaf = leaf_at(map, number >> LEAF_BITS);
    return leaf ? &leaf->entries[number & (LEAF_COUNT - 1)] : NULL;
}

static uintptr_t read_entry(const kolk_map *map, uintptr_t address)
{
    entry *const at = entry_of(map, address);
    return at ? atomic_load_explicit(at, memory_order_acquire) : 0;
}

static void write_entry(kolk_map *map, uintptr_t address, uintptr_t value)
{
    atomic_store_explicit(entry_of(map, address), value, memory_order_release);
}

static kolk_chunk *chunk_of(uintptr_t value)
{
    return value & CHUNK_BIT ? (kolk_chunk *)(value - CHUNK_BIT) : NULL;
}

bool kolk_map_ensure_chunk(kolk_map *map)
{
    if (map->spare)
        return true;
    map->spare = kolk_host_alloc(sizeof *map->spare);
    if (map->spare)
        map->bytes += sizeof *map->spare;
    return map->spare != NULL;
}

void kolk_map_add_chunk(kolk_map *map, uintptr_t base)
{
    assert(base % KOLK_CHUNK == 0);
    kolk_chunk *const chunk = map->spare;
    map->spare = chunk->next;
    chunk->base = base;
    for (uintptr_t i = 0; i < ENTRIES_PER_CHUNK; i++)
        write_entry(map, base + (i << ENTRY_SHIFT), (uintptr_t)chunk + CHUNK_BIT);
}

void kolk_map_drop_chunk(kolk_map *map, uintptr_t base)
{
    kolk_chunk *const chunk = chunk_of(read_entry(map, base));
    assert(chunk && chunk->base == base);
    for (uintptr_t i = 0; i < ENTRIES_PER_CHUNK; i++)
        write_entry(map, base + (i << ENTRY_SHIFT), 0);
    chunk->next = map->spare;
    map->spare = chunk;
}

static _Atomic(kolk_block *) *start_of(kolk_chunk *chunk, uintptr_t address)
{
    return &chunk->starts[(address - chunk->base) >> KOLK_UNIT_SHIFT];
}

static kolk_block *read_start(kolk_chunk *chunk, uintptr_t address)
{
    return atomic_load_explicit(start_of(chunk, address), memory_order_acquire);
}

static void write(kolk_map *map, uintptr_t address, kolk_block *block)
{
    kolk_chunk *const chunk = chunk_of(read_entry(map, address));
    if (chunk)
        atomic_store_explicit(start_of(chunk, address), block, memory_order_release);
    else
        write_entry(map, address, (uintptr_t)block);
}

void kolk_map_add(kolk_map *map, kolk_block *block)
{
    write(map, block->address, block);
}

void kolk_map_drop(kolk_map *map, const kolk_block *block)
{
    assert(kolk_map_at(map, block->address) == block);
    write(map, block->address, NULL);
}

kolk_block *kolk_map_at(const kolk_map *map, uintptr_t address)
{
    const uintptr_t value = read_entry(map, address);
    kolk_chunk *const chunk = chunk_of(value);
    if (address % KOLK_UNIT)
        return NULL;
    kolk_block *const block = chunk ? read_start(chunk, address) : (kolk_block *)value;
    return block && block->address == address ? block : NULL;
}

static kolk_block *covering_in_chunk(kolk_chunk *chunk, uintptr_t address)
{
    for (uintptr_t at = address & ~(uintptr_t)(KOLK_UNIT - 1); at >= chunk->base;
         at -= KOLK_UNIT) {
        kolk_block *const block = read_start(chunk, at);
        if (block)
            return address < kolk_block_end(block) ? block : NULL;
    }
    return NULL;
}

kolk_block *kolk_map_covering(const kolk_map *map, uintptr_t address, uintptr_t lowest)
{
    kolk_chunk *const chunk = chunk_of(read_entry(map, address));
    if (chunk)
        return covering_in_chunk(chunk, address);
    const uintptr_t step = (uintptr_t)1 << ENTRY_SHIFT;
    for (uintptr_t at = address; at + step > lowest; at -= step) {
        const uintptr_t value = read_entry(map, at);
        kolk_block *const block = (kolk_block *)value;
        if (chunk_of(value))
            return NULL;
        if (block && block->address <= address)
            return address < kolk_block_end(block) ? block : NULL;
        if (at < step)
            return NULL;
    }
    return NULL;
}
