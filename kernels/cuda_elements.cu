/* SPDX-License-Identifier: MIT */

/* Fill, copy, sum and cast, one thread an element. As on the host, fill and copy
 * know elements only by their size. */

#include "convert.h"
#include "cuda_kernels.h"
#include "size.h"

/* ---- by size ---- */

template <typename Word>
__global__ static void fill_words(Word *to, Word value, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        to[i] = value;
}

template <typename Word> static int fill(const kolk_view &to, Word value, void *stream)
{
    const int64_t count = kolk_count_of(&to);
    return kolk_launch_tasks(to.device, fill_words<Word>, count, stream,
                             (Word *)to.data, value, count);
}

int kolk_cuda_fill(kolk_view to, kolk_element value, void *stream)
{
    switch (kolk_element_size(to.dtype)) {
    case 1:
        return fill(to, value.of_1, stream);
    case 2:
        return fill(to, value.of_2, stream);
    case 4:
        return fill(to, value.of_4, stream);
    default:
        return fill(to, value.of_8, stream);
    }
}

/* The offsets of one row-major position in two views of one shape. */
struct offsets {
    int64_t to, from;
};

__device__ static offsets locate(const kolk_view &to, const kolk_view &from,
                                 int64_t position)
{
    offsets at = {0, 0};
    for (int axis = to.rank - 1; axis >= 0; axis--) {
        const int64_t index = position % to.shape[axis];
        position /= to.shape[axis];
        at.to += index * to.stride[axis];
        at.from += index * from.stride[axis];
    }
    return at;
}

template <typename Word>
__global__ static void copy_words(kolk_view to, kolk_view from, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step()) {
        const offsets at = locate(to, from, i);
        ((Word *)to.data)[at.to] = ((const Word *)from.data)[at.from];
    }
}

template <typename Word>
static int copy(const kolk_view &to, const kolk_view &from, void *stream)
{
    const int64_t count = kolk_count_of(&to);
    return kolk_launch_tasks(to.device, copy_words<Word>, count, stream, to, from,
                             count);
}

int kolk_cuda_copy(kolk_view to, kolk_view from, void *stream)
{
    switch (kolk_element_size(to.dtype)) {
    case 1:
        return copy<uint8_t>(to, from, stream);
    case 2:
        return copy<uint16_t>(to, from, stream);
    case 4:
        return copy<uint32_t>(to, from, stream);
    default:
        return copy<uint64_t>(to, from, stream);
    }
}

/* ---- by type ---- */

#define ACCUMULATE(name, sum, type)                                                 \
    __global__ static void accumulate_##name(type *a, const type *b, int64_t count) \
    {                                                                               \
        for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())       \
            a[i] = sum(a[i], b[i]);                                                 \
    }
ACCUMULATE(F32, kolk_f32_sum, float)
ACCUMULATE(F64, kolk_f64_sum, double)
ACCUMULATE(F16, kolk_f16_sum, kolk_f16)
ACCUMULATE(BF16, kolk_bf16_sum, kolk_bf16)
ACCUMULATE(I32, kolk_i32_sum, int32_t)
ACCUMULATE(I64, kolk_i64_sum, int64_t)
ACCUMULATE(U8, kolk_u8_sum, uint8_t)
ACCUMULATE(BOOL, kolk_bool_sum, bool)

int kolk_cuda_accumulate(kolk_view a, kolk_view b, void *stream)
{
    const int64_t count = kolk_count_of(&a);
    switch (a.dtype) {
#define X(name, value, size, type, text)                                     \
    case KOLK_##name:                                                        \
        return kolk_launch_tasks(a.device, accumulate_##name, count, stream, \
                                 (type *)a.data, (const type *)b.data, count);
        KOLK_DTYPE_LIST(X)
#undef X
    }
    return (int)cudaErrorInvalidValue;
}

/* ---- cast ---- */

__device__ static double real_at(const kolk_view &from, int64_t i)
{
    switch (from.dtype) {
    case KOLK_F32:
        return (double)((const float *)from.data)[i];
    case KOLK_F64:
        return ((const double *)from.data)[i];
    case KOLK_F16:
        return kolk_real_of_f16(((const kolk_f16 *)from.data)[i]);
    default:
        return kolk_real_of_bf16(((const kolk_bf16 *)from.data)[i]);
    }
}

__device__ static int64_t whole_at(const kolk_view &from, int64_t i)
{
    switch (from.dtype) {
    case KOLK_I32:
        return ((const int32_t *)from.data)[i];
    case KOLK_I64:
        return ((const int64_t *)from.data)[i];
    case KOLK_U8:
        return ((const uint8_t *)from.data)[i];
    default:
        return ((const bool *)from.data)[i];
    }
}

#define STORE(name, type, kind)                    \
    case KOLK_##name:                              \
        ((type *)to.data)[i] = kolk_##kind(value); \
        break

#define STORES(kind)                        \
    STORE(F32, float, f32_of_##kind);       \
    STORE(F64, double, f64_of_##kind);      \
    STORE(F16, kolk_f16, f16_of_##kind);    \
    STORE(BF16, kolk_bf16, bf16_of_##kind); \
    STORE(I32, int32_t, i32_of_##kind);     \
    STORE(I64, int64_t, i64_of_##kind);     \
    STORE(U8, uint8_t, u8_of_##kind);       \
    STORE(BOOL, bool, bool_of_##kind)

__device__ static void store_real(const kolk_view &to, int64_t i, double value)
{
    switch (to.dtype) {
        STORES(real);
    }
}

__device__ static void store_whole(const kolk_view &to, int64_t i, int64_t value)
{
    switch (to.dtype) {
        STORES(whole);
    }
}

__global__ static void cast_elements(kolk_view to, kolk_view from, int64_t count)
{
    const bool real = kolk_dtype_is_real(from.dtype);
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        if (real)
            store_real(to, i, real_at(from, i));
        else
            store_whole(to, i, whole_at(from, i));
}

int kolk_cuda_cast(kolk_view to, kolk_view from, void *stream)
{
    const int64_t count = kolk_count_of(&to);
    return kolk_launch_tasks(to.device, cast_elements, count, stream, to, from, count);
}
