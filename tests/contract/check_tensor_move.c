/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Copies and moves: clone, assign, to another pool or device, stack, views. */

#include "tensor_rig.h"
#include <stdlib.h>

/* ---- clone and assign ---- */

START_TEST(a_clone_has_new_buffers_with_the_same_bits)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
        fill_grad(x, 0x3c);
        kolk_tensor_set_requires_grad(x, i % 2);
        ck_assert_ok(kolk_tensor_clone(x, rig.stream, &y));
        ck_assert_ptr_ne(kolk_tensor_view(x).data, kolk_tensor_view(y).data);
        ck_assert_ptr_ne(kolk_tensor_grad(x).data, kolk_tensor_grad(y).data);
        ck_assert_int_eq(kolk_tensor_requires_grad(y), i % 2);
        ck_assert_ptr_eq(kolk_tensor_pool(y), rig.pool);
        assert_pattern(y);
        assert_grad(rig.stream, y, 0x3c);
    }
}
END_TEST

START_TEST(changing_a_clone_leaves_its_source)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern(KOLK_F32);
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    fill_grad(x, 1);
    ck_assert_ok(kolk_tensor_clone(x, rig.stream, &y));
    ck_assert_ok(kolk_tensor_fill(y, &(float){5}));
    ck_assert_ok(kolk_tensor_zero_grad(y));
    assert_pattern(x);
    assert_grad(rig.stream, x, 1);
    assert_grad(rig.stream, y, 0);
}
END_TEST

START_TEST(a_clone_without_gradient_has_none)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(5, 4), .no_grad = true};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.stream, &x));
    ck_assert_ok(kolk_tensor_clone(x, rig.stream, &y));
    ck_assert(!kolk_tensor_has_grad(y));
}
END_TEST

/* The source is freed, and its memory written, while the copies may be waiting:
 * on the emulated machine nothing has run by then. */
START_TEST(a_clone_on_another_stream_reads_before_the_source_is_reused)
{
    rig_open(_i);
    kolk_tensor *x = new_values(rig.stream, 5, 3, 1);
    kolk_tensor *y KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *z KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const float expected[15] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    ck_assert_ok(kolk_tensor_fill(x, &(float){9}));
    ck_assert_ok(kolk_tensor_clone(x, rig.other, &y));
    kolk_tensor_destroy(&x);
    z = new_tensor(KOLK_F32, 5, 3);
    ck_assert_ok(kolk_tensor_fill(z, &(float){-1}));
    assert_values(y, expected, 15);
}
END_TEST

START_TEST(assigning_keeps_the_destinations_own_requires_grad)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *from KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor *to KOLK_AUTO(kolk_tensor_destroy) = NULL;
        ck_assert_ok(kolk_tensor_clone(from, rig.other, &to));
        kolk_tensor_set_requires_grad(to, false);
        const uint64_t zero = 0;
        ck_assert_ok(kolk_tensor_fill(to, &zero));
        fill_grad(from, 3);
        ck_assert_ok(kolk_tensor_assign(to, from));
        ck_assert(!kolk_tensor_requires_grad(to));
        ck_assert(kolk_tensor_requires_grad(from));
        assert_pattern(to);
        assert_grad(rig.other, to, 0);
        ck_assert_ok(kolk_tensor_assign(to, to));
        assert_pattern(to);
    }
}
END_TEST

START_TEST(values_are_assigned_across_devices)
{
    rig_open(_i);
    const kolk_device device = row_device(_i == 0 ? rows_end() - 1 : 0);
    kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
    kolk_tensor *from KOLK_AUTO(kolk_tensor_destroy) = new_pattern(KOLK_F32);
    kolk_tensor *to KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec spec = {SHAPE(2, 6), .frozen = true};
    ck_assert_ok(kolk_pool_create(device, NULL, &pool));
    ck_assert_ok(kolk_tensor_create(pool, &spec, NULL, &to));
    ck_assert_ok(kolk_tensor_assign(to, from));
    assert_pattern(to);
    ck_assert(!kolk_tensor_requires_grad(to));
}
END_TEST

START_TEST(only_the_same_shape_and_type_is_assigned_or_added)
{
    rig_open(_i);
    kolk_tensor *a KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 5, 3, 0);
    kolk_tensor *b KOLK_AUTO(kolk_tensor_destroy) = new_values(rig.stream, 3, 5, 0);
    kolk_tensor *c KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_I32, 5, 3);
    ck_assert_fails(kolk_tensor_assign(a, b), KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected [5,3], actual [3,5]");
    ck_assert_fails(kolk_tensor_accumulate(a, b), KOLK_SHAPE_MISMATCH);
    ck_assert_message("expected [5,3], actual [3,5]");
    ck_assert_fails(kolk_tensor_assign(a, c), KOLK_TYPE_MISMATCH);
    ck_assert_message("expected f32, actual i32");
    ck_assert_fails(kolk_tensor_accumulate(a, c), KOLK_TYPE_MISMATCH);
    float last = 0;
    ck_assert_ok(kolk_tensor_get_flat(a, 14, &last));
    ck_assert_float_eq(last, 14);
}
END_TEST

