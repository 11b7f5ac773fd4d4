/* SPDX-License-Identifier: MIT */

/* Fill, copy, sum and cast, for elements of every type.
 *
 * Fill and copy know elements only by their size, so no bit of one is ever
 * looked at. A strided copy runs along the last axis in a plain loop and counts
 * the other axes as an odometer does. Cast goes through small buffers of reals
 * or whole numbers, so that each loop has one type at either end. */

#include "convert.h"
#include "host_kernels.h"
#include "size.h"

/* ---- by size ---- */

int kolk_host_fill(kolk_view to, kolk_element value, void *stream)
{
    (void)stream;
    const size_t size = kolk_element_size(to.dtype);
    const int64_t count = kolk_count_of(&to);
    char *const bytes = to.data;
    for (int64_t i = 0; i < count; i++)
        memcpy(bytes + (size_t)i * size, &value, size);
    return 0;
}

typedef void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step,
                      int64_t count);

/* Steps are in bytes. A constant size makes each memcpy one move. */
#define COPY_ROW(size)                                                       \
    static void copy_row_##size(char *to, int64_t to_step, const char *from, \
                                int64_t from_step, int64_t count)            \
    {                                                                        \
        for (int64_t i = 0; i < count; i++)                                  \
            memcpy(to + i * to_step, from + i * from_step, size);            \
    }
COPY_ROW(1)
COPY_ROW(2)
COPY_ROW(4)
COPY_ROW(8)

static copy_row *row_copier(size_t size)
{
    return size == 1   ? copy_row_1
           : size == 2 ? copy_row_2
           : size == 4 ? copy_row_4
                       : copy_row_8;
}

/* The next index over the axes before the last; false after the last one. */
static bool advance(const kolk_view *view, int64_t *index)
{
    for (int axis = view->rank - 2; axis >= 0; axis--) {
        if (++index[axis] < view->shape[axis])
            return true;
        index[axis] = 0;
    }
    return false;
}

int kolk_host_copy(kolk_view to, kolk_view from, void *stream)
{
    (void)stream;
    const int64_t size = (int64_t)kolk_element_size(to.dtype);
    copy_row *const copy = row_copier((size_t)size);
    const int last = to.rank - 1;
    const int64_t count = to.rank == 0 ? 1 : to.shape[last];
    const int64_t to_step = to.rank == 0 ? 0 : to.stride[last] * size;
    const int64_t from_step = to.rank == 0 ? 0 : from.stride[last] * size;
    int64_t index[KOLK_MAX_RANK] = {0};
    do {
        copy((char *)to.data + kolk_view_offset_unchecked(&to, index) * size, to_step,
             (const char *)from.data + kolk_view_offset_unchecked(&from, index) * size,
             from_step, count);
    } while (advance(&to, index));
    return 0;
}

/* ---- by type ---- */

#define ACCUMULATE(name, sum, type)                                      \
    static void accumulate_##name(type *a, const type *b, int64_t count) \
    {                                                                    \
        for (int64_t i = 0; i < count; i++)                              \
            a[i] = sum(a[i], b[i]);                                      \
    }
ACCUMULATE(F32, kolk_f32_sum, float)
ACCUMULATE(F64, kolk_f64_sum, double)
ACCUMULATE(F16, kolk_f16_sum, kolk_f16)
ACCUMULATE(BF16, kolk_bf16_sum, kolk_bf16)
ACCUMULATE(I32, kolk_i32_sum, int32_t)
ACCUMULATE(I64, kolk_i64_sum, int64_t)
ACCUMULATE(U8, kolk_u8_sum, uint8_t)
ACCUMULATE(BOOL, kolk_bool_sum, bool)

int kolk_host_accumulate(kolk_view a, kolk_view b, void *stream)
{
    (void)stream;
    switch (a.dtype) {
#define X(name, value, size, type, text)                      \
    case KOLK_##name:                                         \
        accumulate_##name(a.data, b.data, kolk_count_of(&a)); \
        break;
        KOLK_DTYPE_LIST(X)
#undef X
    }
    return 0;
}

/* ---- cast ---- */

enum { CHUNK = 256 };

#define CASE(name, type, convert)                      \
    case KOLK_##name:                                  \
        for (int64_t i = 0; i < count; i++)            \
            out[i] = convert(((const type *)from)[i]); \
        break

static void load_reals(kolk_dtype dtype, const void *from, int64_t count, double *out)
{
    switch (dtype) {
        CASE(F32, float, (double));
        CASE(F64, double, );
        CASE(F16, kolk_f16, kolk_real_of_f16);
        CASE(BF16, kolk_bf16, kolk_real_of_bf16);
    default:
        break;
    }
}

static void load_wholes(kolk_dtype dtype, const void *from, int64_t count, int64_t *out)
{
    switch (dtype) {
        CASE(I32, int32_t, );
        CASE(I64, int64_t, );
        CASE(U8, uint8_t, );
        CASE(BOOL, bool, );
    default:
        break;
    }
}
#undef CASE

#define STORE(name, type, convert)              \
    case KOLK_##name:                           \
        for (int64_t i = 0; i < count; i++)     \
            ((type *)to)[i] = convert(from[i]); \
        break

#define STORES(kind)                             \
    STORE(F32, float, kolk_f32_of_##kind);       \
    STORE(F64, double, kolk_f64_of_##kind);      \
    STORE(F16, kolk_f16, kolk_f16_of_##kind);    \
    STORE(BF16, kolk_bf16, kolk_bf16_of_##kind); \
    STORE(I32, int32_t, kolk_i32_of_##kind);     \
    STORE(I64, int64_t, kolk_i64_of_##kind);     \
    STORE(U8, uint8_t, kolk_u8_of_##kind);       \
    STORE(BOOL, bool, kolk_bool_of_##kind)

static void store_reals(kolk_dtype dtype, void *to, const double *from, int64_t count)
{
    switch (dtype) {
        STORES(real);
    }
}

static void store_wholes(kolk_dtype dtype, void *to, const int64_t *from, int64_t count)
{
    switch (dtype) {
        STORES(whole);
    }
}

static void cast_chunk(kolk_dtype to_type, void *to, kolk_dtype from_type,
                       const void *from, int64_t count)
{
    union {
        double reals[CHUNK];
        int64_t wholes[CHUNK];
    } chunk;
    if (kolk_dtype_is_real(from_type)) {
        load_reals(from_type, from, count, chunk.reals);
        store_reals(to_type, to, chunk.reals, count);
    } else {
        load_wholes(from_type, from, count, chunk.wholes);
        store_wholes(to_type, to, chunk.wholes, count);
    }
}

int kolk_host_cast(kolk_view to, kolk_view from, void *stream)
{
    (void)stream;
    const size_t to_size = kolk_element_size(to.dtype);
    const size_t from_size = kolk_element_size(from.dtype);
    const int64_t count = kolk_count_of(&to);
    for (int64_t begin = 0; begin < count; begin += CHUNK) {
        const int64_t left = count - begin;
        cast_chunk(to.dtype, (char *)to.data + (size_t)begin * to_size, from.dtype,
                   (const char *)from.data + (size_t)begin * from_size,
                   left < CHUNK ? left : CHUNK);
    }
    return 0;
}
