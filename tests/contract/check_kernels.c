/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* What runs over elements of every type, against references that share nothing
 * with it: 16-bit floats are found by search among all of them. */

#include "tensor_rig.h"
#include <math.h>
#include <stdlib.h>

/* ---- 16-bit floats, from their definition ---- */

typedef struct format {
    kolk_dtype dtype;
    int exponent, mantissa;
} format;

static const format formats[] = {{KOLK_F16, 5, 10}, {KOLK_BF16, 8, 7}};

/* The first of the infinities; all below, taken as numbers, rise with their bits. */
static uint16_t infinity_of(const format *f)
{
    return (uint16_t)(((1 << f->exponent) - 1) << f->mantissa);
}

static double value_of(const format *f, uint16_t bits)
{
    const int mantissa = bits & ((1 << f->mantissa) - 1);
    const int exponent = (bits & 0x7fff) >> f->mantissa;
    const int bias = (1 << (f->exponent - 1)) - 1;
    const double size = exponent == 0 ? ldexp(mantissa, 1 - bias - f->mantissa)
                                      : ldexp(mantissa + (1 << f->mantissa),
                                              exponent - bias - f->mantissa);
    return bits & 0x8000 ? -size : size;
}

/* For loops over many: an assertion that holds costs too much there. */
static void must_equal(int actual, int expected, int i)
{
    if (actual != expected)
        ck_abort_msg("%#x of %#x, not %#x", (unsigned)actual, (unsigned)i,
                     (unsigned)expected);
}

/* Casts `count` values on the rig's device. */
static void cast(kolk_dtype to, void *out, kolk_dtype from, const void *values,
                 int64_t count)
{
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {
        .dtype = from, .rank = 1, .shape = {count}, .no_grad = true};
    ck_assert_ok(kolk_tensor_from_host(rig.pool, &spec, values, count, rig.stream, &x));
    ck_assert_ok(kolk_tensor_cast(x, to, &y));
    ck_assert_ok(kolk_tensor_read(y, out, count));
}

START_TEST(every_16_bit_float_widens_exactly_and_comes_back)
{
    rig_open(_i);
    enum { ALL = 65536 };
    uint16_t *const bits = calloc(ALL, sizeof *bits);
    uint16_t *const back = calloc(ALL, sizeof *back);
    float *const wide = calloc(ALL, sizeof *wide);
    for (size_t k = 0; k < 2; k++) {
        const format *const f = &formats[k];
        for (int i = 0; i < ALL; i++)
            bits[i] = (uint16_t)i;
        cast(KOLK_F32, wide, f->dtype, bits, ALL);
        cast(f->dtype, back, KOLK_F32, wide, ALL);
        for (int i = 0; i < ALL; i++) {
            const bool is_nan = (i & 0x7fff) > infinity_of(f);
            const int quiet = is_nan ? 1 << (f->mantissa - 1) : 0;
            must_equal(back[i], i | quiet, i);
            if ((i & 0x7fff) < infinity_of(f))
                must_equal(wide[i] == (float)value_of(f, bits[i]), true, i);
            must_equal(isnan(wide[i]) != 0, is_nan, i);
        }
    }
    free(bits);
    free(back);
    free(wide);
}
END_TEST

/* Between neighbours a < b: the middle goes to the even one, all else to the near
 * one. The last pair ends at the number that infinity stands for. */
START_TEST(narrowing_rounds_to_nearest_even_between_all_neighbours)
{
    rig_open(_i);
    for (size_t k = 0; k < 2; k++) {
        const format *const f = &formats[k];
        const int count = infinity_of(f);
        double *const values = calloc((size_t)count * 3, sizeof *values);
        uint16_t *const out = calloc((size_t)count * 3, sizeof *out);
        for (int i = 0; i < count; i++) {
            const double middle =
                (value_of(f, (uint16_t)i) + value_of(f, (uint16_t)(i + 1))) / 2;
            values[3 * i] = nextafter(middle, 0);
            values[3 * i + 1] = -middle;
            values[3 * i + 2] = nextafter(middle, INFINITY);
        }
        cast(f->dtype, out, KOLK_F64, values, (int64_t)count * 3);
        for (int i = 0; i < count; i++) {
            must_equal(out[3 * i], i, i);
            must_equal(out[3 * i + 1], 0x8000 | (i + (i & 1)), i);
            must_equal(out[3 * i + 2], i + 1, i);
        }
        free(values);
        free(out);
    }
}
END_TEST

/* ---- other casts ---- */

typedef union bits {
    float f32;
    double f64;
    uint16_t f16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint32_t u32;
    uint64_t all;
} bits;

