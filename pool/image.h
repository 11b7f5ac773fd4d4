/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_IMAGE_H
#define KOLK_POOL_IMAGE_H

/* A copy of a pool's whole state at one instant, in plain rows. The pool fills
 * it while it stands still (image.c); the snapshot writer prints it afterwards
 * with nothing locked (snapshot.c). Rows are sorted by address or id. */

#include <kolk/stats.h>

#define KOLK_BLOCK_STATE_LIST(X)                                                \
    X(LIVE, "active_allocated")       /* a caller has it */                     \
    X(PENDING, "active_pending_free") /* freed, a stream still uses it */       \
    X(FREE, "inactive")               /* reusable; `stream` owns it, 0: none */ \
    X(UNMAPPED, "unmapped")           /* addresses with no memory behind */

typedef enum kolk_block_state {
#define X(name, text) KOLK_BLOCK_##name,
    KOLK_BLOCK_STATE_LIST(X)
#undef X
} kolk_block_state;

typedef struct kolk_block_row {
    uint64_t address, size;
    uint64_t requested; /* bytes; 0 unless LIVE or PENDING */
    uint64_t stream;    /* id; 0: none */
    kolk_block_state state;
    kolk_tag tag;
} kolk_block_row;

/* Blocks [first_block, first_block + block_count) tile it exactly. */
typedef struct kolk_segment_row {
    uint64_t address, size;
    uint64_t mapped; /* bytes with memory behind them */
    bool paged;      /* a range of pages; otherwise one plain allocation */
    size_t first_block, block_count;
} kolk_segment_row;

/* One size class of the streams' bins, summed over streams. */
typedef struct kolk_bin_row {
    uint64_t size;         /* bytes of a block */
    uint64_t blocks, free; /* cut to this size: in all, and in bins */
    uint64_t hits, misses;
} kolk_bin_row;

typedef struct kolk_stream_row {
    uint64_t id;
    uint64_t requested, allocated; /* bytes live that were taken for it */
    uint64_t cached, pending;      /* bytes it owns free, and freed but not done */
    uint64_t allocs, frees, hits, misses;
    bool closed; /* the stream has been destroyed */
} kolk_stream_row;

typedef struct kolk_pool_image {
    kolk_device device;
    kolk_device_info info;
    kolk_pool_config config;
    kolk_pool_stats stats;
    int64_t time_us; /* since the epoch */
    int process;
    size_t segment_count, block_count, bin_count, stream_count;
    kolk_segment_row *segments;
    kolk_block_row *blocks;
    kolk_bin_row *bins;
    kolk_stream_row *streams;
} kolk_pool_image;

/* OUT_OF_HOST_MEMORY if there is no room for the rows. */
kolk_status kolk_pool_image_take(kolk_pool *pool, kolk_pool_image **out);
void kolk_pool_image_destroy(kolk_pool_image **image);

#endif
