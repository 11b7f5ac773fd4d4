/* SPDX-License-Identifier: MIT */

/* Values between a tensor and the host: checked, copied, waited for. */

#include "shape.h"
#include "tensor.h"
#include <assert.h>
#include <runtime/backend.h>
#include <runtime/fail.h>

static void *element(const kolk_tensor *tensor, int64_t position)
{
    return (char *)tensor->view.data +
           (size_t)position * kolk_dtype_size(tensor->view.dtype);
}

static kolk_status copy(const kolk_tensor *tensor, void *to, const void *from,
                        size_t size)
{
    kolk_lane lane = kolk_tensor_lane(tensor);
    if (size == 0)
        return KOLK_OK;
    KOLK_TRY(kolk_copy_queue(kolk_lane_stream(&lane), to, from, size));
    return kolk_lane_finish(&lane);
}

static kolk_status check_position(const char *where, const kolk_tensor *tensor,
                                  int64_t position)
{
    const int64_t numel = kolk_tensor_numel(tensor);
    if (position >= 0 && position < numel)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                        "position %lld is out of range, there are %lld elements",
                        (long long)position, (long long)numel);
}

kolk_status kolk_tensor_get(const kolk_tensor *tensor, const int64_t *index, int rank,
                            void *out_value)
{
    int64_t offset;
    KOLK_TRY(kolk_view_offset(&tensor->view, index, rank, &offset));
    return kolk_tensor_get_flat(tensor, offset, out_value);
}

kolk_status kolk_tensor_set(kolk_tensor *tensor, const int64_t *index, int rank,
                            const void *value)
{
    int64_t offset;
    KOLK_TRY(kolk_view_offset(&tensor->view, index, rank, &offset));
    return kolk_tensor_set_flat(tensor, offset, value);
}

kolk_status kolk_tensor_get_flat(const kolk_tensor *tensor, int64_t position,
                                 void *out_value)
{
    assert(out_value != NULL);
    KOLK_TRY(check_position(__func__, tensor, position));
    return copy(tensor, out_value, element(tensor, position),
                kolk_dtype_size(tensor->view.dtype));
}

kolk_status kolk_tensor_set_flat(kolk_tensor *tensor, int64_t position,
                                 const void *value)
{
    assert(value != NULL);
    KOLK_TRY(check_position(__func__, tensor, position));
    return copy(tensor, element(tensor, position), value,
                kolk_dtype_size(tensor->view.dtype));
}

kolk_status kolk_tensor_read(const kolk_tensor *tensor, void *out_values, int64_t count)
{
    KOLK_TRY(kolk_count_must_equal(__func__, count, kolk_tensor_numel(tensor)));
    return copy(tensor, out_values, tensor->view.data, kolk_view_bytes(&tensor->view));
}

kolk_status kolk_tensor_write(kolk_tensor *tensor, const void *values, int64_t count)
{
    KOLK_TRY(kolk_count_must_equal(__func__, count, kolk_tensor_numel(tensor)));
    return copy(tensor, tensor->view.data, values, kolk_view_bytes(&tensor->view));
}

kolk_status kolk_tensor_consume(kolk_tensor **tensor, void *out_values, int64_t count)
{
    assert(*tensor != NULL);
    KOLK_TRY(kolk_tensor_read(*tensor, out_values, count));
    kolk_tensor_destroy(tensor);
    return KOLK_OK;
}
