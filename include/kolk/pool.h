/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_H
#define KOLK_POOL_H

/** @file
 * The caching allocator: memory taken from one device, cut to size, and handed
 * back to the same stream without a device call. Two faces on one machinery:
 *
 *     kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
 *     KOLK_TRY(kolk_pool_create(kolk_cuda(0), NULL, &pool));
 *
 *     kolk_block *block KOLK_AUTO(kolk_block_free) = NULL;        handles
 *     KOLK_TRY(kolk_block_alloc(pool, 4096, stream, &block));
 *
 *     float *p = kolk_malloc(pool, 4096, stream);                 pointers
 *     KOLK_TRY(kolk_free(pool, p, stream));
 *
 * Order: memory is ready for work queued on the stream it was allocated for.
 * A free takes its place in that stream: the memory may be reused at once by
 * the same stream, and by another only when that stream is ordered after all
 * work the pool was told of. A NULL stream is the device's default stream.
 *
 * Every pointer is aligned to 256 bytes at least. Size 0 succeeds, costs
 * nothing, and its pointer is NULL.
 *
 * Threads: a pool may be used from any thread at once. A block may be handed
 * from thread to thread but not used by two of them without your own lock.
 * Blocks may outlive their owner's hold on the pool. In the child of a fork a
 * host pool goes on working, a CUDA pool fails every call and frees nothing.
 */

#include <kolk/stream.h>

KOLK_BEGIN

typedef struct kolk_pool kolk_pool;

/** One live allocation. Opaque: it cannot be copied, only moved or freed. */
typedef struct kolk_block kolk_block;

/** What memory is for; statistics are kept by tag. Append, never renumber. */
#define KOLK_TAG_LIST(X)             \
    X(OTHER, 0, "other")             \
    X(WEIGHTS, 1, "weights")         \
    X(GRADS, 2, "grads")             \
    X(ACTIVATIONS, 3, "activations") \
    X(OPTIMIZER, 4, "optimizer")     \
    X(WORKSPACE, 5, "workspace")     \
    X(DATA, 6, "data")

typedef enum kolk_tag {
#define X(name, value, text) KOLK_TAG_##name = value,
    KOLK_TAG_LIST(X)
#undef X
} kolk_tag;

enum { KOLK_TAG_COUNT = KOLK_TAG_DATA + 1 };

/** Lower-case name of a tag; "?" if unknown. */
KOLK_API const char *kolk_tag_name(kolk_tag tag);

/** What the pool does when its own memory does not hold a request. */
typedef enum kolk_policy {
    KOLK_PREFER_SPEED = 0, /**< take more from the device while the limit allows */
    KOLK_PREFER_MEMORY = 1 /**< first reuse other streams' memory behind a wait */
} kolk_policy;

/** Rungs of the out-of-memory ladder, as bits of kolk_oom.rungs. */
#define KOLK_RUNG_LIST(X)                                                     \
    X(CACHED, 0, "searched the stream's own memory")                          \
    X(COMPLETED, 1, "searched memory of streams whose work is complete")      \
    X(GROW, 2, "asked the device for more")                                   \
    X(ORDERED, 3, "searched other streams' memory behind a device-side wait") \
    X(REMAP, 4, "moved idle pages to where they are needed")                  \
    X(CALLBACK, 5, "asked the out-of-memory callback")                        \
    X(WAIT, 6, "waited for pending work")

typedef enum kolk_rung {
#define X(name, value, text) KOLK_RUNG_##name = value,
    KOLK_RUNG_LIST(X)
#undef X
} kolk_rung;

/** Why a request could not be served. All sizes in bytes. */
typedef struct kolk_oom {
    size_t requested;    /**< what the caller asked for */
    size_t rounded;      /**< what it needs after rounding */
    size_t limit;        /**< the pool's limit; 0: none */
    size_t reserved;     /**< taken from the device by this pool */
    size_t allocated;    /**< in blocks not yet freed */
    size_t active;       /**< allocated, or freed and waiting for a stream */
    size_t free;         /**< reserved and in no such block */
    size_t largest_free; /**< largest run of free bytes in one piece */
    size_t device_free;  /**< what the driver says is free, if it told */
    size_t device_total;
    bool has_device; /**< whether the driver told */
    int native;      /**< the driver's code when it refused, or 0 */
    unsigned rungs;  /**< 1 << kolk_rung of each rung that was taken */
} kolk_oom;

