/* SPDX-License-Identifier: MIT */

/* Extents, strides, counts, and element types. */

#include "suite.h"
#include <kolk/view.h>
#include <string.h>

typedef struct row {
    int rank;
    int64_t shape[KOLK_MAX_RANK];
    int64_t stride[KOLK_MAX_RANK];
    int64_t numel;
} row;

static const row rows[] = {
    {3, {2, 3, 4}, {12, 4, 1}, 24},
    {2, {10, 20}, {20, 1}, 200},
    {3, {3, 4, 5}, {20, 5, 1}, 60},
    {3, {5, 1, 3}, {3, 3, 1}, 15},
    {3, {2, 0, 3}, {0, 3, 1}, 0},
    {0, {0}, {0}, 1},
    {1, {0}, {1}, 0},
    {2, {INT64_MAX, 0}, {0, 1}, 0},
    {2, {1, INT64_MAX}, {INT64_MAX, 1}, INT64_MAX},
    {8, {1, 2, 1, 2, 1, 2, 1, 2}, {16, 8, 8, 4, 4, 2, 2, 1}, 16},
    {2, {5, 3}, {3, 1}, 15},
    {2, {4, 6}, {6, 1}, 24},
    {2, {5, 4}, {4, 1}, 20},
    {2, {2, 3}, {3, 1}, 6},
    {3, {2, 2, 3}, {6, 3, 1}, 12},
};

START_TEST(strides_are_row_major_and_count_elements)
{
    const row *const x = &rows[_i];
    int64_t stride[KOLK_MAX_RANK] = {0};
    int64_t numel = -1;
    ck_assert_ok(kolk_shape_strides(x->rank, x->shape, stride, &numel));
    ck_assert_int_eq(numel, x->numel);
    for (int axis = 0; axis < KOLK_MAX_RANK; axis++)
        ck_assert_int_eq(stride[axis], x->stride[axis]);
}
END_TEST

START_TEST(strides_need_not_be_wanted)
{
    int64_t numel = -1;
    ck_assert_ok(kolk_shape_strides(0, NULL, NULL, &numel));
    ck_assert_int_eq(numel, 1);
    ck_assert_ok(kolk_shape_strides(2, (int64_t[]){2, 3}, NULL, &numel));
    ck_assert_int_eq(numel, 6);
}
END_TEST

typedef struct bad {
    int rank;
    int64_t shape[KOLK_MAX_RANK + 1];
    kolk_status status;
    const char *text;
} bad;

static const bad bads[] = {
    {2, {INT64_MAX, 2}, KOLK_SHAPE_OVERFLOW, "[9223372036854775807,2]"},
    {3, {0, INT64_MAX, 2}, KOLK_SHAPE_OVERFLOW, "[0,9223372036854775807,2]"},
    {4, {1LL << 16, 1LL << 16, 1LL << 16, 1LL << 16}, KOLK_SHAPE_OVERFLOW, "[65536,"},
    {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, KOLK_OUT_OF_RANGE, "rank 9 is not in 0 to 8"},
    {-1, {0}, KOLK_OUT_OF_RANGE, "rank -1 is not in 0 to 8"},
    {3, {2, -5, 3}, KOLK_OUT_OF_RANGE, "axis 1 is -5, less than 0"},
    {2, {INT64_MIN, 1}, KOLK_OUT_OF_RANGE, "axis 0 is -9223372036854775808"},
};

START_TEST(a_shape_that_cannot_be_is_refused_with_its_numbers)
{
    const bad *const x = &bads[_i];
    int64_t stride[KOLK_MAX_RANK + 1] = {77, 77};
    int64_t numel = 77;
    ck_assert_fails(kolk_shape_strides(x->rank, x->shape, stride, &numel), x->status);
    ck_assert_message(x->text);
    ck_assert_int_eq(numel, 77);
    ck_assert_int_eq(stride[0], 77);
    ck_assert_int_eq(stride[1], 77);
}
END_TEST

START_TEST(the_longest_shape_still_fits_the_message)
{
    int64_t numel = 0;
    const int64_t shape[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                             INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    ck_assert_fails(kolk_shape_strides(8, shape, NULL, &numel), KOLK_SHAPE_OVERFLOW);
    ck_assert_message(",9223372036854775807] cannot be counted in 64 bits");
}
END_TEST

START_TEST(every_type_has_a_size_and_a_name)
{
    const struct {
        kolk_dtype dtype;
        size_t size;
        const char *name;
    } types[] = {{KOLK_F32, 4, "f32"},   {KOLK_F64, 8, "f64"},  {KOLK_F16, 2, "f16"},
                 {KOLK_BF16, 2, "bf16"}, {KOLK_I32, 4, "i32"},  {KOLK_I64, 8, "i64"},
                 {KOLK_U8, 1, "u8"},     {KOLK_BOOL, 1, "bool"}};
    ck_assert_uint_eq(sizeof types / sizeof types[0], KOLK_DTYPE_COUNT);
    for (int i = 0; i < KOLK_DTYPE_COUNT; i++) {
        ck_assert_uint_eq(kolk_dtype_size(types[i].dtype), types[i].size);
        ck_assert_str_eq(kolk_dtype_name(types[i].dtype), types[i].name);
    }
}
END_TEST

START_TEST(an_unknown_type_has_no_size_and_no_name)
{
    ck_assert_uint_eq(kolk_dtype_size((kolk_dtype)8), 0);
    ck_assert_str_eq(kolk_dtype_name((kolk_dtype)8), "?");
}
END_TEST

START_TEST(a_c_expression_has_a_type)
{
    ck_assert_int_eq(KOLK_DTYPE_OF(1.0f), KOLK_F32);
    ck_assert_int_eq(KOLK_DTYPE_OF(1.0), KOLK_F64);
    ck_assert_int_eq(KOLK_DTYPE_OF((kolk_f16){0}), KOLK_F16);
    ck_assert_int_eq(KOLK_DTYPE_OF((kolk_bf16){0}), KOLK_BF16);
    ck_assert_int_eq(KOLK_DTYPE_OF((int32_t)1), KOLK_I32);
    ck_assert_int_eq(KOLK_DTYPE_OF((int64_t)1), KOLK_I64);
    ck_assert_int_eq(KOLK_DTYPE_OF((uint8_t)1), KOLK_U8);
    ck_assert_int_eq(KOLK_DTYPE_OF((bool)true), KOLK_BOOL);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

int main(void)
{
    Suite *const suite = suite_create("shape");
    TCase *const core = tcase_create("core");
    tcase_add_loop_test(core, strides_are_row_major_and_count_elements, 0, COUNT(rows));
    tcase_add_test(core, strides_need_not_be_wanted);
    tcase_add_loop_test(core, a_shape_that_cannot_be_is_refused_with_its_numbers, 0,
                        COUNT(bads));
    tcase_add_test(core, the_longest_shape_still_fits_the_message);
    tcase_add_test(core, every_type_has_a_size_and_a_name);
    tcase_add_test(core, an_unknown_type_has_no_size_and_no_name);
    tcase_add_test(core, a_c_expression_has_a_type);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
