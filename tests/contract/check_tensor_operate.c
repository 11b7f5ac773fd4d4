/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* What changes a tensor in place, reads it through a view, or casts it. */

#include "tensor_rig.h"

/* ---- in place ---- */

START_TEST(fill_sets_every_element_of_any_type)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_tensor((kolk_dtype)i, 4, 6);
        const size_t size = kolk_dtype_size((kolk_dtype)i);
        uint8_t out[24 * 8];
        ck_assert_ok(kolk_tensor_fill(x, patterns));
        ck_assert_ok(kolk_tensor_read(x, out, 24));
        for (size_t k = 0; k < 24; k++)
            ck_assert_mem_eq(out + k * size, patterns, size);
        assert_grad(rig.stream, x, 0);
    }
}
END_TEST

START_TEST(accumulate_adds_across_streams_and_to_itself)
{
    rig_open(_i);
    kolk_tensor *a KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 2, 3, 1);
    kolk_tensor *b KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.other, 2, 3, 10);
    ck_assert_ok(kolk_tensor_accumulate(a, b));
    ck_assert_ok(kolk_tensor_fill(b, &(float){0})); /* only after it was read */
    assert_values(a, (const float[]){11, 13, 15, 17, 19, 21}, 6);
    ck_assert_ok(kolk_tensor_accumulate(a, a));
    assert_values(a, (const float[]){22, 26, 30, 34, 38, 42}, 6);
}
END_TEST

START_TEST(reshape_keeps_the_buffers_and_moves_indices)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 4, 6, 0);
    const void *const data = kolk_tensor_view(x).data;
    float value = 0;
    ck_assert_ok(kolk_tensor_reshape(x, 3, EXTENTS(2, 2, 6)));
    ck_assert_ptr_eq(kolk_tensor_view(x).data, data);
    ck_assert_int_eq(kolk_tensor_grad(x).rank, 3);
    ck_assert_ok(kolk_tensor_get(x, KOLK_AT(1, 0, 2), &value));
    ck_assert_float_eq(value, 14);
    ck_assert_fails(kolk_tensor_reshape(x, 2, EXTENTS(5, 5)), KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected 24 elements, actual 25");
    ck_assert_int_eq(kolk_tensor_view(x).rank, 3);
}
END_TEST

/* ---- views ---- */

START_TEST(any_view_becomes_a_contiguous_tensor_bit_for_bit)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_tensor *z KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_view view = kolk_tensor_view(x);
        ck_assert_ok(kolk_view_transpose(&view, 0, 1, &view));
        ck_assert_ok(kolk_tensor_from_view(rig.pool, &view, rig.stream, &y));
        view = kolk_tensor_view(y);
        ck_assert(kolk_view_is_contiguous(&view));
        ck_assert_int_eq(view.shape[1], 2);
        ck_assert_ok(kolk_view_transpose(&view, 0, 1, &view)); /* and back */
        ck_assert_ok(kolk_tensor_from_view(rig.second, &view, rig.stream, &z));
        assert_pattern(z);
    }
}
END_TEST

START_TEST(slices_repeats_and_reversals_are_copied_as_they_lie)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 5, 4, 0);
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *z KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *w KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_view view = kolk_tensor_view(x);
    ck_assert_ok(kolk_view_slice(&view, 1, 1, 3, &view));
    ck_assert_ok(kolk_view_slice(&view, 0, 3, 5, &view));
    ck_assert_ok(kolk_tensor_from_view(rig.pool, &view, rig.stream, &y));
    assert_values(y, (const float[]){13, 14, 17, 18}, 4);
    view.stride[0] = 0;
    ck_assert_ok(kolk_tensor_from_view(rig.pool, &view, rig.stream, &z));
    assert_values(z, (const float[]){13, 14, 13, 14}, 4);
    view.data = (char *)view.data + sizeof(float);
    view.stride[1] = -1;
    ck_assert_ok(kolk_tensor_from_view(rig.pool, &view, rig.stream, &w));
    assert_values(w, (const float[]){14, 13, 14, 13}, 4);
}
END_TEST

