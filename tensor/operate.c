/* SPDX-License-Identifier: MIT */

/* What changes a tensor in place. Work runs on the changed tensor's stream. */

#include "shape.h"
#include "tensor.h"
#include <assert.h>
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <string.h>

kolk_status kolk_tensor_fill(kolk_tensor *tensor, const void *value)
{
    assert(value != NULL);
    kolk_lane lane = kolk_tensor_lane(tensor);
    const kolk_kernels *kernels;
    kolk_element element = {0};
    if (tensor->data == NULL)
        return KOLK_OK;
    memcpy(&element, value, kolk_dtype_size(tensor->view.dtype));
    KOLK_TRY(kolk_kernels_reach(__func__, tensor->view.device, &kernels));
    return kolk_launched(
        __func__, kernels,
        kernels->fill(tensor->view, element, kolk_lane_stream(&lane)->native));
}

kolk_status kolk_tensor_zero_grad(kolk_tensor *tensor)
{
    return kolk_tensor_clear_grad(tensor);
}

static kolk_status check_alike(const char *where, const kolk_tensor *a,
                               const kolk_tensor *b)
{
    KOLK_TRY(kolk_shape_must_equal(where, &b->view, &a->view));
    return kolk_dtype_must_equal(where, b->view.dtype, a->view.dtype);
}

/* Until the copy is done nothing later may overwrite or free what it reads, so
 * the other lane follows in its turn. */
kolk_status kolk_tensor_assign(kolk_tensor *to, const kolk_tensor *from)
{
    kolk_lane lane = kolk_tensor_lane(to);
    kolk_lane other = kolk_tensor_lane(from);
    KOLK_TRY(check_alike(__func__, to, from));
    if (to == from || to->data == NULL)
        return KOLK_OK;
    KOLK_TRY(kolk_bytes_carry(&lane, to->view.data, &other, from->view.data,
                              kolk_view_bytes(&to->view)));
    return kolk_lane_release(&lane, &other);
}

kolk_status kolk_tensor_accumulate(kolk_tensor *a, const kolk_tensor *b)
{
    kolk_lane lane = kolk_tensor_lane(a);
    kolk_lane other = kolk_tensor_lane(b);
    const kolk_kernels *kernels;
    KOLK_TRY(check_alike(__func__, a, b));
    KOLK_TRY(kolk_device_must_equal(__func__, b->view.device, a->view.device));
    if (a->data == NULL)
        return KOLK_OK;
    KOLK_TRY(kolk_kernels_reach(__func__, a->view.device, &kernels));
    KOLK_TRY(kolk_lane_follow(&lane, &other));
    KOLK_TRY(kolk_launched(
        __func__, kernels,
        kernels->accumulate(a->view, b->view, kolk_lane_stream(&lane)->native)));
    return kolk_lane_release(&lane, &other);
}

kolk_status kolk_tensor_reshape(kolk_tensor *tensor, int rank, const int64_t *shape)
{
    return kolk_view_reshape(&tensor->view, rank, shape, &tensor->view);
}
