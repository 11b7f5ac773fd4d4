/* SPDX-License-Identifier: MIT */

/* Shapes: up to eight extents, strides from the right, a count.
 *
 * Every product is checked where it is made, so that whoever holds a planned
 * view can multiply its extents, strides and element size without a thought. */

#include "shape.h"
#include <assert.h>
#include <runtime/fail.h>
#include <stdio.h>
#include <string.h>

/* ---- types ---- */

#define X(name, value, size, type, text) \
    static_assert(sizeof(type) == (size), "a type of " text " has another size");
KOLK_DTYPE_LIST(X)
#undef X

static const struct {
    size_t size;
    const char *name;
} types[KOLK_DTYPE_COUNT] = {
#define X(name, value, size, type, text) [value] = {size, text},
    KOLK_DTYPE_LIST(X)
#undef X
};

static bool is_known(kolk_dtype dtype)
{
    return (unsigned)dtype < KOLK_DTYPE_COUNT;
}

size_t kolk_dtype_size(kolk_dtype dtype)
{
    return is_known(dtype) ? types[dtype].size : 0;
}

const char *kolk_dtype_name(kolk_dtype dtype)
{
    return is_known(dtype) ? types[dtype].name : "?";
}

kolk_status kolk_dtype_check(const char *where, kolk_dtype dtype)
{
    if (is_known(dtype))
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0,
                        "element type %d is not one of 0 to %d", (int)dtype,
                        KOLK_DTYPE_COUNT - 1);
}

kolk_status kolk_dtype_must_equal(const char *where, kolk_dtype actual,
                                  kolk_dtype expected)
{
    if (actual == expected)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_TYPE_MISMATCH, 0, "expected %s, actual %s",
                        kolk_dtype_name(expected), kolk_dtype_name(actual));
}

/* ---- extents ---- */

kolk_shape_text kolk_shape_print(int rank, const int64_t *shape)
{
    kolk_shape_text out = {"["};
    size_t end = 1;
    for (int axis = 0; axis < rank; axis++)
        end += (size_t)snprintf(out.text + end, sizeof out.text - end, "%s%lld",
                                axis == 0 ? "" : ",", (long long)shape[axis]);
    strcpy(out.text + end, "]");
    return out;
}

static kolk_status check_extents(const char *where, int rank, const int64_t *shape)
{
    if (rank < 0 || rank > KOLK_MAX_RANK)
        return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0, "rank %d is not in 0 to %d",
                            rank, KOLK_MAX_RANK);
    assert(rank == 0 || shape != NULL);
    for (int axis = 0; axis < rank; axis++)
        if (shape[axis] < 0)
            return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                                "the extent of axis %d is %lld, less than 0", axis,
                                (long long)shape[axis]);
    return KOLK_OK;
}

static kolk_status overflow(const char *where, int rank, const int64_t *shape)
{
    return kolk_fail_at(where, KOLK_SHAPE_OVERFLOW, 0,
                        "the elements of %s cannot be counted in 64 bits",
                        kolk_shape_print(rank, shape).text);
}

/* stride[axis] is the product of the extents to its right; the count goes on to
 * the left end. */
static kolk_status chain(const char *where, int rank, const int64_t *shape,
                         int64_t *stride, int64_t *out_numel)
{
    int64_t product = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        stride[axis] = product;
        if (__builtin_mul_overflow(product, shape[axis], &product))
            return overflow(where, rank, shape);
    }
    *out_numel = product;
    return KOLK_OK;
}

kolk_status kolk_shape_strides(int rank, const int64_t *shape, int64_t *stride,
                               int64_t *out_numel)
{
    assert(out_numel != NULL);
    int64_t made[KOLK_MAX_RANK];
    int64_t numel;
    KOLK_TRY(check_extents(__func__, rank, shape));
    KOLK_TRY(chain(__func__, rank, shape, made, &numel));
    if (stride != NULL)
        memcpy(stride, made, (size_t)rank * sizeof *stride);
    *out_numel = numel;
    return KOLK_OK;
}

kolk_status kolk_view_plan(const char *where, kolk_dtype dtype, int rank,
                           const int64_t *shape, kolk_view *out, size_t *out_bytes)
{
    kolk_view view = {.dtype = dtype, .rank = rank};
    int64_t numel;
    int64_t bytes;
    KOLK_TRY(kolk_dtype_check(where, dtype));
    KOLK_TRY(check_extents(where, rank, shape));
    KOLK_TRY(chain(where, rank, shape, view.stride, &numel));
    if (__builtin_mul_overflow(numel, (int64_t)kolk_dtype_size(dtype), &bytes))
        return kolk_fail_at(where, KOLK_SHAPE_OVERFLOW, 0,
                            "the bytes of %s %s cannot be counted in 64 bits",
                            kolk_dtype_name(dtype), kolk_shape_print(rank, shape).text);
    if (rank > 0)
        memcpy(view.shape, shape, (size_t)rank * sizeof *shape);
    *out = view;
    *out_bytes = (size_t)bytes;
    return KOLK_OK;
}

kolk_status kolk_shape_must_equal(const char *where, const kolk_view *actual,
                                  const kolk_view *expected)
{
    const size_t size = (size_t)expected->rank * sizeof *expected->shape;
    if (actual->rank == expected->rank &&
        memcmp(actual->shape, expected->shape, size) == 0)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_SHAPE_MISMATCH, 0, "expected %s, actual %s",
                        kolk_shape_print(expected->rank, expected->shape).text,
                        kolk_shape_print(actual->rank, actual->shape).text);
}

kolk_status kolk_count_must_equal(const char *where, int64_t actual, int64_t expected)
{
    if (actual == expected)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_SHAPE_MISMATCH, 0,
                        "expected %lld elements, actual %lld", (long long)expected,
                        (long long)actual);
}