/**
 * Asked when everything but waiting has failed. Runs on the allocating thread
 * with no lock held; may free, trim or allocate, for which it is not asked in
 * turn. True: something was freed,
 * look again (at most 8 times per request); false: go on to the next rung.
 */
typedef bool (*kolk_oom_callback)(kolk_pool *pool, const kolk_oom *oom, void *arg);

/** Zero in any field asks for the default, so `{0}` and NULL both mean "all
 * defaults". kolk_pool_config_of() tells which numbers were chosen. */
typedef struct kolk_pool_config {
    size_t limit;          /**< device bytes never exceeded; none */
    double limit_fraction; /**< the same as a part of the device's memory, (0, 1] */
    kolk_policy policy;
    size_t page_size;     /**< bytes mapped at a time, a multiple of the device's */
    size_t address_space; /**< bytes of addresses reserved per segment */
    bool no_pages;        /**< plain device allocations instead of mapped pages */
    bool capture_safe;    /**< ask the driver at each call whether the stream is
                               being captured; otherwise use kolk_capture_begin() */
    kolk_oom_callback on_oom;
    void *on_oom_arg;
    char name[32]; /**< shown in dumps and errors */
} kolk_pool_config;

/** Makes an empty pool; no device memory is taken yet. NULL: all defaults.
 * INVALID_ARGUMENT names the field that makes no sense. */
KOLK_FALLIBLE kolk_pool_create(kolk_device device, const kolk_pool_config *config,
                               kolk_pool **out) KOLK_NONNULL_AT(3);

/**
 * Gives up the owner's hold on the pool and sets `*pool` to NULL; does nothing
 * if it is NULL.
 *
 * Waits for streams that still use freed blocks, then gives idle memory back.
 * Live blocks stay valid; the last one to be freed takes the pool with it.
 */
KOLK_API void kolk_pool_destroy(kolk_pool **pool) KOLK_NONNULL;

/** Moves: the new owner gets the handle, the old variable gets NULL. */
KOLK_NODISCARD KOLK_NONNULL static inline kolk_pool *kolk_pool_take(kolk_pool **from)
{
    kolk_pool *const moved = *from;
    *from = NULL;
    return moved;
}

/** The configuration in force, with every zero replaced. */
KOLK_API kolk_pool_config kolk_pool_config_of(const kolk_pool *pool) KOLK_NONNULL;

KOLK_API kolk_device kolk_pool_device(const kolk_pool *pool) KOLK_NONNULL;

/**
 * Changes the limit in bytes; 0 removes it. Idle memory above the new limit is
 * given back; OUT_OF_RANGE, with nothing changed, if live memory exceeds it.
 */
KOLK_FALLIBLE kolk_pool_set_limit(kolk_pool *pool, size_t limit) KOLK_NONNULL;

/**
 * Gives idle memory back to the device until at most `keep` bytes stay
 * reserved, or no more can be given; returns the bytes given back. Waits for
 * work that still uses freed blocks.
 */
KOLK_API size_t kolk_pool_trim(kolk_pool *pool, size_t keep) KOLK_NONNULL;

/** Walks everything and compares it with the counters. CORRUPT says what and
 * where. Stops the pool while it walks. */
KOLK_FALLIBLE kolk_pool_check(kolk_pool *pool) KOLK_NONNULL;

/** The record of this thread's most recent OUT_OF_MEMORY from a pool; never NULL. */
KOLK_API const kolk_oom *kolk_last_oom(void);

/* ---- handles ------------------------------------------------------------ */

/** Zero in any field is the default. */
typedef struct kolk_alloc_options {
    size_t alignment; /**< bytes, a power of two up to the page size; 256 */
    kolk_tag tag;
} kolk_alloc_options;

/**
 * Allocates at least `size` bytes, ready for work queued on `stream`. On
 * failure `*out` is left as it was; see kolk_last_oom() for OUT_OF_MEMORY.
 */
