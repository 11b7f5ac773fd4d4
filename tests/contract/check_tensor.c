/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* A tensor's life and its values, of every element type, on every device. */

#include "tensor_rig.h"

/* ---- making ---- */

START_TEST(a_tensor_is_made_of_zeros_with_a_gradient)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
        const kolk_tensor_spec spec = {.dtype = (kolk_dtype)i, SHAPE(5, 3)};
        scribble(rig.pool, 15 * 8);
        ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
        const kolk_view view = kolk_tensor_view(x);
        const kolk_view grad = kolk_tensor_grad(x);
        ck_assert(view.rank == 2 && view.shape[0] == 5 && view.shape[1] == 3);
        ck_assert(view.stride[0] == 3 && view.stride[1] == 1);
        ck_assert_int_eq(view.dtype, i);
        ck_assert(kolk_device_equal(view.device, rig.device));
        ck_assert_ptr_ne(view.data, grad.data);
        ck_assert(kolk_tensor_has_grad(x) && kolk_tensor_requires_grad(x));
        ck_assert_ptr_eq(kolk_tensor_pool(x), rig.pool);
        ck_assert_int_eq(kolk_tensor_numel(x), 15);
        assert_bytes(rig.stream, view.data, 0, 15 * kolk_dtype_size(view.dtype));
        assert_bytes(rig.stream, grad.data, 0, 15 * kolk_dtype_size(view.dtype));
    }
}
END_TEST

START_TEST(an_uninitialised_tensor_is_left_as_it_is_but_its_gradient_is_zero)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(4, 6), .uninitialized = true};
    scribble(rig.pool, 24 * sizeof(float));
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
    assert_bytes(rig.stream, kolk_tensor_view(x).data, SCRIBBLE, 24 * sizeof(float));
    assert_bytes(rig.stream, kolk_tensor_grad(x).data, 0, 24 * sizeof(float));
}
END_TEST

START_TEST(a_tensor_without_gradient_has_one_buffer)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(4, 6), .no_grad = true, .frozen = true};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
    ck_assert(!kolk_tensor_has_grad(x) && !kolk_tensor_requires_grad(x));
    ck_assert_ptr_null(kolk_tensor_grad(x).data);
    ck_assert_uint_eq(requested(rig.pool), 24 * sizeof(float));
    ck_assert_ok(kolk_tensor_zero_grad(x)); /* nothing to do */
    kolk_tensor_set_requires_grad(x, true);
    ck_assert(kolk_tensor_requires_grad(x));
}
END_TEST

START_TEST(bytes_carry_the_tags_of_the_spec_and_of_grads)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(4, 6), .tag = KOLK_TAG_WEIGHTS};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
    const kolk_pool_stats stats = kolk_pool_stats_of(rig.pool);
    ck_assert_uint_gt(stats.tags[KOLK_TAG_WEIGHTS].current, 0);
    ck_assert_uint_gt(stats.tags[KOLK_TAG_GRADS].current, 0);
    ck_assert_uint_eq(stats.tags[KOLK_TAG_OTHER].current, 0);
}
END_TEST

static const kolk_tensor_spec empties[] = {{SHAPE(0)}, {SHAPE(2, 0, 3)}, {SHAPE(5, 0)}};

START_TEST(a_tensor_of_no_elements_allocates_nothing_and_can_do_everything)
{
    rig_open(_i);
    float nothing = 0;
    for (size_t i = 0; i < sizeof empties / sizeof *empties; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_tensor *z KOLK_AUTO(kolk_tensor_destroy) = NULL;
        ck_assert_ok(
            kolk_tensor_from_host(rig.pool, &empties[i], NULL, 0, rig.stream, &x));
        ck_assert_ptr_null(kolk_tensor_view(x).data);
        ck_assert_ptr_null(kolk_tensor_grad(x).data);
        ck_assert_int_eq(kolk_tensor_numel(x), 0);
        ck_assert_ok(kolk_tensor_read(x, NULL, 0));
        ck_assert_ok(kolk_tensor_write(x, NULL, 0));
        ck_assert_ok(kolk_tensor_fill(x, &nothing));
        ck_assert_ok(kolk_tensor_zero_grad(x));
        ck_assert_ok(kolk_tensor_clone(x, rig.stream, &y));
        ck_assert_ok(kolk_tensor_assign(y, x));
        ck_assert_ok(kolk_tensor_accumulate(y, x));
        ck_assert_ok(kolk_tensor_cast(x, KOLK_I32, &z));
        ck_assert_ok(kolk_tensor_record(x, rig.other));
        ck_assert_ok(kolk_tensor_to(x, rig.second, rig.stream));
        ck_assert_fails(kolk_tensor_get_flat(x, 0, &nothing), KOLK_OUT_OF_RANGE);
        ck_assert_message("position 0 is out of range, there are 0 elements");
        ck_assert_ok(kolk_tensor_consume(&x, NULL, 0));
    }
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).allocated.allocated, 0);
}
END_TEST

