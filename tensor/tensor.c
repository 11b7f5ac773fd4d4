/* SPDX-License-Identifier: MIT */

/* A tensor's life: two blocks of one pool and the geometry of both. */

#include "tensor.h"
#include "shape.h"
#include <assert.h>
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <runtime/host_memory.h>
#include <string.h>

kolk_lane kolk_tensor_lane(const kolk_tensor *tensor)
{
    return kolk_lane_of(tensor->view.device, tensor->stream);
}

kolk_tensor_spec kolk_tensor_spec_of(const kolk_tensor *tensor)
{
    kolk_tensor_spec spec = {.dtype = tensor->view.dtype,
                             .rank = tensor->view.rank,
                             .uninitialized = true,
                             .no_grad = !tensor->has_grad,
                             .frozen = !tensor->requires_grad,
                             .tag = tensor->tag};
    memcpy(spec.shape, tensor->view.shape, sizeof spec.shape);
    return spec;
}

/* ---- making ---- */

static kolk_status allocate_block(kolk_tensor *tensor, size_t bytes, kolk_tag tag,
                                  kolk_block **out)
{
    if (bytes == 0)
        return KOLK_OK;
    return kolk_block_alloc_with(tensor->pool, bytes, &(kolk_alloc_options){.tag = tag},
                                 tensor->stream, out);
}

static kolk_status allocate_blocks(kolk_tensor *tensor, size_t bytes)
{
    KOLK_TRY(allocate_block(tensor, bytes, tensor->tag, &tensor->data));
    if (tensor->has_grad)
        KOLK_TRY(allocate_block(tensor, bytes, KOLK_TAG_GRADS, &tensor->grad));
    if (tensor->data != NULL)
        tensor->view.data = kolk_block_data(tensor->data);
    return KOLK_OK;
}

static kolk_status check_tag(const char *where, kolk_tag tag)
{
    if ((unsigned)tag < KOLK_TAG_COUNT)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0, "tag %d is not one of 0 to %d",
                        (int)tag, KOLK_TAG_COUNT - 1);
}

kolk_status kolk_tensor_allocate(const char *where, kolk_pool *pool,
                                 const kolk_tensor_spec *spec, kolk_stream *stream,
                                 kolk_tensor **out)
{
    kolk_view view;
    size_t bytes;
    kolk_lane lane;
    KOLK_TRY(
        kolk_view_plan(where, spec->dtype, spec->rank, spec->shape, &view, &bytes));
    KOLK_TRY(check_tag(where, spec->tag));
    KOLK_TRY(kolk_lane_open(where, kolk_pool_device(pool), stream, &lane));
    kolk_tensor *tensor KOLK_AUTO(kolk_tensor_destroy) =
        kolk_host_alloc(sizeof *tensor);
    if (tensor == NULL)
        return kolk_fail_at(where, KOLK_OUT_OF_HOST_MEMORY, 0,
                            "no %zu bytes for a tensor's record", sizeof *tensor);
    *tensor = (kolk_tensor){.pool = pool,
                            .stream = stream,
                            .view = view,
                            .tag = spec->tag,
                            .has_grad = !spec->no_grad,
                            .requires_grad = !spec->frozen};
    tensor->view.device = kolk_pool_device(pool);
    KOLK_TRY(allocate_blocks(tensor, bytes));
    *out = kolk_tensor_take(&tensor);
    return KOLK_OK;
}

static kolk_status fill_zero(kolk_tensor *tensor, kolk_block *block)
{
    kolk_lane lane = kolk_tensor_lane(tensor);
    if (block == NULL)
        return KOLK_OK;
    return kolk_fill_queue(kolk_lane_stream(&lane), kolk_block_data(block), 0,
                           kolk_view_bytes(&tensor->view));
}

kolk_status kolk_tensor_clear_grad(kolk_tensor *tensor)
{
    return fill_zero(tensor, tensor->grad);
}

kolk_status kolk_tensor_create(kolk_pool *pool, const kolk_tensor_spec *spec,
                               kolk_stream *stream, kolk_tensor **out)
{
    assert(pool != NULL && spec != NULL && out != NULL);
    kolk_tensor *tensor KOLK_AUTO(kolk_tensor_destroy) = NULL;
    KOLK_TRY(kolk_tensor_allocate(__func__, pool, spec, stream, &tensor));
    if (!spec->uninitialized)
        KOLK_TRY(fill_zero(tensor, tensor->data));
    KOLK_TRY(kolk_tensor_clear_grad(tensor));
    *out = kolk_tensor_take(&tensor);
    return KOLK_OK;
}

kolk_status kolk_tensor_from_host(kolk_pool *pool, const kolk_tensor_spec *spec,
                                  const void *values, int64_t count,
                                  kolk_stream *stream, kolk_tensor **out)
{
    assert(pool != NULL && spec != NULL && out != NULL);
    kolk_view view;
    size_t bytes;
    kolk_tensor *tensor KOLK_AUTO(kolk_tensor_destroy) = NULL;
    KOLK_TRY(
        kolk_view_plan(__func__, spec->dtype, spec->rank, spec->shape, &view, &bytes));
    KOLK_TRY(kolk_count_must_equal(__func__, count, kolk_view_numel(&view)));
    KOLK_TRY(kolk_tensor_allocate(__func__, pool, spec, stream, &tensor));
    KOLK_TRY(kolk_tensor_clear_grad(tensor));
    KOLK_TRY(kolk_tensor_write(tensor, values, count));
    *out = kolk_tensor_take(&tensor);
    return KOLK_OK;
}

void kolk_tensor_destroy(kolk_tensor **tensor)
{
    kolk_tensor *const gone = kolk_tensor_take(tensor);
    if (gone == NULL)
        return;
    kolk_block_free(&gone->grad);
    kolk_block_free(&gone->data);
    kolk_host_free(gone);
}

/* ---- looking ---- */

kolk_view kolk_tensor_view(const kolk_tensor *tensor)
{
    return tensor->view;
}

kolk_view kolk_tensor_grad(const kolk_tensor *tensor)
{
    kolk_view grad = tensor->view;
    grad.data = tensor->grad != NULL ? kolk_block_data(tensor->grad) : NULL;
    return grad;
}

int64_t kolk_tensor_numel(const kolk_tensor *tensor)
{
    return kolk_view_numel(&tensor->view);
}

kolk_pool *kolk_tensor_pool(const kolk_tensor *tensor)
{
    return tensor->pool;
}

bool kolk_tensor_has_grad(const kolk_tensor *tensor)
{
    return tensor->has_grad;
}

bool kolk_tensor_requires_grad(const kolk_tensor *tensor)
{
    return tensor->requires_grad;
}

void kolk_tensor_set_requires_grad(kolk_tensor *tensor, bool on)
{
    tensor->requires_grad = on;
}

/* A block that has been recorded for a stream it did not need is only freed
 * later, so a failure between the two leaves nothing wrong. */
kolk_status kolk_tensor_record(kolk_tensor *tensor, kolk_stream *stream)
{
    kolk_lane lane;
    KOLK_TRY(kolk_lane_open(__func__, tensor->view.device, stream, &lane));
    if (tensor->data != NULL)
        KOLK_TRY(kolk_block_record(tensor->data, stream));
    if (tensor->grad != NULL)
        KOLK_TRY(kolk_block_record(tensor->grad, stream));
    return KOLK_OK;
}
