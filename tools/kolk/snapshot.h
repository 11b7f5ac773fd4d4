/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_SNAPSHOT_H
#define KOLK_TOOL_SNAPSHOT_H

/* A snapshot in memory: what read.c makes of a file, and what everything else
 * prints or checks. Reading promises types and ranges, no more: that the numbers
 * fit each other is what check.c looks at. */

#include <kolk/stats.h>

/* The highest version of the format that is understood. */
enum { KOLK_SNAPSHOT_READS = 1 };

enum {
    KOLK_TEXT_SIZE = 128,    /* bytes of a name with its NUL */
    KOLK_SNAPSHOT_TAGS = 64, /* kinds of tags in one file */
    KOLK_SNAPSHOT_CALLS = 64 /* kinds of driver calls */
};

#define KOLK_STATE_LIST(X)            \
    X(LIVE, "active_allocated")       \
    X(PENDING, "active_pending_free") \
    X(FREE, "inactive")               \
    X(UNMAPPED, "unmapped")

typedef enum kolk_state {
#define X(name, text) KOLK_STATE_##name,
    KOLK_STATE_LIST(X)
#undef X
} kolk_state;

enum { KOLK_STATES = KOLK_STATE_UNMAPPED + 1 };

/* Bytes and counts of the pool as a whole, in the order they are shown:
 * name here, key in the file, how a reader of a table calls it. */
#define KOLK_FLOW_LIST(X)                        \
    X(requested, "requested_bytes", "requested") \
    X(allocated, "allocated_bytes", "allocated") \
    X(active, "active_bytes", "active")          \
    X(reserved, "reserved_bytes", "reserved")    \
    X(blocks, "allocation", "blocks")            \
    X(segments, "segment", "segments")

#define KOLK_NUMBER_LIST(X)                         \
    X(allocs, "num_allocs")                         \
    X(frees, "num_frees")                           \
    X(hits, "num_hits")                             \
    X(misses, "num_misses")                         \
    X(retries, "num_alloc_retries")                 \
    X(ooms, "num_ooms")                             \
    X(misuses, "num_misuses")                       \
    X(cross_stream_waits, "num_cross_stream_waits") \
    X(retired, "retired_bytes")                     \
    X(largest_free, "largest_free_bytes")           \
    X(unmapped, "unmapped_bytes")                   \
    X(address_space, "address_space_bytes")         \
    X(bookkeeping, "bookkeeping_bytes")

typedef struct kolk_snapshot_block {
    uint64_t address, size;
    uint64_t requested, stream;
    kolk_state state;
    unsigned tag; /* index into the snapshot's tags */
} kolk_snapshot_block;

typedef struct kolk_snapshot_segment {
    uint64_t address, size, mapped;
    bool is_expandable;
    size_t block_count;
    kolk_snapshot_block *blocks;
} kolk_snapshot_segment;

typedef struct kolk_snapshot_bin {
    uint64_t size, blocks, free, hits, misses;
} kolk_snapshot_bin;

typedef struct kolk_snapshot_stream {
    uint64_t id, requested, allocated, cached, pending;
    uint64_t allocs, frees, hits, misses;
    bool is_closed;
} kolk_snapshot_stream;

typedef struct kolk_snapshot_tag {
    char name[KOLK_TEXT_SIZE];
    kolk_stat requested;
} kolk_snapshot_tag;

typedef struct kolk_snapshot_call {
    char kind[KOLK_TEXT_SIZE];
    uint64_t count, failed, nanoseconds;
} kolk_snapshot_call;

typedef struct kolk_snapshot {
    char library[KOLK_TEXT_SIZE];
    uint64_t version, time_us, process;

    char device_kind[KOLK_TEXT_SIZE], device_name[KOLK_TEXT_SIZE];
    uint64_t device_ordinal, device_total, device_page_size;
    bool device_is_integrated;

    char name[KOLK_TEXT_SIZE], policy[KOLK_TEXT_SIZE];
    uint64_t limit, page_size, address_space_size;
    double limit_fraction;
    bool no_pages, capture_safe, on_oom;

#define X(name, key, label) kolk_stat name;
    KOLK_FLOW_LIST(X)
#undef X
#define X(name, key) uint64_t name;
    KOLK_NUMBER_LIST(X)
#undef X

    size_t call_count, tag_count, bin_count, stream_count, segment_count;
    kolk_snapshot_call *calls;
    kolk_snapshot_tag *tags;
    kolk_snapshot_bin *bins;
    kolk_snapshot_stream *streams;
    kolk_snapshot_segment *segment_rows;

    /* Bytes before the end mark: as the file says, and as it is. */
    uint64_t bytes_written, bytes_read;
} kolk_snapshot;

/* Why a text is no snapshot. */
typedef struct kolk_complaint {
    size_t offset; /* bytes from the start of the text */
    char reason[256];
} kolk_complaint;

/* Reads `size` bytes of hostile text. Takes memory and time in proportion to
 * `size`. NULL: `*why` is filled. */
kolk_snapshot *kolk_snapshot_parse(const char *text, size_t size, kolk_complaint *why);

void kolk_snapshot_destroy(kolk_snapshot **snapshot);

/* Free bytes that a trim could give back: whole pages, or whole segments. */
uint64_t kolk_snapshot_returnable(const kolk_snapshot *snapshot);

/* What the file calls a state. */
const char *kolk_state_name(kolk_state state);

#endif
