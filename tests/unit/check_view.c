/* SPDX-License-Identifier: MIT */

/* Indices, slices, transposes and reshapes of geometry alone. */

#include "suite.h"
#include <kolk/view.h>
#include <string.h>

static char memory[4096];

static kolk_view view_of(int rank, const int64_t *shape)
{
    kolk_view view = {.data = memory, .dtype = KOLK_F32, .rank = rank};
    int64_t numel;
    ck_assert_ok(kolk_shape_strides(rank, shape, view.stride, &numel));
    if (rank > 0)
        memcpy(view.shape, shape, (size_t)rank * sizeof *shape);
    return view;
}

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define VIEW(...) \
    view_of((int)(sizeof SHAPE(__VA_ARGS__) / sizeof(int64_t)), SHAPE(__VA_ARGS__))

static int64_t at(const kolk_view *view, const int64_t *index, int rank)
{
    int64_t offset = -1;
    ck_assert_ok(kolk_view_offset(view, index, rank, &offset));
    ck_assert_int_eq(offset, kolk_view_offset_unchecked(view, index));
    return offset;
}

static void assert_same(const kolk_view *a, const kolk_view *b)
{
    ck_assert(a->data == b->data && a->rank == b->rank && a->dtype == b->dtype);
    ck_assert_mem_eq(a->shape, b->shape, sizeof a->shape);
    ck_assert_mem_eq(a->stride, b->stride, sizeof a->stride);
}

/* ---- index ---- */

START_TEST(an_index_is_the_sum_of_its_strides)
{
    const kolk_view plane = VIEW(10, 20);
    const kolk_view cube = VIEW(2, 2, 3);
    const kolk_view scalar = view_of(0, NULL);
    ck_assert_int_eq(at(&plane, KOLK_AT(3, 7)), 67);
    ck_assert_int_eq(at(&plane, KOLK_AT(9, 19)), 199);
    ck_assert_int_eq(at(&cube, KOLK_AT(1, 0, 2)), 8);
    ck_assert_int_eq(at(&scalar, (int64_t[]){0}, 0), 0);
}
END_TEST

