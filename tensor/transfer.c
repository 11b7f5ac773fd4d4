/* SPDX-License-Identifier: MIT */

/* What makes a tensor out of others, and moves one to another pool.
 *
 * Everything new is complete, or queued, before anything old is touched, and the
 * out-parameter is written last. */

#include "shape.h"
#include "tensor.h"
#include <assert.h>
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <string.h>

/* Both buffers of `from` into those of `to`, from the one's lane to the other's. */
static kolk_status carry_both(kolk_tensor *to, const kolk_tensor *from)
{
    kolk_lane to_lane = kolk_tensor_lane(to);
    kolk_lane from_lane = kolk_tensor_lane(from);
    const size_t bytes = kolk_view_bytes(&from->view);
    kolk_status status =
        kolk_bytes_carry(&to_lane, to->view.data, &from_lane, from->view.data, bytes);
    if (status == KOLK_OK && from->grad != NULL)
        status = kolk_bytes_carry(&to_lane, kolk_block_data(to->grad), &from_lane,
                                  kolk_block_data(from->grad), bytes);
    /* One copy may be on its way though the other was refused. */
    const kolk_status released = kolk_lane_release(&to_lane, &from_lane);
    return status != KOLK_OK ? status : released;
}

static kolk_status duplicate(const char *where, const kolk_tensor *tensor,
                             kolk_pool *pool, kolk_stream *stream, kolk_tensor **out)
{
    const kolk_tensor_spec spec = kolk_tensor_spec_of(tensor);
    kolk_tensor *copy KOLK_AUTO(kolk_tensor_destroy) = NULL;
    KOLK_TRY(kolk_tensor_allocate(where, pool, &spec, stream, &copy));
    if (tensor->data != NULL)
        KOLK_TRY(carry_both(copy, tensor));
    *out = kolk_tensor_take(&copy);
    return KOLK_OK;
}

kolk_status kolk_tensor_clone(const kolk_tensor *tensor, kolk_stream *stream,
                              kolk_tensor **out)
{
    assert(tensor != NULL && out != NULL);
    return duplicate(__func__, tensor, tensor->pool, stream, out);
}

static void swap(kolk_tensor *a, kolk_tensor *b)
{
    const kolk_tensor kept = *a;
    *a = *b;
    *b = kept;
}

kolk_status kolk_tensor_to(kolk_tensor *tensor, kolk_pool *pool, kolk_stream *stream)
{
    assert(tensor != NULL && pool != NULL);
    kolk_tensor *moved KOLK_AUTO(kolk_tensor_destroy) = NULL;
    if (pool == tensor->pool)
        return KOLK_OK;
    KOLK_TRY(duplicate(__func__, tensor, pool, stream, &moved));
    swap(tensor, moved);
    return KOLK_OK;
}

kolk_status kolk_tensor_from_view(kolk_pool *pool, const kolk_view *view,
                                  kolk_stream *stream, kolk_tensor **out)
{
    assert(pool != NULL && view != NULL && out != NULL);
    kolk_tensor_spec spec = {
        .dtype = view->dtype, .rank = view->rank, .uninitialized = true};
    kolk_tensor *tensor KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_lane lane = kolk_lane_of(view->device, stream);
    memcpy(spec.shape, view->shape, sizeof spec.shape);
    KOLK_TRY(kolk_device_must_equal(__func__, view->device, kolk_pool_device(pool)));
    KOLK_TRY(kolk_tensor_create(pool, &spec, stream, &tensor));
    KOLK_TRY(kolk_view_copy(__func__, &tensor->view, view, &lane));
    *out = kolk_tensor_take(&tensor);
    return KOLK_OK;
}

static kolk_status convert(const char *where, kolk_tensor *to, const kolk_tensor *from)
{
    kolk_lane lane = kolk_tensor_lane(to);
    const kolk_kernels *kernels;
    if (to->view.dtype == from->view.dtype)
        return kolk_view_copy(where, &to->view, &from->view, &lane);
    KOLK_TRY(kolk_kernels_reach(where, to->view.device, &kernels));
    return kolk_launched(
        where, kernels,
        kernels->cast(to->view, from->view, kolk_lane_stream(&lane)->native));
}

kolk_status kolk_tensor_cast(const kolk_tensor *tensor, kolk_dtype dtype,
                             kolk_tensor **out)
{
    assert(tensor != NULL && out != NULL);
    kolk_tensor_spec spec = kolk_tensor_spec_of(tensor);
    kolk_tensor *cast KOLK_AUTO(kolk_tensor_destroy) = NULL;
    spec.dtype = dtype;
    spec.no_grad = true;
    KOLK_TRY(
        kolk_tensor_allocate(__func__, tensor->pool, &spec, tensor->stream, &cast));
    if (tensor->data != NULL)
        KOLK_TRY(convert(__func__, cast, tensor));
    *out = kolk_tensor_take(&cast);
    return KOLK_OK;
}
