/* SPDX-License-Identifier: MIT */

/* Views: geometry by value. None of these looks at an element or copies one. */

#include "shape.h"
#include <assert.h>
#include <runtime/fail.h>
#include <string.h>

int64_t kolk_view_numel(const kolk_view *view)
{
    int64_t count = 1;
    for (int axis = 0; axis < view->rank; axis++)
        count *= view->shape[axis];
    return count;
}

size_t kolk_view_bytes(const kolk_view *view)
{
    return (size_t)kolk_view_numel(view) * kolk_dtype_size(view->dtype);
}

/* The stride of an axis of one element is never used, and a view without
 * elements has no gaps. */
bool kolk_view_is_contiguous(const kolk_view *view)
{
    int64_t expected = 1;
    for (int axis = view->rank - 1; axis >= 0; axis--) {
        if (view->shape[axis] != 1 && view->stride[axis] != expected)
            return kolk_view_numel(view) == 0;
        expected *= view->shape[axis];
    }
    return true;
}

kolk_status kolk_view_offset(const kolk_view *view, const int64_t *index, int rank,
                             int64_t *out)
{
    if (rank != view->rank)
        return kolk_fail(KOLK_INVALID_ARGUMENT,
                         "the index has the wrong rank: expected %d, actual %d",
                         view->rank, rank);
    for (int axis = 0; axis < rank; axis++)
        if (index[axis] < 0 || index[axis] >= view->shape[axis])
            return kolk_fail(KOLK_OUT_OF_RANGE,
                             "axis %d: index %lld is out of range, the extent is %lld",
                             axis, (long long)index[axis],
                             (long long)view->shape[axis]);
    *out = kolk_view_offset_unchecked(view, index);
    return KOLK_OK;
}

static kolk_status check_axis(const char *where, const kolk_view *view, int axis)
{
    if (axis >= 0 && axis < view->rank)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                        "axis %d is out of range, the rank is %d", axis, view->rank);
}

kolk_status kolk_view_slice(const kolk_view *view, int axis, int64_t begin, int64_t end,
                            kolk_view *out)
{
    KOLK_TRY(check_axis(__func__, view, axis));
    if (begin < 0 || begin > end || end > view->shape[axis])
        return kolk_fail(KOLK_OUT_OF_RANGE,
                         "[%lld, %lld) of axis %d is out of range, the extent is %lld",
                         (long long)begin, (long long)end, axis,
                         (long long)view->shape[axis]);
    const int64_t skipped = begin * view->stride[axis];
    kolk_view slice = *view;
    slice.shape[axis] = end - begin;
    if (slice.data != NULL)
        slice.data =
            (char *)slice.data + skipped * (int64_t)kolk_dtype_size(view->dtype);
    *out = slice;
    return KOLK_OK;
}

kolk_status kolk_view_transpose(const kolk_view *view, int a, int b, kolk_view *out)
{
    KOLK_TRY(check_axis(__func__, view, a));
    KOLK_TRY(check_axis(__func__, view, b));
    kolk_view turned = *view;
    turned.shape[a] = view->shape[b];
    turned.shape[b] = view->shape[a];
    turned.stride[a] = view->stride[b];
    turned.stride[b] = view->stride[a];
    *out = turned;
    return KOLK_OK;
}

kolk_status kolk_view_reshape(const kolk_view *view, int rank, const int64_t *shape,
                              kolk_view *out)
{
    kolk_view other = {.data = view->data, .device = view->device};
    other.dtype = view->dtype;
    other.rank = rank;
    int64_t numel;
    if (!kolk_view_is_contiguous(view))
        return kolk_fail(KOLK_UNSUPPORTED,
                         "a view with gaps or turned axes cannot be reshaped: %s",
                         kolk_shape_print(view->rank, view->shape).text);
    KOLK_TRY(kolk_shape_strides(rank, shape, other.stride, &numel));
    KOLK_TRY(kolk_count_must_equal(__func__, numel, kolk_view_numel(view)));
    if (rank > 0)
        memcpy(other.shape, shape, (size_t)rank * sizeof *shape);
    *out = other;
    return KOLK_OK;
}