START_TEST(the_first_axis_out_of_bounds_is_named)
{
    const kolk_view cube = VIEW(2, 2, 3);
    int64_t offset = 77;
    ck_assert_fails(kolk_view_offset(&cube, KOLK_AT(1, 2, 0), &offset),
                    KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 1: index 2 is out of range, the extent is 2");
    ck_assert_fails(kolk_view_offset(&cube, KOLK_AT(1, 9, 9), &offset),
                    KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 1: index 9");
    ck_assert_fails(kolk_view_offset(&cube, KOLK_AT(-1, 0, 0), &offset),
                    KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 0: index -1 is out of range, the extent is 2");
    ck_assert_int_eq(offset, 77);
}
END_TEST

START_TEST(the_rank_of_an_index_is_compared_first)
{
    const kolk_view cube = VIEW(2, 2, 3);
    int64_t offset = 77;
    ck_assert_fails(kolk_view_offset(&cube, KOLK_AT(9, 9), &offset),
                    KOLK_INVALID_ARGUMENT);
    ck_assert_message("expected 3, actual 2");
    ck_assert_int_eq(offset, 77);
}
END_TEST

START_TEST(the_unchecked_index_checks_nothing)
{
    const kolk_view view = VIEW(2, 3, 4);
    ck_assert_int_eq(kolk_view_offset_unchecked(&view, (int64_t[]){5, 0, 0}), 60);
}
END_TEST

/* ---- contiguity ---- */

START_TEST(contiguous_is_row_major_without_gaps)
{
    kolk_view view = VIEW(4, 1, 6);
    ck_assert(kolk_view_is_contiguous(&view));
    view.stride[1] = 999; /* of an axis with one element */
    ck_assert(kolk_view_is_contiguous(&view));
    ck_assert_ok(kolk_view_slice(&view, 0, 1, 3, &view));
    ck_assert(kolk_view_is_contiguous(&view));
    ck_assert_ok(kolk_view_slice(&view, 2, 0, 5, &view));
    ck_assert(!kolk_view_is_contiguous(&view));
    ck_assert_ok(kolk_view_slice(&view, 2, 5, 5, &view));
    ck_assert(kolk_view_is_contiguous(&view)); /* nothing in it, so no gaps */
    view = view_of(0, NULL);
    ck_assert(kolk_view_is_contiguous(&view));
    ck_assert_int_eq(kolk_view_numel(&view), 1);
}
END_TEST

/* ---- slice ---- */

START_TEST(a_slice_starts_further_on_and_keeps_its_strides)
{
    const kolk_view view = VIEW(5, 4);
    kolk_view slice;
    ck_assert_ok(kolk_view_slice(&view, 1, 1, 3, &slice));
    ck_assert_ptr_eq(slice.data, memory + 4);
    ck_assert_int_eq(slice.shape[0], 5);
    ck_assert_int_eq(slice.shape[1], 2);
    ck_assert_int_eq(slice.stride[0], 4);
    ck_assert_int_eq(slice.stride[1], 1);
    ck_assert_ok(kolk_view_slice(&slice, 0, 2, 5, &slice));
    ck_assert_ptr_eq(slice.data, memory + 4 + 32);
    ck_assert_int_eq(kolk_view_numel(&slice), 6);
}
END_TEST

START_TEST(a_slice_may_be_empty_and_of_nothing)
{
    kolk_view view = VIEW(0, 3);
    view.data = NULL;
    ck_assert_ok(kolk_view_slice(&view, 1, 1, 2, &view));
    ck_assert_ptr_null(view.data);
    ck_assert_ok(kolk_view_slice(&view, 0, 0, 0, &view));
    ck_assert_int_eq(kolk_view_numel(&view), 0);
}
END_TEST

START_TEST(a_slice_out_of_range_says_all_its_numbers)
{
    const kolk_view view = VIEW(5, 4);
    kolk_view slice = view;
    ck_assert_fails(kolk_view_slice(&view, 1, 2, 5, &slice), KOLK_OUT_OF_RANGE);
    ck_assert_message("[2, 5) of axis 1 is out of range, the extent is 4");
    ck_assert_fails(kolk_view_slice(&view, 1, 3, 2, &slice), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_view_slice(&view, 1, -1, 2, &slice), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_view_slice(&view, 2, 0, 1, &slice), KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 2 is out of range, the rank is 2");
    ck_assert_fails(kolk_view_slice(&view, -1, 0, 1, &slice), KOLK_OUT_OF_RANGE);
    assert_same(&slice, &view);
}
END_TEST

/* ---- transpose ---- */

START_TEST(a_transpose_swaps_extents_and_strides)
{
    const kolk_view view = VIEW(2, 3, 4);
    kolk_view turned;
    ck_assert_ok(kolk_view_transpose(&view, 0, 2, &turned));
    ck_assert_int_eq(turned.shape[0], 4);
    ck_assert_int_eq(turned.shape[2], 2);
    ck_assert_int_eq(turned.stride[0], 1);
    ck_assert_int_eq(turned.stride[2], 12);
    ck_assert_ptr_eq(turned.data, view.data);
    ck_assert(!kolk_view_is_contiguous(&turned));
    ck_assert_ok(kolk_view_transpose(&turned, 2, 0, &turned));
    assert_same(&turned, &view);
    ck_assert_fails(kolk_view_transpose(&view, 0, 3, &turned), KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 3 is out of range, the rank is 3");
    ck_assert_fails(kolk_view_transpose(&view, -1, 0, &turned), KOLK_OUT_OF_RANGE);
    assert_same(&turned, &view);
}
END_TEST

/* ---- reshape ---- */

START_TEST(a_reshape_keeps_elements_and_address)
{
    const kolk_view view = VIEW(4, 6);
    const kolk_view expected = VIEW(2, 2, 6);
    kolk_view other;
    ck_assert_ok(kolk_view_reshape(&view, 3, (int64_t[]){2, 2, 6}, &other));
    assert_same(&other, &expected);
}
END_TEST

START_TEST(a_reshape_to_another_count_says_both)
{
    const kolk_view view = VIEW(4, 6);
    kolk_view other = view;
    ck_assert_fails(kolk_view_reshape(&view, 2, (int64_t[]){5, 5}, &other),
                    KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected 24 elements, actual 25");
    ck_assert_fails(kolk_view_reshape(&view, 2, (int64_t[]){INT64_MAX, 2}, &other),
                    KOLK_SHAPE_OVERFLOW);
    assert_same(&other, &view);
}
END_TEST

START_TEST(a_view_with_gaps_is_not_reshaped)
{
    const kolk_view view = VIEW(4, 6);
    kolk_view turned;
    kolk_view other = view;
    ck_assert_ok(kolk_view_transpose(&view, 0, 1, &turned));
    ck_assert_fails(kolk_view_reshape(&turned, 1, (int64_t[]){24}, &other),
                    KOLK_UNSUPPORTED);
    ck_assert_message("[6,4]");
    assert_same(&other, &view);
}
END_TEST

START_TEST(a_scalar_and_one_element_are_each_others_reshape)
{
    kolk_view view = VIEW(1, 1);
    ck_assert_ok(kolk_view_reshape(&view, 0, NULL, &view));
    ck_assert_int_eq(view.rank, 0);
    ck_assert_int_eq(kolk_view_numel(&view), 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("view");
    TCase *const core = tcase_create("core");
    tcase_add_test(core, an_index_is_the_sum_of_its_strides);
    tcase_add_test(core, the_first_axis_out_of_bounds_is_named);
    tcase_add_test(core, the_rank_of_an_index_is_compared_first);
    tcase_add_test(core, the_unchecked_index_checks_nothing);
    tcase_add_test(core, contiguous_is_row_major_without_gaps);
    tcase_add_test(core, a_slice_starts_further_on_and_keeps_its_strides);
    tcase_add_test(core, a_slice_may_be_empty_and_of_nothing);
    tcase_add_test(core, a_slice_out_of_range_says_all_its_numbers);
    tcase_add_test(core, a_transpose_swaps_extents_and_strides);
    tcase_add_test(core, a_reshape_keeps_elements_and_address);
    tcase_add_test(core, a_reshape_to_another_count_says_both);
    tcase_add_test(core, a_view_with_gaps_is_not_reshaped);
    tcase_add_test(core, a_scalar_and_one_element_are_each_others_reshape);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
