/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_TENSOR_RIG_H
#define KOLK_TESTS_TENSOR_RIG_H

/* What tensor tests work on: a device, two pools and two streams of it, and bit
 * patterns that no arithmetic would leave alone. Every test opens the rig of its
 * row; when it has passed, nothing may be left in the pools, or on the device. */

#include "rows.h"
#include "work.h"
#include <kolk/stats.h>
#include <kolk/tensor.h>
#include <string.h>

typedef struct tensor_rig {
    kolk_device device;
    kolk_pool *pool, *second;
    kolk_stream *stream, *other;
} tensor_rig;

static tensor_rig rig;

enum { TYPES = KOLK_DTYPE_COUNT, SCRIBBLE = 0xa5 };

#define EXTENTS(...) ((const int64_t[]){__VA_ARGS__})
#define SHAPE(...) \
    .rank = (int)(sizeof EXTENTS(__VA_ARGS__) / sizeof(int64_t)), .shape = {__VA_ARGS__}

static inline void rig_open(int row)
{
    rig.device = row_device(row);
    ck_assert_ok(kolk_pool_create(rig.device, NULL, &rig.pool));
    ck_assert_ok(kolk_pool_create(rig.device, NULL, &rig.second));
    rig.stream = new_stream(rig.device);
    rig.other = new_stream(rig.device);
}

static inline size_t requested(kolk_pool *pool)
{
    return kolk_pool_stats_of(pool).requested.current;
}

static inline void close_pool(kolk_pool **pool)
{
    ck_assert_ok(kolk_pool_check(*pool));
    ck_assert_uint_eq(kolk_pool_stats_of(*pool).allocated.current, 0);
    kolk_pool_destroy(pool);
}

static inline void rig_finish(void)
{
    if (rig.pool != NULL) {
        close_pool(&rig.pool);
        close_pool(&rig.second);
        kolk_stream_destroy(&rig.stream);
        kolk_stream_destroy(&rig.other);
    }
    rows_finish();
}

/* Runs `test` for every row. */
#define RIG_ADD(tcase, test) tcase_add_loop_test(tcase, test, rows_begin(), rows_end())

/* Leaves bytes that are not 0 in the memory that `size` bytes will get next. */
static inline void scribble(kolk_pool *pool, size_t size)
{
    kolk_block *a KOLK_AUTO(kolk_block_free) = NULL;
    kolk_block *b KOLK_AUTO(kolk_block_free) = NULL;
    ck_assert_ok(kolk_block_alloc(pool, size, rig.stream, &a));
    ck_assert_ok(kolk_block_alloc(pool, size, rig.stream, &b));
    ck_assert_ok(kolk_fill_queue(rig.stream, kolk_block_data(a), SCRIBBLE, size));
    ck_assert_ok(kolk_fill_queue(rig.stream, kolk_block_data(b), SCRIBBLE, size));
}

static inline kolk_tensor *new_tensor(kolk_dtype dtype, int64_t rows, int64_t columns)
{
    kolk_tensor *tensor = NULL;
    const kolk_tensor_spec spec = {.dtype = dtype, .rank = 2, .shape = {rows, columns}};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &tensor));
    return tensor;
}

/* As f32: infinities, zeros, quiet and signalling NaNs with payloads, the least
 * and the largest; every other type finds its own among the bytes. */
enum { PATTERN_BYTES = 48 };
static const uint32_t patterns[PATTERN_BYTES / 4] = {
    0x7f800000, 0xff800000, 0x80000000, 0x00000000, 0x7fc12345, 0xffd54321,
    0x7f812345, 0xff8fedcb, 0x7c017e01, 0xfff00001, 0x00000001, 0xff7fffff};

/* A tensor of those bytes, [2, n]. */
static inline kolk_tensor *new_pattern(kolk_dtype dtype)
{
    kolk_tensor *tensor = NULL;
    const int64_t count = PATTERN_BYTES / (int64_t)kolk_dtype_size(dtype);
    const kolk_tensor_spec spec = {.dtype = dtype, .rank = 2, .shape = {2, count / 2}};
    ck_assert_ok(
        kolk_tensor_from_host(rig.pool, &spec, patterns, count, rig.stream, &tensor));
    return tensor;
}

static inline void assert_pattern(const kolk_tensor *tensor)
{
    uint8_t out[PATTERN_BYTES];
    ck_assert_ok(kolk_tensor_read(tensor, out, kolk_tensor_numel(tensor)));
    ck_assert_mem_eq(out, patterns, PATTERN_BYTES);
}

static inline kolk_tensor *new_values(kolk_stream *stream, int64_t rows,
                                      int64_t columns, float first)
{
    float values[64];
    kolk_tensor *tensor = NULL;
    const kolk_tensor_spec spec = {.rank = 2, .shape = {rows, columns}};
    for (int i = 0; i < rows * columns; i++)
        values[i] = first + (float)i;
    ck_assert_ok(kolk_tensor_from_host(rig.pool, &spec, values, rows * columns, stream,
                                       &tensor));
    return tensor;
}

static inline void assert_values(const kolk_tensor *tensor, const float *expected,
                                 int64_t count)
{
    float out[64];
    ck_assert_ok(kolk_tensor_read(tensor, out, count));
    ck_assert_mem_eq(out, expected, (size_t)count * sizeof *out);
}

/* Writes bytes into the gradient, and looks at them. */
static inline void fill_grad(kolk_tensor *tensor, int byte)
{
    const kolk_view grad = kolk_tensor_grad(tensor);
    const size_t size = (size_t)kolk_view_numel(&grad) * kolk_dtype_size(grad.dtype);
    ck_assert_ok(kolk_fill_queue(rig.stream, grad.data, byte, size));
}

static inline void assert_grad(kolk_stream *stream, const kolk_tensor *tensor, int byte)
{
    const kolk_view grad = kolk_tensor_grad(tensor);
    const size_t size = (size_t)kolk_view_numel(&grad) * kolk_dtype_size(grad.dtype);
    assert_bytes(stream, grad.data, byte, size);
}

#endif
