/* SPDX-License-Identifier: MIT */
#ifndef KOLK_STATUS_H
#define KOLK_STATUS_H

/** @file
 * What a call says when it fails: a status a program can decide on, and a
 * per-thread record with the numbers, the place and the backend's own code.
 *
 *     if (kolk_block_alloc(pool, size, stream, &block) != KOLK_OK)
 *         fprintf(stderr, "%s\n", kolk_last_error()->message);
 */

#include <kolk/base.h>

KOLK_BEGIN

/* One list makes the enum, the names and the descriptions, so none can drift.
 * Values are part of the ABI: append, never renumber. */
#define KOLK_STATUS_LIST(X)                                                 \
    X(OK, 0, "success")                                                     \
    X(INVALID_ARGUMENT, 1, "an argument breaks the function's contract")    \
    X(OUT_OF_MEMORY, 2, "the device has no memory left for this request")   \
    X(OUT_OF_HOST_MEMORY, 3, "the host has no memory left for bookkeeping") \
    X(OUT_OF_RANGE, 4, "an index or size lies outside its bounds")          \
    X(UNSUPPORTED, 5, "this backend or build cannot do that")               \
    X(DEVICE, 6, "the backend reported a failure of its own")               \
    X(SHAPE_OVERFLOW, 7, "a product of extents does not fit in 64 bits")    \
    X(SHAPE_MISMATCH, 8, "shapes, ranks or element counts do not agree")    \
    X(TYPE_MISMATCH, 9, "element types do not agree")                       \
    X(DEVICE_MISMATCH, 10, "the operands live on different devices")        \
    X(DOUBLE_FREE, 11, "the memory has already been freed")                 \
    X(FOREIGN_POINTER, 12, "the pointer never came from a pool")            \
    X(INTERIOR_POINTER, 13, "the pointer is inside a block, not its start") \
    X(WRONG_POOL, 14, "the memory belongs to another pool")                 \
    X(WRONG_SIZE, 15, "the size is not the one that was asked for")         \
    X(CORRUPT, 16, "a structure or file breaks its own invariants")         \
    X(IO, 17, "the operating system refused a read or a write")

/** What every fallible function returns. `KOLK_OK` is the only success. */
typedef enum kolk_status {
#define X(name, value, text) KOLK_##name = value,
    KOLK_STATUS_LIST(X)
#undef X
} kolk_status;

/** Starts the declaration of a function whose status must be looked at. */
#define KOLK_FALLIBLE KOLK_API KOLK_NODISCARD kolk_status

/** The details behind the last failure on this thread. */
typedef struct kolk_error {
    kolk_status status;
    int native;        /**< the backend's own code (a cudaError_t, an errno), or 0 */
    const char *where; /**< function that detected it, a static string */
    char message[512]; /**< one sentence with the numbers in it */
} kolk_error;

/** Identifier without prefix, e.g. "OUT_OF_MEMORY"; "?" if unknown. */
KOLK_API const char *kolk_status_name(kolk_status status);

/** One lower-case clause fit for a message; never NULL. */
KOLK_API const char *kolk_status_text(kolk_status status);

/**
 * Details of this thread's most recent failure; never NULL.
 *
 * Success leaves it alone, so read it only after a call returned non-OK.
 * The pointer stays valid for the thread's life; its contents until the
 * next failure on this thread.
 */
KOLK_API const kolk_error *kolk_last_error(void);

KOLK_END

/** Returns from the enclosing function if `expr` did not succeed. */
#define KOLK_TRY(expr)                        \
    do {                                      \
        const kolk_status kolk_try_ = (expr); \
        if (kolk_try_ != KOLK_OK)             \
            return kolk_try_;                 \
    } while (0)

#endif
