/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TENSOR_H
#define KOLK_TENSOR_H

/** @file
 * A tensor owns a data buffer and a grad buffer of the same shape, both from
 * one pool. It is a handle: never copied by `=`, cloned by
 * kolk_tensor_clone(), moved by kolk_tensor_take(), freed by
 * kolk_tensor_destroy().
 *
 *     kolk_tensor *w KOLK_AUTO(kolk_tensor_destroy) = NULL;
 *     KOLK_TRY(kolk_tensor_create(pool,
 *         &(kolk_tensor_spec){.rank = 2, .shape = {10, 20}}, stream, &w));
 *
 * Row-major; strides count elements. A tensor of zero elements allocates
 * nothing and its data pointer is NULL, and only then. Values are never
 * inspected: every bit pattern survives every copy.
 *
 * Order: a tensor remembers the stream it was made for and queues its own
 * work there. Work on another stream needs your event, and
 * kolk_tensor_record() before the tensor goes.
 *
 * Threads: different tensors may be used by different threads; one tensor by
 * one thread at a time.
 */

#include <kolk/pool.h>
#include <kolk/view.h>

KOLK_BEGIN

typedef struct kolk_tensor kolk_tensor;

/** What to make. All-zero is an f32 scalar, zeroed, with a grad buffer. */
typedef struct kolk_tensor_spec {
    kolk_dtype dtype;
    int rank;
    int64_t shape[KOLK_MAX_RANK]; /**< each >= 0 */
    bool uninitialized;           /**< leave the data as it is; grad is zeroed */
    bool no_grad;                 /**< no grad buffer */
    bool frozen;                  /**< requires_grad starts false */
    kolk_tag tag;                 /**< of the data; grads count as KOLK_TAG_GRADS */
} kolk_tensor_spec;

/** Makes a tensor of zeros on the pool's device, for work on `stream`. */
KOLK_FALLIBLE kolk_tensor_create(kolk_pool *pool, const kolk_tensor_spec *spec,
                                 kolk_stream *stream, kolk_tensor **out)
    KOLK_NONNULL_AT(1, 2, 4);

/** Makes a tensor from `count` host elements; SHAPE_MISMATCH says expected and
 * actual count. `values` may be reused on return. */
KOLK_FALLIBLE kolk_tensor_from_host(kolk_pool *pool, const kolk_tensor_spec *spec,
                                    const void *values, int64_t count,
                                    kolk_stream *stream, kolk_tensor **out)
    KOLK_NONNULL_AT(1, 2, 6);

/** New buffers with the same data, grad and requires_grad, from the same pool. */
KOLK_FALLIBLE kolk_tensor_clone(const kolk_tensor *tensor, kolk_stream *stream,
                                kolk_tensor **out) KOLK_NONNULL_AT(1, 3);

/** Moves: the new owner gets the handle, the old variable gets NULL. */
KOLK_NODISCARD KOLK_NONNULL static inline kolk_tensor *
kolk_tensor_take(kolk_tensor **from)
{
    kolk_tensor *const moved = *from;
    *from = NULL;
    return moved;
}

/** Frees both buffers in stream order and sets `*tensor` to NULL; does nothing
 * if it is NULL. */
KOLK_API void kolk_tensor_destroy(kolk_tensor **tensor) KOLK_NONNULL;

/** The data and the gradient, borrowed until the tensor is destroyed, moved to
 * another pool or reshaped. Without a grad buffer `data` of the second is NULL. */
KOLK_API kolk_view kolk_tensor_view(const kolk_tensor *tensor) KOLK_NONNULL;
KOLK_API kolk_view kolk_tensor_grad(const kolk_tensor *tensor) KOLK_NONNULL;

KOLK_API int64_t kolk_tensor_numel(const kolk_tensor *tensor) KOLK_NONNULL;
KOLK_API kolk_pool *kolk_tensor_pool(const kolk_tensor *tensor) KOLK_NONNULL;
KOLK_API bool kolk_tensor_has_grad(const kolk_tensor *tensor) KOLK_NONNULL;
KOLK_API bool kolk_tensor_requires_grad(const kolk_tensor *tensor) KOLK_NONNULL;
KOLK_API void kolk_tensor_set_requires_grad(kolk_tensor *tensor, bool on) KOLK_NONNULL;