static const struct {
    kolk_dtype from;
    bits value;
    kolk_dtype to;
    bits expected;
} casts[] = {
    {KOLK_F32, {.f32 = 2.9f}, KOLK_I32, {.i32 = 2}},
    {KOLK_F32, {.f32 = -2.9f}, KOLK_I64, {.i64 = -2}},
    {KOLK_F32, {.f32 = 3e9f}, KOLK_I32, {.i32 = INT32_MAX}},
    {KOLK_F64, {.f64 = -1e300}, KOLK_I64, {.i64 = INT64_MIN}},
    {KOLK_F64, {.f64 = 1e300}, KOLK_I64, {.i64 = INT64_MAX}},
    {KOLK_F32, {.u32 = 0x7fc00000}, KOLK_I32, {.i32 = 0}},
    {KOLK_F32, {.f32 = -1}, KOLK_U8, {.u8 = 0}},
    {KOLK_F32, {.f32 = 300}, KOLK_U8, {.u8 = 255}},
    {KOLK_I64, {.i64 = 300}, KOLK_U8, {.u8 = 44}},
    {KOLK_I32, {.i32 = -1}, KOLK_U8, {.u8 = 255}},
    {KOLK_I64, {.i64 = (1LL << 32) + 5}, KOLK_I32, {.i32 = 5}},
    {KOLK_I64, {.i64 = INT64_MIN}, KOLK_F64, {.f64 = -0x1p63}},
    {KOLK_I64, {.i64 = (1LL << 53) + 1}, KOLK_F64, {.f64 = 0x1p53}},
    {KOLK_I64, {.i64 = (1LL << 60) + (1LL << 52)}, KOLK_BF16, {.f16 = 0x5d80}},
    {KOLK_I64, {.i64 = (1LL << 60) + (1LL << 52) + 1}, KOLK_BF16, {.f16 = 0x5d81}},
    {KOLK_I64, {.i64 = INT64_MIN}, KOLK_BF16, {.f16 = 0xdf00}},
    {KOLK_I32, {.i32 = 65520}, KOLK_F16, {.f16 = 0x7c00}},
    {KOLK_I32, {.i32 = 65519}, KOLK_F16, {.f16 = 0x7bff}},
    {KOLK_F32, {.f32 = 0.5f}, KOLK_BOOL, {.u8 = 1}},
    {KOLK_F32, {.f32 = -0.0f}, KOLK_BOOL, {.u8 = 0}},
    {KOLK_F32, {.u32 = 0x7fc00000}, KOLK_BOOL, {.u8 = 1}},
    {KOLK_I64, {.i64 = 1LL << 40}, KOLK_BOOL, {.u8 = 1}},
    {KOLK_F64, {.f64 = 1e300}, KOLK_F32, {.u32 = 0x7f800000}},
    {KOLK_F64, {.f64 = 1e300}, KOLK_F16, {.f16 = 0x7c00}},
    {KOLK_F64, {.f64 = 1e-300}, KOLK_F16, {.f16 = 0}},
    {KOLK_F32, {.f32 = -0.0f}, KOLK_F16, {.f16 = 0x8000}},
    {KOLK_F32, {.u32 = 0xff800000}, KOLK_BF16, {.f16 = 0xff80}},
    {KOLK_F32, {.u32 = 0x7fd2a000}, KOLK_F16, {.f16 = 0x7e95}},
    {KOLK_F32, {.u32 = 0xffd20000}, KOLK_BF16, {.f16 = 0xffd2}},
    {KOLK_F32, {.u32 = 0x7fc12345}, KOLK_F64, {.all = 0x7ff82468a0000000}},
};

START_TEST(casts_give_these_bits)
{
    rig_open(_i);
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        bits out = {.all = 0};
        cast(casts[i].to, &out, casts[i].from, &casts[i].value, 1);
        ck_assert_msg(memcmp(&out, &casts[i].expected, kolk_dtype_size(casts[i].to)) ==
                          0,
                      "row %zu, %s to %s: %llx", i, kolk_dtype_name(casts[i].from),
                      kolk_dtype_name(casts[i].to), (unsigned long long)out.all);
    }
}
END_TEST

/* Numbers that every type holds go round through every pair of types. */
START_TEST(small_numbers_survive_all_64_casts)
{
    rig_open(_i);
    enum { COUNT = 700 }; /* not a multiple of anything inside */
    float values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i % 2);
    for (int a = 0; a < TYPES; a++)
        for (int b = 0; b < TYPES; b++) {
            uint64_t first[COUNT];
            uint64_t second[COUNT];
            float out[COUNT];
            cast((kolk_dtype)a, first, KOLK_F32, values, COUNT);
            cast((kolk_dtype)b, second, (kolk_dtype)a, first, COUNT);
            cast(KOLK_F32, out, (kolk_dtype)b, second, COUNT);
            ck_assert_mem_eq(out, values, sizeof out);
        }
}
END_TEST

/* ---- sums ---- */

