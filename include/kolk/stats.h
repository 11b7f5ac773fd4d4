/* SPDX-License-Identifier: MIT */
#ifndef KOLK_STATS_H
#define KOLK_STATS_H

/** @file
 * What a pool holds and what it did. Counters are always on; reading them sums
 * a few numbers. A snapshot walks every block and writes a file for the `kolk`
 * tool.
 *
 * Identities that hold whenever no call is under way:
 * requested <= allocated <= active <= reserved, and peak >= current in each.
 *
 * Threads: any. Numbers read while other threads allocate may be some calls
 * apart from each other; kolk_pool_snapshot_write() stops the pool instead.
 */

#include <kolk/pool.h>

KOLK_BEGIN

/** One quantity over the pool's life. current == allocated - freed. */
typedef struct kolk_stat {
    uint64_t current;
    uint64_t peak;
    uint64_t allocated; /**< sum of all increases */
    uint64_t freed;     /**< sum of all decreases */
} kolk_stat;

/** Calls a pool makes to the driver, by kind. Append, never renumber. */
#define KOLK_CALL_LIST(X)                         \
    X(PAGE_CREATE, 0, "page_create")              \
    X(PAGE_RELEASE, 1, "page_release")            \
    X(PAGE_MAP, 2, "page_map")                    \
    X(PAGE_UNMAP, 3, "page_unmap")                \
    X(RANGE_RESERVE, 4, "range_reserve")          \
    X(RANGE_FREE, 5, "range_free")                \
    X(MEMORY_ALLOC, 6, "memory_alloc")            \
    X(MEMORY_FREE, 7, "memory_free")              \
    X(MEMORY_INFO, 8, "memory_info")              \
    X(EVENT_CREATE, 9, "event_create")            \
    X(EVENT_DESTROY, 10, "event_destroy")         \
    X(EVENT_RECORD, 11, "event_record")           \
    X(EVENT_QUERY, 12, "event_query")             \
    X(EVENT_SYNCHRONIZE, 13, "event_synchronize") \
    X(STREAM_WAIT, 14, "stream_wait")             \
    X(STREAM_CAPTURE, 15, "stream_capture")       \
    X(DEVICE_SYNCHRONIZE, 16, "device_synchronize")

typedef enum kolk_call {
#define X(name, value, text) KOLK_CALL_##name = value,
    KOLK_CALL_LIST(X)
#undef X
} kolk_call;

enum { KOLK_CALL_COUNT = KOLK_CALL_DEVICE_SYNCHRONIZE + 1 };

typedef struct kolk_call_stat {
    uint64_t count;
    uint64_t failed;
    uint64_t nanoseconds; /**< host time spent in them */
} kolk_call_stat;

typedef struct kolk_pool_stats {
    kolk_stat requested; /**< bytes callers asked for, in live blocks */
    kolk_stat allocated; /**< bytes of live blocks */
    kolk_stat active;    /**< allocated, and freed but waiting for a stream */
    kolk_stat reserved;  /**< bytes taken from the driver */
    kolk_stat blocks;    /**< live blocks */
    kolk_stat segments;  /**< runs of address space */

    uint64_t allocs; /**< calls that gave memory, size 0 not counted */
    uint64_t frees;
    uint64_t hits;    /**< served at once from the stream's own or clean memory */
    uint64_t misses;  /**< the other requests, failed ones too */
    uint64_t retries; /**< requests that had to climb past GROW */
    uint64_t ooms;    /**< requests that failed for lack of memory */
    uint64_t misuses; /**< frees refused */
    uint64_t cross_stream_waits; /**< device-side waits inserted */
    uint64_t retired;            /**< bytes that can never be reused: a fence failed */
    uint64_t largest_free;       /**< bytes in one piece, exact to 3 % */
    uint64_t unmapped;           /**< bytes of pages held but mapped nowhere */
    uint64_t address_space;      /**< bytes of addresses reserved */
    uint64_t bookkeeping;        /**< bytes of host memory the pool uses */
    kolk_stat tags[KOLK_TAG_COUNT]; /**< requested bytes by tag */
    kolk_call_stat calls[KOLK_CALL_COUNT];
} kolk_pool_stats;

KOLK_API kolk_pool_stats kolk_pool_stats_of(const kolk_pool *pool) KOLK_NONNULL;

/** Driver calls of all kinds together. */
KOLK_API uint64_t kolk_pool_driver_calls(const kolk_pool *pool) KOLK_NONNULL;

KOLK_API const char *kolk_call_name(kolk_call call);

/** Highest values inside a scope, bytes. */
typedef struct kolk_peaks {
    uint64_t requested, allocated, active, reserved;
} kolk_peaks;

/** Opens a scope whose peaks start from the current values. Scopes nest, at
 * most 16 deep: OUT_OF_RANGE beyond. */
KOLK_FALLIBLE kolk_pool_peak_begin(kolk_pool *pool) KOLK_NONNULL;

/** Closes the innermost scope; an outer one saw its peaks too. `out` may be
 * NULL. INVALID_ARGUMENT if none is open. */
KOLK_FALLIBLE kolk_pool_peak_end(kolk_pool *pool, kolk_peaks *out) KOLK_NONNULL_AT(1);

/** Sets the peaks of the pool's life, and of the scopes open now, to the current
 * values. */
KOLK_API void kolk_pool_reset_peaks(kolk_pool *pool) KOLK_NONNULL;

/**
 * Writes the pool's whole state to `path`: a JSON text, format in the manual
 * page kolk-snapshot(5). The pool stands still while it is walked, not while
 * the file is written. IO names the path and the system's reason; a file that
 * could not be finished is removed.
 */
KOLK_FALLIBLE kolk_pool_snapshot_write(kolk_pool *pool, const char *path) KOLK_NONNULL;

KOLK_END

#endif
