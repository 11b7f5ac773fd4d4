/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_MAP_H
#define KOLK_POOL_MAP_H

/* From an address to the block that starts there, in a few loads and no lock.
 *
 * A two-level table has one entry for each MiB of the 48-bit address space. A
 * large block is larger than a MiB, so at most one starts in each: the entry
 * is that block. Small blocks live in chunks, which are aligned to 2 MiB: the
 * entry is the chunk, whose own table has an entry per unit.
 *
 * Entries exist for blocks that are handed out whole: LIVE, PENDING, BINNED.
 * They are written under the heap's lock; readers must check what they find. */

#include "block.h"

enum { KOLK_CHUNK = 2 << 20 };

typedef struct kolk_chunk kolk_chunk;
typedef struct kolk_map_leaf kolk_map_leaf;

typedef struct kolk_map {
    _Atomic(kolk_map_leaf *) *leaves;
    kolk_chunk *spare; /* kept, since a reader may still look at one */
    size_t bytes;
} kolk_map;

bool kolk_map_init(kolk_map *map);
void kolk_map_fini(kolk_map *map);

/* Makes room for entries of [base, base + size). False: no host memory, or
 * addresses beyond 48 bits. */
bool kolk_map_cover(kolk_map *map, uintptr_t base, size_t size);

/* Makes the next add_chunk() possible. False: no host memory. */
bool kolk_map_ensure_chunk(kolk_map *map);

/* Declares [base, base + KOLK_CHUNK) a chunk, or not one any more. */
void kolk_map_add_chunk(kolk_map *map, uintptr_t base);
void kolk_map_drop_chunk(kolk_map *map, uintptr_t base);

void kolk_map_add(kolk_map *map, kolk_block *block);
void kolk_map_drop(kolk_map *map, const kolk_block *block);

/* The block that starts at `address`, or NULL. */
kolk_block *kolk_map_at(const kolk_map *map, uintptr_t address);

/* The block that covers `address`, or NULL. Under the heap's lock. */
kolk_block *kolk_map_covering(const kolk_map *map, uintptr_t address, uintptr_t lowest);

#endif