KOLK_FALLIBLE kolk_block_alloc(kolk_pool *pool, size_t size, kolk_stream *stream,
                               kolk_block **out) KOLK_NONNULL_AT(1, 4);

/** The same with options; NULL options are all defaults. */
KOLK_FALLIBLE kolk_block_alloc_with(kolk_pool *pool, size_t size,
                                    const kolk_alloc_options *options,
                                    kolk_stream *stream, kolk_block **out)
    KOLK_NONNULL_AT(1, 5);

/**
 * Tells the pool that `stream` also uses `block`, so that freeing it waits for
 * the work queued there by then. The allocating stream needs no such call.
 */
KOLK_FALLIBLE kolk_block_record(kolk_block *block, kolk_stream *stream)
    KOLK_NONNULL_AT(1);

/**
 * Gives `*block` back in the order of the stream it was allocated for, and
 * sets it to NULL; does nothing if it is NULL. Never waits and never fails.
 */
KOLK_API void kolk_block_free(kolk_block **block) KOLK_NONNULL;

/** The same after work queued on `stream`, which used the block last. */
KOLK_API void kolk_block_free_on(kolk_block **block, kolk_stream *stream)
    KOLK_NONNULL_AT(1);

/** Moves: the new owner gets the handle, the old variable gets NULL. */
KOLK_NODISCARD KOLK_NONNULL static inline kolk_block *kolk_block_take(kolk_block **from)
{
    kolk_block *const moved = *from;
    *from = NULL;
    return moved;
}

/** Device address; NULL for a block of size 0. */
KOLK_API void *kolk_block_data(const kolk_block *block) KOLK_NONNULL;

/** Bytes asked for, and bytes usable (at least as many). */
KOLK_API size_t kolk_block_size(const kolk_block *block) KOLK_NONNULL;
KOLK_API size_t kolk_block_capacity(const kolk_block *block) KOLK_NONNULL;

/* ---- pointers, for programs that today call cudaMalloc ------------------- */

/** Device address of `size` bytes; NULL for size 0 or on failure, which
 * kolk_last_error() explains. */
KOLK_API KOLK_NODISCARD void *kolk_malloc(kolk_pool *pool, size_t size,
                                          kolk_stream *stream) KOLK_NONNULL_AT(1);

/**
 * Frees what kolk_malloc() gave, after the work queued on `stream`; NULL is a
 * no-op. DOUBLE_FREE, INTERIOR_POINTER, WRONG_POOL or FOREIGN_POINTER leave
 * everything as it was.
 */
KOLK_FALLIBLE kolk_free(kolk_pool *pool, void *data, kolk_stream *stream)
    KOLK_NONNULL_AT(1);

/** The same, and WRONG_SIZE unless `size` is what was asked for. */
KOLK_FALLIBLE kolk_free_sized(kolk_pool *pool, void *data, size_t size,
                              kolk_stream *stream) KOLK_NONNULL_AT(1);

/** kolk_block_record() for any address inside a block. */
KOLK_FALLIBLE kolk_record(kolk_pool *pool, const void *data, kolk_stream *stream)
    KOLK_NONNULL_AT(1);

/* ---- capture into a graph ------------------------------------------------ */

typedef struct kolk_capture kolk_capture;

/**
 * From here to kolk_capture_end(), what is allocated for `stream` comes from
 * memory set aside for the graph being captured, and stays with it: freed
 * blocks are reused only inside the capture.
 */
KOLK_FALLIBLE kolk_capture_begin(kolk_pool *pool, kolk_stream *stream,
                                 kolk_capture **out) KOLK_NONNULL_AT(1, 3);

/** Ends the diversion of `stream`; the memory stays with the capture. */
KOLK_API void kolk_capture_end(kolk_capture *capture) KOLK_NONNULL;

/**
 * Gives the captured memory back once the graph is gone, and sets `*capture`
 * to NULL; does nothing if it is NULL. Call it when no launch of the graph is
 * queued any more, or only on the stream it was captured from.
 */
KOLK_API void kolk_capture_destroy(kolk_capture **capture) KOLK_NONNULL;

KOLK_END

#endif