START_TEST(tensors_of_two_devices_are_not_added)
{
    rig_open(_i);
    kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
    kolk_tensor *a KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_F32, 5, 3);
    kolk_tensor *b KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *joined = NULL;
    const kolk_tensor_spec spec = {SHAPE(5, 3)};
    const kolk_device device = row_device(_i == 0 ? rows_end() - 1 : 0);
    if (kolk_device_equal(device, rig.device))
        return;
    ck_assert_ok(kolk_pool_create(device, NULL, &pool));
    ck_assert_ok(kolk_tensor_create(pool, &spec, NULL, &b));
    ck_assert_fails(kolk_tensor_accumulate(a, b), KOLK_DEVICE_MISMATCH);
    ck_assert_message(":");
    kolk_tensor *both[] = {a, b};
    ck_assert_fails(kolk_tensor_stack(both, 2, rig.stream, &joined),
                    KOLK_DEVICE_MISMATCH);
    ck_assert_message("tensor 1 is on ");
    const kolk_view view = kolk_tensor_view(b);
    ck_assert_fails(kolk_tensor_from_view(rig.pool, &view, rig.stream, &joined),
                    KOLK_DEVICE_MISMATCH);
    ck_assert_ptr_null(joined);
}
END_TEST

/* ---- to ---- */

static void move_and_look(kolk_pool *pool, kolk_stream *stream)
{
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor_set_requires_grad(x, i % 2);
        fill_grad(x, 0x42);
        ck_assert_ok(kolk_tensor_to(x, pool, stream));
        ck_assert_uint_eq(requested(rig.pool), 0);
        ck_assert_uint_eq(requested(pool), 2 * PATTERN_BYTES);
        ck_assert_ptr_eq(kolk_tensor_pool(x), pool);
        ck_assert(
            kolk_device_equal(kolk_tensor_view(x).device, kolk_pool_device(pool)));
        ck_assert_int_eq(kolk_tensor_requires_grad(x), i % 2);
        assert_pattern(x);
        kolk_stream *look KOLK_AUTO(kolk_stream_destroy) =
            new_stream(kolk_pool_device(pool));
        assert_grad(look, x, 0x42);
    }
}

START_TEST(to_the_same_pool_does_nothing)
{
    rig_open(_i);
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern(KOLK_F32);
    const void *const data = kolk_tensor_view(x).data;
    ck_assert_ok(kolk_tensor_to(x, rig.pool, rig.other));
    ck_assert_ptr_eq(kolk_tensor_view(x).data, data);
}
END_TEST

START_TEST(to_another_pool_of_the_device_moves_both_buffers)
{
    rig_open(_i);
    move_and_look(rig.second, rig.stream);
}
END_TEST

START_TEST(to_another_device_moves_both_buffers)
{
    rig_open(_i);
    for (int row = rows_begin(); row < rows_end(); row++) {
        kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
        ck_assert_ok(kolk_pool_create(row_device(row), NULL, &pool));
        move_and_look(pool, NULL);
    }
}
END_TEST

/* ---- stack ---- */

static void stack_and_look(kolk_tensor *const *parts, int64_t each, int64_t joined_rows)
{
    kolk_tensor *joined KOLK_AUTO(kolk_tensor_destroy) = NULL;
    ck_assert_ok(kolk_tensor_stack(parts, 3, rig.stream, &joined));
    ck_assert_int_eq(kolk_tensor_view(joined).shape[0], joined_rows);
    ck_assert_int_eq(kolk_tensor_numel(joined), 3 * each);
    float *const out = calloc((size_t)(3 * each), sizeof *out);
    ck_assert_ok(kolk_tensor_read(joined, out, 3 * each));
    for (int64_t i = 0; i < 3 * each; i++)
        ck_assert_float_eq(out[i], (float)(1 + i / each));
    free(out);
}

START_TEST(three_images_make_a_batch)
{
    rig_open(_i);
    kolk_tensor *parts[3] = {NULL};
    const kolk_tensor_spec spec = {SHAPE(1, 28, 28)};
    for (int i = 0; i < 3; i++) {
        ck_assert_ok(kolk_tensor_create(rig.pool, &spec,
                                        i == 1 ? rig.other : rig.stream, &parts[i]));
        ck_assert_ok(kolk_tensor_fill(parts[i], &(float){(float)(1 + i)}));
    }
    stack_and_look(parts, 28 * 28, 3);
    for (int i = 0; i < 3; i++)
        kolk_tensor_destroy(&parts[i]);
}
END_TEST

