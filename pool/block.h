/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_BLOCK_H
#define KOLK_POOL_BLOCK_H

/* The descriptor of a piece of a segment: one cache line, never in the memory
 * it describes, since the host cannot read that of a device.
 *
 * Blocks of one segment form a list by address, `prev` and `next`, that tiles
 * it exactly. At any time a block is in one state:
 *
 *   LIVE      a caller has it. `cache` is the stream it was allocated for.
 *   PENDING   freed, but streams it was recorded on may still use it; the use
 *             records of those streams lead to it, `uses` counts them.
 *   BINNED    free, whole, on top of a bin of `cache`.
 *   FREE      free, in the index of `cache`, or of the heap when `cache` is
 *             NULL: such a block is clean, no stream uses it any more.
 *   UNMAPPED  addresses without memory, in the heap's index of holes.
 *   BUSY      in the hands of one thread that talks to the driver; on no list.
 *   UNUSED    a descriptor that describes nothing, in the slab.
 *
 * BINNED and FREE blocks with a cache carry a stamp: the epoch of that stream
 * in which they were freed. The fence that ends the epoch orders them.
 *
 * Who may touch what: `prev`, `next`, `size` and the lists of FREE and UNMAPPED
 * blocks belong to the heap's lock; a LIVE or BINNED block's other fields to
 * the lock of its cache. `cache` and `state` are read without a lock to refuse
 * a pointer that is not live, and checked again under it. */

#include "size_class.h"
#include <kolk/pool.h>
#include <stdatomic.h>

typedef struct kolk_cache kolk_cache;

typedef enum kolk_state {
    KOLK_STATE_UNUSED,
    KOLK_STATE_LIVE,
    KOLK_STATE_PENDING,
    KOLK_STATE_BINNED,
    KOLK_STATE_FREE,
    KOLK_STATE_UNMAPPED,
    KOLK_STATE_BUSY
} kolk_state;

/* Small blocks live in chunks of one page apart from the large ones, so that
 * a long-lived small block does not pin a large hole. */
typedef enum kolk_area { KOLK_AREA_LARGE, KOLK_AREA_SMALL } kolk_area;
enum { KOLK_AREA_COUNT = 2 };

typedef struct kolk_use kolk_use;

struct kolk_block {
    uintptr_t address;
    uint32_t units;
    uint32_t slack; /* LIVE, PENDING: bytes of the block nobody asked for */
    _Atomic(kolk_cache *) cache;
    atomic_uchar state;
    uint8_t area;
    uint8_t tag;
    uint8_t class;    /* bin it goes to when freed; KOLK_CLASS_COUNT: none */
    uint32_t pending; /* PENDING: use records still open */
    kolk_block *prev, *next;
    union {
        struct {
            kolk_block *before, *after;
        } list;         /* BINNED, FREE, UNMAPPED, UNUSED */
        kolk_use *uses; /* LIVE, PENDING: streams it was recorded on */
    };
    uint64_t stamp; /* BINNED, FREE */
};

/* That `block` was used on the stream of `cache`, and is to be held until the
 * next fence there. One chain per block while it lives; afterwards the record
 * waits in the chain of its stream. */
struct kolk_use {
    kolk_use *next; /* in the block's chain, then in the stream's */
    kolk_block *block;
    kolk_cache *cache;
};

static inline kolk_state kolk_block_state_of(const kolk_block *block)
{
    return (kolk_state)atomic_load_explicit(&block->state, memory_order_relaxed);
}

static inline void kolk_block_set_state(kolk_block *block, kolk_state state)
{
    atomic_store_explicit(&block->state, (unsigned char)state, memory_order_relaxed);
}

static inline kolk_cache *kolk_block_cache(const kolk_block *block)
{
    return atomic_load_explicit(&block->cache, memory_order_relaxed);
}

static inline void kolk_block_set_cache(kolk_block *block, kolk_cache *cache)
{
    atomic_store_explicit(&block->cache, cache, memory_order_relaxed);
}

static inline size_t kolk_block_bytes(const kolk_block *block)
{
    return kolk_bytes_of(block->units);
}

static inline size_t kolk_block_requested(const kolk_block *block)
{
    return kolk_block_bytes(block) - block->slack;
}

static inline uintptr_t kolk_block_end(const kolk_block *block)
{
    return block->address + kolk_block_bytes(block);
}

#endif