START_TEST(a_scalar_has_one_element_at_an_empty_index)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    float value = 0;
    ck_assert_ok(kolk_tensor_create(rig.pool, &(kolk_tensor_spec){0}, rig.stream, &x));
    ck_assert_int_eq(kolk_tensor_numel(x), 1);
    ck_assert_ok(kolk_tensor_set(x, NULL, 0, &(float){2.5f}));
    ck_assert_ok(kolk_tensor_get(x, NULL, 0, &value));
    ck_assert_float_eq(value, 2.5f);
}
END_TEST

static const struct {
    kolk_tensor_spec spec;
    kolk_status status;
    const char *text;
} bad_specs[] = {
    {{.dtype = (kolk_dtype)8},
     KOLK_INVALID_ARGUMENT,
     "element type 8 is not one of 0 to 7"},
    {{.tag = (kolk_tag)7}, KOLK_INVALID_ARGUMENT, "tag 7 is not one of 0 to 6"},
    {{.rank = 9}, KOLK_OUT_OF_RANGE, "rank 9 is not in 0 to 8"},
    {{SHAPE(3, -1)}, KOLK_OUT_OF_RANGE, "axis 1 is -1"},
    {{SHAPE(INT64_MAX, 2)}, KOLK_SHAPE_OVERFLOW, "[9223372036854775807,2]"},
    {{SHAPE(INT64_MAX)}, KOLK_SHAPE_OVERFLOW, "the bytes of f32 [9223372036854775807]"},
    {{SHAPE((int64_t)1 << 40)}, KOLK_OUT_OF_MEMORY, ""},
};

START_TEST(what_cannot_be_made_is_refused_and_leaves_nothing)
{
    rig_open(_i);
    for (size_t i = 0; i < sizeof bad_specs / sizeof *bad_specs; i++) {
        kolk_tensor *x = NULL;
        ck_assert_fails(
            kolk_tensor_create(rig.pool, &bad_specs[i].spec, rig.stream, &x),
            bad_specs[i].status);
        ck_assert_message(bad_specs[i].text);
        ck_assert_ptr_null(x);
    }
}
END_TEST