/** Tells the pool that `stream` uses both buffers too; see kolk_block_record(). */
KOLK_FALLIBLE kolk_tensor_record(kolk_tensor *tensor, kolk_stream *stream)
    KOLK_NONNULL_AT(1);

/* ---- values to and from the host; every call waits for its copy ---------- */

/** One element, by index. `value` is a host object of the element type. */
KOLK_FALLIBLE kolk_tensor_get(const kolk_tensor *tensor, const int64_t *index, int rank,
                              void *out_value) KOLK_NONNULL_AT(1, 4);
KOLK_FALLIBLE kolk_tensor_set(kolk_tensor *tensor, const int64_t *index, int rank,
                              const void *value) KOLK_NONNULL_AT(1, 4);

/** One element, by row-major position. */
KOLK_FALLIBLE kolk_tensor_get_flat(const kolk_tensor *tensor, int64_t position,
                                   void *out_value) KOLK_NONNULL;
KOLK_FALLIBLE kolk_tensor_set_flat(kolk_tensor *tensor, int64_t position,
                                   const void *value) KOLK_NONNULL;

/** All elements, row-major; `count` must equal numel. */
KOLK_FALLIBLE kolk_tensor_read(const kolk_tensor *tensor, void *out_values,
                               int64_t count) KOLK_NONNULL_AT(1);
KOLK_FALLIBLE kolk_tensor_write(kolk_tensor *tensor, const void *values, int64_t count)
    KOLK_NONNULL_AT(1);

/** Reads all elements, then destroys the tensor; on failure it stays as it was. */
KOLK_FALLIBLE kolk_tensor_consume(kolk_tensor **tensor, void *out_values, int64_t count)
    KOLK_NONNULL_AT(1);

/* ---- operations, queued on the tensor's stream --------------------------- */

/** Sets every element of the data to `*value`, a host object of its type. */
KOLK_FALLIBLE kolk_tensor_fill(kolk_tensor *tensor, const void *value) KOLK_NONNULL;
KOLK_FALLIBLE kolk_tensor_zero_grad(kolk_tensor *tensor) KOLK_NONNULL;

/** Copies values in; same shape and type. requires_grad of `to` stays. */
KOLK_FALLIBLE kolk_tensor_assign(kolk_tensor *to, const kolk_tensor *from) KOLK_NONNULL;

/** a += b, same shape, type and device. */
KOLK_FALLIBLE kolk_tensor_accumulate(kolk_tensor *a, const kolk_tensor *b) KOLK_NONNULL;

/** Changes the shape in place; SHAPE_MISMATCH says both element counts. */
KOLK_FALLIBLE kolk_tensor_reshape(kolk_tensor *tensor, int rank, const int64_t *shape)
    KOLK_NONNULL_AT(1);

/** A contiguous tensor with the elements of any view on the pool's device. */
KOLK_FALLIBLE kolk_tensor_from_view(kolk_pool *pool, const kolk_view *view,
                                    kolk_stream *stream, kolk_tensor **out)
    KOLK_NONNULL_AT(1, 2, 4);

/** A new tensor of another element type, values converted as C does; f16 and
 * bf16 round to nearest even. Without a grad buffer. */
KOLK_FALLIBLE kolk_tensor_cast(const kolk_tensor *tensor, kolk_dtype dtype,
                               kolk_tensor **out) KOLK_NONNULL;

/**
 * Moves the tensor to another pool, for work on `stream` of that pool's device.
 * A no-op on the same pool. On failure the tensor is as it was. Between unlike
 * devices the bytes go through the host, and the call waits.
 */
KOLK_FALLIBLE kolk_tensor_to(kolk_tensor *tensor, kolk_pool *pool, kolk_stream *stream)
    KOLK_NONNULL_AT(1, 2);

/** Joins along the leading dimension: three (1,28,28) make (3,28,28). */
KOLK_FALLIBLE kolk_tensor_stack(kolk_tensor *const *tensors, int count,
                                kolk_stream *stream, kolk_tensor **out)
    KOLK_NONNULL_AT(4);

KOLK_END

#endif