START_TEST(a_view_that_is_none_makes_no_tensor)
{
    rig_open(_i);
    kolk_tensor *y = NULL;
    kolk_view view = {.device = rig.device, .rank = 9};
    ck_assert_fails(kolk_tensor_from_view(rig.pool, &view, rig.stream, &y),
                    KOLK_OUT_OF_RANGE);
    view = (kolk_view){.device = rig.device, .dtype = (kolk_dtype)8};
    ck_assert_fails(kolk_tensor_from_view(rig.pool, &view, rig.stream, &y),
                    KOLK_INVALID_ARGUMENT);
    ck_assert_ptr_null(y);
}
END_TEST

/* ---- cast ---- */

START_TEST(a_cast_makes_a_new_tensor_without_gradient)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 2, 3, -2.5f);
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    int32_t out[6];
    ck_assert_ok(kolk_tensor_cast(x, KOLK_I32, &y));
    ck_assert(!kolk_tensor_has_grad(y));
    ck_assert_ok(kolk_tensor_read(y, out, 6));
    ck_assert_mem_eq(out, ((int32_t[]){-2, -1, 0, 0, 1, 2}), sizeof out);
}
END_TEST

START_TEST(a_cast_to_the_same_type_keeps_every_bit)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
        ck_assert_ok(kolk_tensor_cast(x, (kolk_dtype)i, &y));
        assert_pattern(y);
    }
}
END_TEST

START_TEST(a_cast_to_no_type_is_refused)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_F32, 5, 4);
    kolk_tensor *y = NULL;
    ck_assert_fails(kolk_tensor_cast(x, (kolk_dtype)-1, &y), KOLK_INVALID_ARGUMENT);
    ck_assert_message("element type -1 is not one of 0 to 7");
    ck_assert_ptr_null(y);
}
END_TEST

START_TEST(recorded_memory_waits_for_the_other_stream)
{
    rig_open(_i);
    kolk_tensor *x = new_values(rig.stream, 5, 3, 1);
    const kolk_view view = kolk_tensor_view(x);
    const kolk_view grad = kolk_tensor_grad(x);
    ck_assert_ok(kolk_stream_synchronize(rig.stream));
    ck_assert_ok(kolk_fill_queue(rig.other, view.data, 7, 15 * sizeof(float)));
    ck_assert_ok(kolk_fill_queue(rig.other, grad.data, 7, 15 * sizeof(float)));
    ck_assert_ok(kolk_tensor_record(x, rig.other));
    kolk_tensor_destroy(&x);
    x = new_values(rig.stream, 5, 3, 2); /* the emulator's oracle watches */
    ck_assert_ok(kolk_stream_synchronize(rig.other));
    float value = 0;
    ck_assert_ok(kolk_tensor_get_flat(x, 14, &value));
    ck_assert_float_eq(value, 16);
    kolk_tensor_destroy(&x);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("tensor_operate");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, fill_sets_every_element_of_any_type);
    RIG_ADD(core, accumulate_adds_across_streams_and_to_itself);
    RIG_ADD(core, reshape_keeps_the_buffers_and_moves_indices);
    RIG_ADD(core, any_view_becomes_a_contiguous_tensor_bit_for_bit);
    RIG_ADD(core, slices_repeats_and_reversals_are_copied_as_they_lie);
    RIG_ADD(core, a_view_that_is_none_makes_no_tensor);
    RIG_ADD(core, a_cast_makes_a_new_tensor_without_gradient);
    RIG_ADD(core, a_cast_to_the_same_type_keeps_every_bit);
    RIG_ADD(core, a_cast_to_no_type_is_refused);
    RIG_ADD(core, recorded_memory_waits_for_the_other_stream);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