START_TEST(values_must_be_as_many_as_the_shape_says)
{
    rig_open(_i);
    const float values[4] = {1, 2, 3, 4};
    kolk_tensor *x = NULL;
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    float out[4] = {7, 7, 7, 7};
    const kolk_tensor_spec spec = {SHAPE(2, 2)};
    ck_assert_fails(kolk_tensor_from_host(rig.pool, &spec, values, 3, rig.stream, &x),
                    KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected 4 elements, actual 3");
    ck_assert_ptr_null(x);
    ck_assert_uint_eq(requested(rig.pool), 0);
    ck_assert_fails(kolk_tensor_from_host(rig.pool, &(kolk_tensor_spec){.rank = 9},
                                          values, 3, rig.stream, &x),
                    KOLK_OUT_OF_RANGE);
    ck_assert_ok(kolk_tensor_from_host(rig.pool, &spec, values, 4, rig.stream, &y));
    ck_assert_fails(kolk_tensor_read(y, out, 5), KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected 4 elements, actual 5");
    ck_assert_fails(kolk_tensor_write(y, out, 3), KOLK_SHAPE_MISMATCH);
    ck_assert_fails(kolk_tensor_consume(&y, out, 3), KOLK_SHAPE_MISMATCH);
    ck_assert_ptr_nonnull(y);
    ck_assert_float_eq(out[0], 7);
    ck_assert_ok(kolk_tensor_read(y, out, 4));
    ck_assert_mem_eq(out, values, sizeof values);
}
END_TEST

START_TEST(a_stream_of_another_device_is_refused)
{
    rig_open(_i);
    const kolk_device other = rig.device.kind == KOLK_HOST ? kolk_cuda(0) : kolk_host();
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_F32, 5, 3);
    kolk_tensor *y = NULL;
    if (other.kind == KOLK_CUDA && kolk_device_count(KOLK_CUDA) == 0)
        return;
    ck_assert_ok(kolk_stream_create(other, &stream));
    ck_assert_fails(kolk_tensor_create(rig.pool, &empties[0], stream, &y),
                    KOLK_DEVICE_MISMATCH);
    ck_assert_fails(kolk_tensor_clone(x, stream, &y), KOLK_DEVICE_MISMATCH);
    ck_assert_fails(kolk_tensor_record(x, stream), KOLK_DEVICE_MISMATCH);
    ck_assert_ptr_null(y);
}
END_TEST

START_TEST(the_default_stream_serves_when_none_is_named)
{
    rig_open(_i);
    float out[15];
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(5, 3)};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, NULL, &x));
    ck_assert_ok(kolk_tensor_fill(x, &(float){3}));
    ck_assert_ok(kolk_tensor_clone(x, rig.stream, &y));
    ck_assert_ok(kolk_tensor_read(y, out, 15));
    ck_assert_float_eq(out[14], 3);
}
END_TEST

/* ---- ownership ---- */

START_TEST(take_moves_the_same_buffers_and_empties_the_source)
{
    rig_open(_i);
    kolk_tensor *x = new_tensor(KOLK_F32, 5, 4);
    const kolk_view before = kolk_tensor_view(x);
    const size_t bytes = requested(rig.pool);
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = kolk_tensor_take(&x);
    ck_assert_ptr_null(x);
    ck_assert_ptr_eq(kolk_tensor_view(y).data, before.data);
    ck_assert_uint_eq(requested(rig.pool), bytes);
}
END_TEST

START_TEST(destroy_empties_the_variable_and_takes_nothing)
{
    rig_open(_i);
    kolk_tensor *x = new_tensor(KOLK_F32, 5, 4);
    kolk_tensor_destroy(&x);
    ck_assert_ptr_null(x);
    kolk_tensor_destroy(&x);
    ck_assert_uint_eq(requested(rig.pool), 0);
}
END_TEST

START_TEST(a_destroyed_tensors_memory_is_reused_in_stream_order)
{
    rig_open(_i);
    kolk_tensor *x = new_tensor(KOLK_F32, 5, 4);
    const void *const data = kolk_tensor_view(x).data;
    const void *const grad = kolk_tensor_grad(x).data;
    kolk_tensor_destroy(&x);
    x = new_tensor(KOLK_F32, 5, 4);
    ck_assert(kolk_tensor_view(x).data == data || kolk_tensor_view(x).data == grad);
    kolk_tensor_destroy(&x);
}
END_TEST

START_TEST(a_tensor_may_outlive_its_pools_owner)
{
    rig_open(_i);
    kolk_pool *pool = NULL;
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    float value = 0;
    ck_assert_ok(kolk_pool_create(rig.device, NULL, &pool));
    ck_assert_ok(
        kolk_tensor_create(pool, &(kolk_tensor_spec){SHAPE(5, 3)}, rig.stream, &x));
    kolk_pool_destroy(&pool);
    ck_assert_ok(kolk_tensor_set_flat(x, 14, &(float){4}));
    ck_assert_ok(kolk_tensor_get_flat(x, 14, &value));
    ck_assert_float_eq(value, 4);
}
END_TEST

/* ---- values ---- */

