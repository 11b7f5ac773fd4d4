/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_CORE_H
#define KOLK_POOL_CORE_H

/* What a pool is made of.
 *
 *   kolk_pool    one device's memory, its heap and its streams' caches
 *   kolk_heap    segments, the blocks that tile them, free memory no stream uses
 *   kolk_cache   the pool's side of one stream: bins, index, fences, counters
 *   kolk_fence   an event that ends one epoch of a stream
 *
 * Locks, in the order they are taken: a cache's, then the heap's. Caches are
 * locked one at a time, but for a pool that is frozen (freeze.c): all of them
 * in the order of the registry. The lock of the peaks' scopes comes last. No
 * driver call is made, and no user code runs, while one is held.
 *
 * Epochs. Every free on a stream is stamped with the stream's current epoch.
 * Taking a fence ends the epoch under the locks and then, with no lock held,
 * records an event; so the event of epoch e comes after every piece of work
 * that came before a free stamped e or less. When it is complete, so is all
 * that work, and the blocks belong to no stream. When another stream has been
 * made to wait for it, that stream may use the blocks at once. */

#include "index.h"
#include "map.h"
#include "slab.h"
#include <kolk/stats.h>
#include <runtime/backend.h>
#include <runtime/lock.h>
#include <runtime/stream.h>

/* ---- counters.c ---- */

/* A quantity with its peak; written by any thread. */
typedef struct kolk_gauge {
    atomic_uint_least64_t current, peak;
} kolk_gauge;

typedef struct kolk_call_count {
    atomic_uint_least64_t count, failed, nanoseconds;
} kolk_call_count;

typedef struct kolk_counters {
    kolk_gauge requested, allocated, active, reserved, blocks, segments;
    kolk_gauge tags[KOLK_TAG_COUNT];
    atomic_uint_least64_t reserved_total, segments_total; /* sums of increases */
    atomic_uint_least64_t
        active_extra; /* bytes that became active without an allocation */
    atomic_uint_least64_t retries, ooms, misuses, waits, retired;
    kolk_call_count calls[KOLK_CALL_COUNT];
} kolk_counters;

/* ---- cache.c ---- */

typedef struct kolk_bin {
    kolk_block *top; /* linked by list.after */
    uint32_t count;
    uint64_t hits, misses;
} kolk_bin;

/* Totals over the cache's life, under its lock. */
typedef struct kolk_totals {
    uint64_t allocs, frees, hits, misses;
    uint64_t requested, allocated; /* bytes, summed over allocs */
    uint64_t requested_freed, allocated_freed;
    uint64_t tags[KOLK_TAG_COUNT];
} kolk_totals;

typedef struct kolk_fence {
    struct kolk_fence *next; /* in the cache's queue, oldest first */
    uint64_t epoch;          /* the one it ends */
    kolk_event *event;       /* NULL until it is recorded */
    kolk_use *uses;          /* records that its completion closes */
    uint32_t borrowed;       /* threads that look at the event with no lock held */
    bool done;
} kolk_fence;

enum { KOLK_BIN_BLOCKS = 64, KOLK_BIN_BYTES = 8 << 20 };

struct kolk_cache {
    kolk_lock lock;
    kolk_pool *pool;
    atomic_uint_least64_t stream_id;
    kolk_bin bins[KOLK_CLASS_COUNT];
    uint64_t binned; /* bytes in the bins */
    kolk_totals totals;
    atomic_uint_least64_t epoch; /* written under both locks, read under either */

    /* Under the heap's lock from here. */
    kolk_index index[KOLK_AREA_COUNT];
    kolk_stream *stream; /* NULL once it is destroyed */
    uint32_t borrowed;   /* threads that use `stream` with no lock held */
    bool closed;         /* destroyed: the last fence ends its last epoch */
    bool orphaned;       /* no fence could be taken: only an idle device tells */
    bool captured;       /* belongs to a graph: nobody else takes from it */
    uint64_t completed;  /* epochs below this are known complete */
    uint64_t harvested;  /* what `completed` was when clean blocks were last filed so */
    kolk_fence *oldest, *newest;
    kolk_use *open; /* uses no fence covers yet */
    uint32_t open_count;
    uint64_t pending; /* bytes of blocks of this cache in state PENDING */
    uint64_t *seen;   /* by cache number: epochs of it this stream is ordered after */
    size_t seen_count;
    size_t number; /* position in the registry */
    kolk_stream_observer observer;
    atomic_bool observed;
};

/* ---- heap.c ---- */

typedef struct kolk_segment {
    struct kolk_segment *next;
    uintptr_t base;
    size_t size;
    kolk_block *first;
    kolk_block end;  /* after the last block, of no size, never free */
    uint64_t *pages; /* handle of each mapped page; NULL: a plain allocation */
    size_t mapped;   /* bytes */
} kolk_segment;

typedef struct kolk_heap {
    kolk_lock lock;
    kolk_index clean[KOLK_AREA_COUNT]; /* free, used by no stream */
    kolk_index holes;                  /* addresses without memory */
    kolk_segment *segments;
    size_t segment_count;
    size_t address_space;
    uint64_t *idle_pages; /* physical pages mapped nowhere, a stack */
    size_t idle_count, idle_room;
    uint64_t reserved; /* bytes taken from the driver, or about to be */
    uint32_t busy;     /* threads between two halves of a change */
    uint64_t changes;  /* counts finished ones */
    kolk_slab blocks, uses, fences;
    kolk_map map;
} kolk_heap;

/* ---- pool.c ---- */

typedef struct kolk_cache_table kolk_cache_table;

/* Reasons to leave the fast path, as bits. */
enum { KOLK_POOL_CLOSING = 1, KOLK_POOL_FORKED = 2, KOLK_POOL_CAPTURING = 4 };

struct kolk_pool {
    kolk_heap heap;
    atomic_uint flags;
    _Atomic(kolk_cache_table *) table;
    kolk_cache **caches; /* the registry, grows; under the heap's lock */
    size_t cache_count, cache_room;
    kolk_device device;
    kolk_device_info info;
    kolk_pool_config config;
    atomic_size_t limit;
    size_t page_size; /* 0: plain segments */
    kolk_stream *default_stream;
    kolk_capture *captures;
    kolk_totals past; /* of caches that now serve another stream; heap's lock */
    atomic_uint_least64_t remaining; /* live blocks once the owner has let go */
    kolk_counters counters;
    kolk_lock scope_lock;
    int scope_depth;
    kolk_peaks scopes[16];
    kolk_pool *next, *previous; /* all pools of the process (freeze.c) */
};

static inline unsigned kolk_pool_flags(const kolk_pool *pool)
{
    return atomic_load_explicit(&pool->flags, memory_order_relaxed);
}

static inline uint64_t kolk_cache_stream_id(const kolk_cache *cache)
{
    return atomic_load_explicit(&cache->stream_id, memory_order_relaxed);
}

static inline uint64_t kolk_cache_epoch(const kolk_cache *cache)
{
    return atomic_load_explicit(&cache->epoch, memory_order_relaxed);
}

#endif
