/* SPDX-License-Identifier: MIT */

/* Joining along the leading dimension: in row-major order that is one tensor's
 * elements after the other's. */

#include "shape.h"
#include "tensor.h"
#include <assert.h>
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <string.h>

static kolk_status check_rank(const kolk_view *first, const kolk_view *view, int i)
{
    if (view->rank == first->rank)
        return KOLK_OK;
    return kolk_fail_at("kolk_tensor_stack", KOLK_SHAPE_MISMATCH, 0,
                        "tensor %d has rank %d, the first has %d", i, view->rank,
                        first->rank);
}

static kolk_status check_extents(const kolk_view *first, const kolk_view *view, int i)
{
    for (int axis = 1; axis < first->rank; axis++)
        if (view->shape[axis] != first->shape[axis])
            return kolk_fail_at("kolk_tensor_stack", KOLK_SHAPE_MISMATCH, 0,
                                "axis %d of tensor %d is %lld, of the first %lld", axis,
                                i, (long long)view->shape[axis],
                                (long long)first->shape[axis]);
    return KOLK_OK;
}

static kolk_status check_type(const kolk_view *first, const kolk_view *view, int i)
{
    if (view->dtype == first->dtype)
        return KOLK_OK;
    return kolk_fail_at("kolk_tensor_stack", KOLK_TYPE_MISMATCH, 0,
                        "tensor %d is %s, the first is %s", i,
                        kolk_dtype_name(view->dtype), kolk_dtype_name(first->dtype));
}

static kolk_status check_device(const kolk_view *first, const kolk_view *view, int i)
{
    if (kolk_device_equal(view->device, first->device))
        return KOLK_OK;
    return kolk_fail_at("kolk_tensor_stack", KOLK_DEVICE_MISMATCH, 0,
                        "tensor %d is on %s:%d, the first on %s:%d", i,
                        kolk_device_kind_name(view->device.kind), view->device.ordinal,
                        kolk_device_kind_name(first->device.kind),
                        first->device.ordinal);
}

static kolk_status check_all(kolk_tensor *const *tensors, int count)
{
    if (count < 1)
        return kolk_fail_at("kolk_tensor_stack", KOLK_INVALID_ARGUMENT, 0,
                            "%d tensors cannot be joined, it takes one at least",
                            count);
    const kolk_view *const first = &tensors[0]->view;
    if (first->rank == 0)
        return kolk_fail_at("kolk_tensor_stack", KOLK_INVALID_ARGUMENT, 0,
                            "tensors of rank 0 have no leading dimension to join");
    for (int i = 1; i < count; i++) {
        const kolk_view *const view = &tensors[i]->view;
        KOLK_TRY(check_rank(first, view, i));
        KOLK_TRY(check_extents(first, view, i));
        KOLK_TRY(check_type(first, view, i));
        KOLK_TRY(check_device(first, view, i));
    }
    return KOLK_OK;
}

static kolk_status add_extents(kolk_tensor *const *tensors, int count, int64_t *out)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        if (__builtin_add_overflow(sum, tensors[i]->view.shape[0], &sum))
            return kolk_fail_at("kolk_tensor_stack", KOLK_SHAPE_OVERFLOW, 0,
                                "the leading extents of %d tensors exceed 64 bits",
                                count);
    *out = sum;
    return KOLK_OK;
}

/* Puts one tensor's elements at `*end` and moves it past them. */
static kolk_status append(kolk_tensor *joined, const kolk_tensor *tensor, char **end)
{
    kolk_lane lane = kolk_tensor_lane(joined);
    kolk_lane other = kolk_tensor_lane(tensor);
    const size_t bytes = kolk_view_bytes(&tensor->view);
    if (bytes == 0)
        return KOLK_OK;
    KOLK_TRY(kolk_bytes_carry(&lane, *end, &other, tensor->view.data, bytes));
    *end += bytes;
    return kolk_lane_release(&lane, &other);
}

kolk_status kolk_tensor_stack(kolk_tensor *const *tensors, int count,
                              kolk_stream *stream, kolk_tensor **out)
{
    assert(out != NULL);
    KOLK_TRY(check_all(tensors, count));
    const kolk_view *const first = &tensors[0]->view;
    kolk_tensor_spec spec = {
        .dtype = first->dtype, .rank = first->rank, .uninitialized = true};
    kolk_tensor *joined KOLK_AUTO(kolk_tensor_destroy) = NULL;
    memcpy(spec.shape, first->shape, sizeof spec.shape);
    KOLK_TRY(add_extents(tensors, count, &spec.shape[0]));
    KOLK_TRY(kolk_tensor_create(tensors[0]->pool, &spec, stream, &joined));
    char *end = joined->view.data;
    for (int i = 0; i < count; i++)
        KOLK_TRY(append(joined, tensors[i], &end));
    *out = kolk_tensor_take(&joined);
    return KOLK_OK;
}
