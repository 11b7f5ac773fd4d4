/* SPDX-License-Identifier: MIT */
#include "memory.h"

#define GRANULE 512u

kolk_status train_memory_open(kolk_device device, train_memory *out)
{
    const kolk_pool_config config = {.name = "kolk-train"};
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
    KOLK_TRY(kolk_stream_create(device, &stream));
    KOLK_TRY(kolk_pool_create(device, &config, &pool));
    *out = (train_memory){.pool = kolk_pool_take(&pool),
                          .stream = kolk_stream_take(&stream)};
    return KOLK_OK;
}

void train_memory_close(train_memory *memory)
{
    kolk_pool_destroy(&memory->pool);
    kolk_stream_destroy(&memory->stream);
}

void train_memory_step_begin(train_memory *memory)
{
    memory->step = 0;
    memory->in_step = true;
}

void train_memory_step_end(train_memory *memory)
{
    if (memory->step > memory->largest_step)
        memory->largest_step = memory->step;
    memory->in_step = false;
}

static void count(train_memory *memory, const kolk_tensor_spec *spec, int64_t numel)
{
    const uint64_t size = (uint64_t)numel * kolk_dtype_size(spec->dtype);
    const uint64_t rounded = (size + GRANULE - 1) / GRANULE * GRANULE;
    const uint64_t bytes = spec->no_grad ? rounded : 2 * rounded;
    if (memory->in_step)
        memory->step += bytes;
    else
        memory->kept += bytes;
}

kolk_status train_memory_make(train_memory *memory, const kolk_tensor_spec *spec,
                              const void *values, kolk_tensor **out)
{
    int64_t numel;
    KOLK_TRY(kolk_shape_strides(spec->rank, spec->shape, NULL, &numel));
    if (values)
        KOLK_TRY(kolk_tensor_from_host(memory->pool, spec, values, numel,
                                       memory->stream, out));
    else
        KOLK_TRY(kolk_tensor_create(memory->pool, spec, memory->stream, out));
    count(memory, spec, numel);
    return KOLK_OK;
}

uint64_t train_memory_naive_peak(const train_memory *memory)
{
    return memory->kept + memory->largest_step;
}
