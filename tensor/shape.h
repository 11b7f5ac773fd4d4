/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TENSOR_SHAPE_H
#define KOLK_TENSOR_SHAPE_H

/* What the layer's files need of shapes: their text, their bytes, agreement. */

#include <kolk/view.h>

/* A shape as messages show it: "[2,3,4]". */
typedef struct kolk_shape_text {
    char text[KOLK_MAX_RANK * 21 + 3];
} kolk_shape_text;

kolk_shape_text kolk_shape_print(int rank, const int64_t *shape);

/* INVALID_ARGUMENT for a number that names no type. */
kolk_status kolk_dtype_check(const char *where, kolk_dtype dtype);

/* A contiguous view of no memory yet, and its size in bytes. */
kolk_status kolk_view_plan(const char *where, kolk_dtype dtype, int rank,
                           const int64_t *shape, kolk_view *out, size_t *out_bytes);

/* Bytes of a view whose shape is known to be sound. */
size_t kolk_view_bytes(const kolk_view *view);

/* SHAPE_MISMATCH, TYPE_MISMATCH or DEVICE_MISMATCH, naming both sides. */
kolk_status kolk_shape_must_equal(const char *where, const kolk_view *actual,
                                  const kolk_view *expected);
kolk_status kolk_dtype_must_equal(const char *where, kolk_dtype actual,
                                  kolk_dtype expected);

/* SHAPE_MISMATCH says expected and actual. */
kolk_status kolk_count_must_equal(const char *where, int64_t actual, int64_t expected);

#endif