START_TEST(three_planes_make_a_longer_one)
{
    rig_open(_i);
    kolk_tensor *parts[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        parts[i] = new_tensor(KOLK_F32, 2, 3);
        ck_assert_ok(kolk_tensor_fill(parts[i], &(float){(float)(1 + i)}));
    }
    stack_and_look(parts, 6, 6);
    for (int i = 0; i < 3; i++)
        kolk_tensor_destroy(&parts[i]);
}
END_TEST

START_TEST(stacked_bits_survive_in_every_type)
{
    rig_open(_i);
    for (int i = 0; i < TYPES; i++) {
        kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern((kolk_dtype)i);
        kolk_tensor *none KOLK_AUTO(kolk_tensor_destroy) =
            new_tensor((kolk_dtype)i, 0, kolk_tensor_view(x).shape[1]);
        kolk_tensor *joined KOLK_AUTO(kolk_tensor_destroy) = NULL;
        kolk_tensor *parts[] = {none, x};
        ck_assert_ok(kolk_tensor_stack(parts, 2, rig.stream, &joined));
        assert_pattern(joined);
    }
}
END_TEST

START_TEST(what_cannot_be_stacked_is_refused_each_with_its_own_message)
{
    rig_open(_i);
    kolk_tensor *a KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_F32, 2, 3);
    kolk_tensor *b KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_F32, 2, 4);
    kolk_tensor *c KOLK_AUTO(kolk_tensor_destroy) = new_tensor(KOLK_I32, 2, 3);
    kolk_tensor *d KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *e KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *f KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const kolk_tensor_spec huge = {SHAPE(INT64_MAX, 0)};
    kolk_tensor *joined = NULL;
    ck_assert_ok(kolk_tensor_create(rig.pool, &(kolk_tensor_spec){0}, rig.stream, &d));
    ck_assert_ok(
        kolk_tensor_create(rig.pool, &(kolk_tensor_spec){SHAPE(6)}, rig.stream, &e));
    ck_assert_ok(kolk_tensor_create(rig.pool, &huge, rig.stream, &f));
    const size_t before = requested(rig.pool);
    const struct {
        kolk_tensor *parts[2];
        int count;
        kolk_status status;
        const char *text;
    } cases[] = {
        {{a, a}, 0, KOLK_INVALID_ARGUMENT, "0 tensors cannot be joined"},
        {{a, a}, -1, KOLK_INVALID_ARGUMENT, "-1 tensors cannot be joined"},
        {{d, d}, 2, KOLK_INVALID_ARGUMENT, "rank 0"},
        {{a, e}, 2, KOLK_SHAPE_MISMATCH, "tensor 1 has rank 1, the first has 2"},
        {{a, b}, 2, KOLK_SHAPE_MISMATCH, "axis 1 of tensor 1 is 4, of the first 3"},
        {{a, c}, 2, KOLK_TYPE_MISMATCH, "tensor 1 is i32, the first is f32"},
        {{f, f}, 2, KOLK_SHAPE_OVERFLOW, "leading extents of 2 tensors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_fails(
            kolk_tensor_stack(cases[i].parts, cases[i].count, rig.stream, &joined),
            cases[i].status);
        ck_assert_message(cases[i].text);
        ck_assert_ptr_null(joined);
    }
    ck_assert_uint_eq(requested(rig.pool), before);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("tensor_move");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, a_clone_has_new_buffers_with_the_same_bits);
    RIG_ADD(core, changing_a_clone_leaves_its_source);
    RIG_ADD(core, a_clone_without_gradient_has_none);
    RIG_ADD(core, a_clone_on_another_stream_reads_before_the_source_is_reused);
    RIG_ADD(core, assigning_keeps_the_destinations_own_requires_grad);
    RIG_ADD(core, values_are_assigned_across_devices);
    RIG_ADD(core, only_the_same_shape_and_type_is_assigned_or_added);
    RIG_ADD(core, tensors_of_two_devices_are_not_added);
    RIG_ADD(core, to_the_same_pool_does_nothing);
    RIG_ADD(core, to_another_pool_of_the_device_moves_both_buffers);
    RIG_ADD(core, to_another_device_moves_both_buffers);
    RIG_ADD(core, three_images_make_a_batch);
    RIG_ADD(core, three_planes_make_a_longer_one);
    RIG_ADD(core, stacked_bits_survive_in_every_type);
    RIG_ADD(core, what_cannot_be_stacked_is_refused_each_with_its_own_message);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