START_TEST(one_element_is_set_and_got_by_index_and_by_position)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
        const kolk_tensor_spec spec = {.dtype = (kolk_dtype)i, SHAPE(2, 2, 3)};
        const size_t size = kolk_dtype_size(spec.dtype);
        const uint64_t one = 0x0101010101010101;
        uint64_t a = 0;
        uint64_t b = 0;
        ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
        ck_assert_ok(kolk_tensor_set(x, KOLK_AT(1, 0, 2), &one));
        ck_assert_ok(kolk_tensor_get_flat(x, 8, &a));
        ck_assert_mem_eq(&a, &one, size);
        ck_assert_ok(kolk_tensor_set_flat(x, 11, &one));
        ck_assert_ok(kolk_tensor_get(x, KOLK_AT(1, 1, 2), &b));
        ck_assert_mem_eq(&b, &one, size);
        ck_assert_ok(kolk_tensor_get_flat(x, 10, &a));
        b = 0;
        ck_assert_mem_eq(&a, &b, size);
    }
}
END_TEST

START_TEST(an_index_or_position_out_of_range_is_named)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    float value = 7;
    const kolk_tensor_spec spec = {SHAPE(2, 2, 3)};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
    ck_assert_fails(kolk_tensor_get(x, KOLK_AT(1, 2, 0), &value), KOLK_OUT_OF_RANGE);
    ck_assert_message("axis 1: index 2 is out of range, the extent is 2");
    ck_assert_fails(kolk_tensor_set(x, KOLK_AT(1, 2), &value), KOLK_INVALID_ARGUMENT);
    ck_assert_message("expected 3, actual 2");
    ck_assert_fails(kolk_tensor_get_flat(x, 12, &value), KOLK_OUT_OF_RANGE);
    ck_assert_message("position 12 is out of range, there are 12 elements");
    ck_assert_fails(kolk_tensor_set_flat(x, -1, &value), KOLK_OUT_OF_RANGE);
    ck_assert_float_eq(value, 7);
    assert_bytes(rig.stream, kolk_tensor_view(x).data, 0, 12 * sizeof(float));
}
END_TEST

START_TEST(every_bit_pattern_survives_the_way_in_and_out)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        uint8_t out[PATTERN_BYTES] = {0};
        kolk_tensor *x = new_pattern((kolk_dtype)i);
        const int64_t count = kolk_tensor_numel(x);
        ck_assert_ok(kolk_tensor_read(x, out, count));
        ck_assert_mem_eq(out, patterns, PATTERN_BYTES);
        memset(out, 0, sizeof out);
        ck_assert_ok(kolk_tensor_consume(&x, out, count));
        ck_assert_ptr_null(x);
        ck_assert_mem_eq(out, patterns, PATTERN_BYTES);
    }
    ck_assert_uint_eq(requested(rig.pool), 0);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("tensor");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, a_tensor_is_made_of_zeros_with_a_gradient);
    RIG_ADD(core, an_uninitialised_tensor_is_left_as_it_is_but_its_gradient_is_zero);
    RIG_ADD(core, a_tensor_without_gradient_has_one_buffer);
    RIG_ADD(core, bytes_carry_the_tags_of_the_spec_and_of_grads);
    RIG_ADD(core, a_tensor_of_no_elements_allocates_nothing_and_can_do_everything);
    RIG_ADD(core, a_scalar_has_one_element_at_an_empty_index);
    RIG_ADD(core, what_cannot_be_made_is_refused_and_leaves_nothing);
    RIG_ADD(core, values_must_be_as_many_as_the_shape_says);
    RIG_ADD(core, a_stream_of_another_device_is_refused);
    RIG_ADD(core, the_default_stream_serves_when_none_is_named);
    RIG_ADD(core, take_moves_the_same_buffers_and_empties_the_source);
    RIG_ADD(core, destroy_empties_the_variable_and_takes_nothing);
    RIG_ADD(core, a_destroyed_tensors_memory_is_reused_in_stream_order);
    RIG_ADD(core, a_tensor_may_outlive_its_pools_owner);
    RIG_ADD(core, one_element_is_set_and_got_by_index_and_by_position);
    RIG_ADD(core, an_index_or_position_out_of_range_is_named);
    RIG_ADD(core, every_bit_pattern_survives_the_way_in_and_out);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