static const struct {
    kolk_dtype dtype;
    bits a, b, sum;
} sums[] = {
    {KOLK_F32, {.f32 = 0.1f}, {.f32 = 0.2f}, {.u32 = 0x3e99999a}},
    {KOLK_F64, {.f64 = 0.1}, {.f64 = 0.2}, {.all = 0x3fd3333333333334}},
    {KOLK_F16, {.f16 = 0x3c00}, {.f16 = 0x1000}, {.f16 = 0x3c00}},  /* 1 + 2^-11 */
    {KOLK_F16, {.f16 = 0x3c01}, {.f16 = 0x1000}, {.f16 = 0x3c02}},  /* to even */
    {KOLK_F16, {.f16 = 0x7bff}, {.f16 = 0x4c00}, {.f16 = 0x7c00}},  /* 65504 + 16 */
    {KOLK_BF16, {.f16 = 0x3f80}, {.f16 = 0x3b80}, {.f16 = 0x3f80}}, /* 1 + 2^-8 */
    {KOLK_BF16, {.f16 = 0x3f81}, {.f16 = 0x3b80}, {.f16 = 0x3f82}},
    {KOLK_I32, {.i32 = INT32_MAX}, {.i32 = 1}, {.i32 = INT32_MIN}},
    {KOLK_I64, {.i64 = INT64_MIN}, {.i64 = -1}, {.i64 = INT64_MAX}},
    {KOLK_U8, {.u8 = 200}, {.u8 = 100}, {.u8 = 44}},
    {KOLK_BOOL, {.u8 = 0}, {.u8 = 0}, {.u8 = 0}},
    {KOLK_BOOL, {.u8 = 1}, {.u8 = 1}, {.u8 = 1}},
    {KOLK_BOOL, {.u8 = 0}, {.u8 = 1}, {.u8 = 1}},
};

START_TEST(sums_round_once_integers_wrap_and_bool_is_or)
{
    rig_open(_i);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        kolk_tensor *a KOLK_AUTO(kolk_tensor_destroy) =
            new_tensor(sums[i].dtype, 30, 30);
        kolk_tensor *b KOLK_AUTO(kolk_tensor_destroy) =
            new_tensor(sums[i].dtype, 30, 30);
        bits out = {.all = 0};
        ck_assert_ok(kolk_tensor_fill(a, &sums[i].a));
        ck_assert_ok(kolk_tensor_fill(b, &sums[i].b));
        ck_assert_ok(kolk_tensor_accumulate(a, b));
        for (int64_t at = 0; at < 900; at += 899) {
            ck_assert_ok(kolk_tensor_get_flat(a, at, &out));
            ck_assert_msg(memcmp(&out, &sums[i].sum, kolk_dtype_size(sums[i].dtype)) ==
                              0,
                          "row %zu: %llx", i, (unsigned long long)out.all);
        }
    }
}
END_TEST

/* ---- strided copies ---- */

/* A view of four axes, turned twice and cut, against the index arithmetic. */
START_TEST(a_strided_copy_takes_each_element_from_where_its_index_says)
{
    rig_open(_i);
    for (int t = 0; t < TYPES; t++) {
        const size_t size = kolk_dtype_size((kolk_dtype)t);
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
        uint8_t in[120 * 8];
        uint8_t out[60 * 8];
        for (size_t i = 0; i < sizeof in; i++)
            in[i] = (uint8_t)(i * 37 + i / 256);
        const kolk_tensor_spec spec = {.dtype = (kolk_dtype)t, SHAPE(2, 3, 4, 5)};
        ck_assert_ok(kolk_tensor_from_host(rig.pool, &spec, in, 120, rig.stream, &x));
        kolk_view view = kolk_tensor_view(x);
        ck_assert_ok(kolk_view_slice(&view, 2, 1, 3, &view));
        ck_assert_ok(kolk_view_transpose(&view, 0, 3, &view));
        ck_assert_ok(kolk_view_transpose(&view, 1, 2, &view)); /* [5,2,3,2] */
        ck_assert_ok(kolk_tensor_from_view(rig.pool, &view, rig.stream, &y));
        ck_assert_ok(kolk_tensor_read(y, out, 60));
        size_t at = 0;
        for (size_t a = 0; a < 5; a++)
            for (size_t b = 0; b < 2; b++)
                for (size_t c = 0; c < 3; c++)
                    for (size_t d = 0; d < 2; d++, at++) {
                        const size_t from = d * 60 + c * 20 + (b + 1) * 5 + a;
                        ck_assert_mem_eq(out + at * size, in + from * size, size);
                    }
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("kernels");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, every_16_bit_float_widens_exactly_and_comes_back);
    RIG_ADD(core, narrowing_rounds_to_nearest_even_between_all_neighbours);
    RIG_ADD(core, casts_give_these_bits);
    RIG_ADD(core, small_numbers_survive_all_64_casts);
    RIG_ADD(core, sums_round_once_integers_wrap_and_bool_is_or);
    RIG_ADD(core, a_strided_copy_takes_each_element_from_where_its_index_says);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
