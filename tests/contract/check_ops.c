/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* The operations, against references in double that share nothing with them. */

#include "tensor_rig.h"
#include <kolk/ops.h>
#include <math.h>
#include <stdlib.h>

enum { B = 67, N = 3, M = 5, V = 150, H = 70, MOST = B * V };

/* Host copies of what an operation reads and writes. */
static float a[MOST], b[MOST], c[MOST], d[MOST], out[MOST];
static int32_t ids[B * N];

/* Numbers between -1 and 1, the same in every run. */
static void numbers(float *values, int count, uint32_t seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)seed / 2147483648.0f;
    }
}

static void choices(int32_t *values, int count, int bound)
{
    for (int i = 0; i < count; i++)
        values[i] = (i * 7919 + 13) % bound;
}

static kolk_tensor *upload(kolk_dtype dtype, int rank, const int64_t *shape,
                           const void *values)
{
    kolk_tensor *tensor = NULL;
    kolk_tensor_spec spec = {.dtype = dtype, .rank = rank, .no_grad = true};
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++)
        count *= spec.shape[axis] = shape[axis];
    ck_assert_ok(
        kolk_tensor_from_host(rig.pool, &spec, values, count, rig.stream, &tensor));
    return tensor;
}

#define TENSOR(name, dtype, values, ...)                                      \
    kolk_tensor *name KOLK_AUTO(kolk_tensor_destroy) =                        \
        upload((dtype), (int)(sizeof EXTENTS(__VA_ARGS__) / sizeof(int64_t)), \
               EXTENTS(__VA_ARGS__), (values));                               \
    const kolk_view name##_view = kolk_tensor_view(name)

static void download(const kolk_tensor *tensor, float *values)
{
    ck_assert_ok(kolk_tensor_read(tensor, values, kolk_tensor_numel(tensor)));
}

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * (1 + fabs(expected))))
        ck_abort_msg("%.9g is not %.9g", actual, expected);
}

/* ---- embedding ---- */

START_TEST(embed_looks_up_each_row)
{
    rig_open(_i);
    numbers(a, V * M, 1);
    choices(ids, B * N, V);
    TENSOR(table, KOLK_F32, a, V, M);
    TENSOR(id, KOLK_I32, ids, B, N);
    TENSOR(x, KOLK_F32, b, B, N * M);
    ck_assert_ok(kolk_op_embed(&table_view, &id_view, &x_view, rig.stream));
    download(x, out);
    for (int i = 0; i < B; i++)
        for (int k = 0; k < N * M; k++)
            ck_assert(out[i * N * M + k] == a[ids[i * N + k / M] * M + k % M]);
}
END_TEST

START_TEST(embed_backward_adds_to_the_rows_that_were_looked_up)
{
    rig_open(_i);
    static double expected[V * M];
    numbers(a, B * N * M, 2);
    numbers(b, V * M, 3);
    choices(ids, B * N, 11); /* every row many times, or never */
    for (int i = 0; i < V * M; i++)
        expected[i] = (double)b[i];
    for (int i = 0; i < B * N * M; i++)
        expected[ids[i / M] * M + i % M] += (double)a[i];
    TENSOR(d_out, KOLK_F32, a, B, N * M);
    TENSOR(id, KOLK_I32, ids, B, N);
    TENSOR(d_table, KOLK_F32, b, V, M);
    ck_assert_ok(
        kolk_op_embed_backward(&d_out_view, &id_view, &d_table_view, rig.stream));
    download(d_table, out);
    for (int i = 0; i < V * M; i++)
        assert_near((double)out[i], expected[i], 1e-5);
    for (int i = 11 * M; i < V * M; i++)
        ck_assert(out[i] == b[i]);
}
END_TEST

/* ---- bias ---- */

START_TEST(a_bias_is_added_to_every_row)
{
    rig_open(_i);
    numbers(a, B * H, 4);
    numbers(b, H, 5);
    TENSOR(x, KOLK_F32, a, B, H);
    TENSOR(bias, KOLK_F32, b, H);
    ck_assert_ok(kolk_op_add_bias(&x_view, &bias_view, rig.stream));
    download(x, out);
    for (int i = 0; i < B * H; i++)
        ck_assert(out[i] == a[i] + b[i % H]);
}
END_TEST

START_TEST(the_gradient_of_a_bias_is_the_sum_of_its_column)
{
    rig_open(_i);
    numbers(a, B * H, 6);
    numbers(b, H, 7);
    TENSOR(d_x, KOLK_F32, a, B, H);
    TENSOR(d_bias, KOLK_F32, b, H);
    ck_assert_ok(kolk_op_add_bias_backward(&d_x_view, &d_bias_view, rig.stream));
    download(d_bias, out);
    for (int j = 0; j < H; j++) {
        double sum = (double)b[j];
        for (int i = 0; i < B; i++)
            sum += (double)a[i * H + j];
        assert_near((double)out[j], sum, 1e-6);
    }
}
END_TEST

/* ---- tanh ---- */

START_TEST(tanh_and_its_gradient_follow_the_definition)
{
    rig_open(_i);
    numbers(a, B * H, 8);
    numbers(b, B * H, 9);
    for (int i = 0; i < B * H; i++)
        a[i] *= 6;
    TENSOR(x, KOLK_F32, a, B, H);
    TENSOR(slope, KOLK_F32, b, B, H);
    ck_assert_ok(kolk_op_tanh(&x_view, rig.stream));
    ck_assert_ok(kolk_op_tanh_backward(&slope_view, &x_view, rig.stream));
    download(x, out);
    download(slope, c);
    for (int i = 0; i < B * H; i++) {
        const double y = tanh((double)a[i]);
        assert_near((double)out[i], y, 1e-6);
        assert_near((double)c[i], (double)b[i] * (1 - y * y), 2e-6);
    }
}
END_TEST

/* ---- loss ---- */

static void assert_losses(int width, float span)
{
    const float scale = 0.25f;
    numbers(a, B * width, 10);
    for (int i = 0; i < B * width; i++)
        a[i] *= span;
    choices(ids, B, width);
    TENSOR(logits, KOLK_F32, a, B, width);
    TENSOR(targets, KOLK_I32, ids, B);
    TENSOR(losses, KOLK_F32, b, B);
    ck_assert_ok(kolk_op_cross_entropy(&logits_view, &targets_view, &losses_view, scale,
                                       rig.stream));
    download(logits, out);
    download(losses, c);
    for (int i = 0; i < B; i++) {
        const float *const row = a + i * width;
        double top = -INFINITY;
        double sum = 0;
        for (int j = 0; j < width; j++)
            top = fmax(top, (double)row[j]);
        for (int j = 0; j < width; j++)
            sum += exp((double)row[j] - top);
        assert_near((double)c[i], log(sum) + top - (double)row[ids[i]], 2e-6);
        for (int j = 0; j < width; j++) {
            const double share = exp((double)row[j] - top) / sum;
            assert_near((double)out[i * width + j], 0.25 * (share - (j == ids[i])),
                        1e-6);
        }
    }
}

START_TEST(cross_entropy_gives_losses_and_gradients)
{
    rig_open(_i);
    assert_losses(V, 4);
    assert_losses(7, 4);
    assert_losses(1, 4); /* one class: no loss, no gradient */
}
END_TEST

START_TEST(large_logits_overflow_nothing)
{
    rig_open(_i);
    assert_losses(V, 1e4f);
}
END_TEST

/* The loss itself, moved a little, moves by what the gradient says. */
START_TEST(the_gradient_agrees_with_finite_differences)
{
    rig_open(_i);
    enum { WIDTH = 9 };
    const float h = 1e-2f;
    numbers(a, WIDTH, 11);
    ids[0] = 4;
    for (int j = 0; j < WIDTH; j++) {
        float loss[2];
        float gradient[WIDTH];
        for (int side = 0; side < 2; side++) {
            memcpy(d, a, WIDTH * sizeof *d);
            d[j] += side ? h : -h;
            TENSOR(logits, KOLK_F32, d, 1, WIDTH);
            TENSOR(target, KOLK_I32, ids, 1);
            TENSOR(losses, KOLK_F32, b, 1);
            ck_assert_ok(kolk_op_cross_entropy(&logits_view, &target_view, &losses_view,
                                               1, rig.stream));
            download(losses, &loss[side]);
        }
        TENSOR(logits, KOLK_F32, a, 1, WIDTH);
        TENSOR(target, KOLK_I32, ids, 1);
        TENSOR(losses, KOLK_F32, b, 1);
        ck_assert_ok(kolk_op_cross_entropy(&logits_view, &target_view, &losses_view, 1,
                                           rig.stream));
        download(logits, gradient);
        assert_near((double)gradient[j],
                    ((double)loss[1] - (double)loss[0]) / (2 * (double)h), 1e-4);
    }
}
END_TEST

/* ---- AdamW ---- */

START_TEST(adamw_follows_the_paper_for_three_steps)
{
    rig_open(_i);
    static double p[H], m[H], v[H];
    kolk_adamw config = {.learning_rate = 0.01f,
                         .beta1 = 0.9f,
                         .beta2 = 0.99f,
                         .epsilon = 1e-8f,
                         .weight_decay = 0.1f};
    numbers(a, H, 12);
    memset(b, 0, sizeof b);
    TENSOR(param, KOLK_F32, a, H);
    TENSOR(mean, KOLK_F32, b, H);
    TENSOR(square, KOLK_F32, b, H);
    for (int i = 0; i < H; i++)
        p[i] = (double)a[i], m[i] = v[i] = 0;
    for (config.step = 1; config.step <= 3; config.step++) {
        numbers(c, H, 20 + (uint32_t)config.step);
        TENSOR(grad, KOLK_F32, c, H);
        ck_assert_ok(kolk_op_adamw(&param_view, &grad_view, &mean_view, &square_view,
                                   &config, rig.stream));
        for (int i = 0; i < H; i++) {
            const double g = (double)c[i], lr = (double)config.learning_rate;
            const double b1 = (double)config.beta1, b2 = (double)config.beta2;
            m[i] = b1 * m[i] + (1 - b1) * g;
            v[i] = b2 * v[i] + (1 - b2) * g * g;
            const double mean_hat = m[i] / (1 - pow(b1, (double)config.step));
            const double square_hat = v[i] / (1 - pow(b2, (double)config.step));
            p[i] -= lr * (mean_hat / (sqrt(square_hat) + (double)config.epsilon) +
                          (double)config.weight_decay * p[i]);
        }
    }
    download(param, out);
    download(mean, c);
    download(square, d);
    for (int i = 0; i < H; i++) {
        assert_near((double)out[i], p[i], 2e-6);
        assert_near((double)c[i], m[i], 1e-6);
        assert_near((double)d[i], v[i], 1e-6);
    }
}
END_TEST

/* ---- every run the same ---- */

START_TEST(a_second_run_gives_the_same_bits)
{
    rig_open(_i);
    float first[V * M + H];
    choices(ids, B * N, 11);
    for (int run = 0; run < 2; run++) {
        numbers(a, B * H, 30);
        memset(b, 0, sizeof b);
        TENSOR(grads, KOLK_F32, a, B, N * M);
        TENSOR(id, KOLK_I32, ids, B, N);
        TENSOR(table, KOLK_F32, b, V, M);
        TENSOR(rows, KOLK_F32, a, B, H);
        TENSOR(bias, KOLK_F32, b, H);
        ck_assert_ok(
            kolk_op_embed_backward(&grads_view, &id_view, &table_view, rig.stream));
        ck_assert_ok(kolk_op_add_bias_backward(&rows_view, &bias_view, rig.stream));
        download(table, out);
        download(bias, out + V * M);
        if (run == 0)
            memcpy(first, out, sizeof first);
    }
    ck_assert_mem_eq(first, out, sizeof first);
}
END_TEST

/* ---- nothing to do ---- */

START_TEST(no_rows_or_no_columns_are_no_work)
{
    rig_open(_i);
    b[0] = 5;
    TENSOR(none, KOLK_F32, NULL, 0, 4);
    TENSOR(no_ids, KOLK_I32, NULL, 0, 2);
    TENSOR(no_targets, KOLK_I32, NULL, 0);
    TENSOR(no_losses, KOLK_F32, NULL, 0);
    TENSOR(table, KOLK_F32, a, 3, 2);
    TENSOR(four, KOLK_F32, b, 4);
    ck_assert_ok(kolk_op_embed(&table_view, &no_ids_view, &none_view, rig.stream));
    ck_assert_ok(
        kolk_op_embed_backward(&none_view, &no_ids_view, &table_view, rig.stream));
    ck_assert_ok(kolk_op_add_bias(&none_view, &four_view, rig.stream));
    ck_assert_ok(kolk_op_add_bias_backward(&none_view, &four_view, rig.stream));
    ck_assert_ok(kolk_op_tanh(&none_view, rig.stream));
    ck_assert_ok(kolk_op_tanh_backward(&none_view, &none_view, rig.stream));
    ck_assert_ok(kolk_op_cross_entropy(&none_view, &no_targets_view, &no_losses_view, 1,
                                       rig.stream));
    ck_assert_ok(kolk_op_adamw(&none_view, &none_view, &none_view, &none_view,
                               &(kolk_adamw){.step = 1}, NULL));
    download(four, out);
    ck_assert(out[0] == 5);
}
END_TEST

/* ---- refusals ---- */

static void refused(kolk_status actual, kolk_status expected, const char *text)
{
    ck_assert_fails(actual, expected);
    ck_assert_message(text);
}

START_TEST(operands_that_do_not_agree_are_refused_with_their_numbers)
{
    rig_open(_i);
    TENSOR(x, KOLK_F32, a, 4, 6);
    TENSOR(y, KOLK_F32, a, 6, 4);
    TENSOR(six, KOLK_F32, a, 6);
    TENSOR(four, KOLK_F32, a, 4);
    TENSOR(whole, KOLK_I32, ids, 4);
    TENSOR(pairs, KOLK_I32, ids, 4, 2);
    TENSOR(table, KOLK_F32, a, 9, 3);
    TENSOR(no_class, KOLK_F32, NULL, 4, 0);
    kolk_stream *const s = rig.stream;
    kolk_view cut;
    ck_assert_ok(kolk_view_slice(&x_view, 1, 0, 4, &cut));
    refused(kolk_op_add_bias(&x_view, &four_view, s), KOLK_SHAPE_MISMATCH,
            "axis 0 of bias: expected 6, actual 4");
    refused(kolk_op_add_bias(&six_view, &six_view, s), KOLK_SHAPE_MISMATCH,
            "the rank of x: expected 2, actual 1");
    refused(kolk_op_add_bias_backward(&x_view, &whole_view, s), KOLK_SHAPE_MISMATCH,
            "axis 0 of d_bias");
    refused(kolk_op_add_bias(&cut, &four_view, s), KOLK_UNSUPPORTED, "x has gaps");
    refused(kolk_op_tanh(&whole_view, s), KOLK_TYPE_MISMATCH,
            "the type of x: expected f32, actual i32");
    refused(kolk_op_tanh_backward(&x_view, &y_view, s), KOLK_SHAPE_MISMATCH,
            "expected [4,6], actual [6,4]");
    refused(kolk_op_embed(&table_view, &pairs_view, &cut, s), KOLK_SHAPE_MISMATCH,
            "axis 1 of out: expected 6, actual 4");
    refused(kolk_op_embed(&table_view, &x_view, &x_view, s), KOLK_TYPE_MISMATCH,
            "the type of ids: expected i32, actual f32");
    refused(kolk_op_embed(&table_view, &pairs_view, &y_view, s), KOLK_SHAPE_MISMATCH,
            "axis 0 of out: expected 4, actual 6");
    refused(kolk_op_embed_backward(&x_view, &whole_view, &table_view, s),
            KOLK_SHAPE_MISMATCH, "the rank of ids: expected 2, actual 1");
    refused(kolk_op_cross_entropy(&x_view, &four_view, &four_view, 1, s),
            KOLK_TYPE_MISMATCH, "the type of targets: expected i32, actual f32");
    refused(kolk_op_cross_entropy(&x_view, &whole_view, &six_view, 1, s),
            KOLK_SHAPE_MISMATCH, "axis 0 of losses: expected 4, actual 6");
    refused(kolk_op_cross_entropy(&no_class_view, &whole_view, &four_view, 1, s),
            KOLK_OUT_OF_RANGE, "logits [4,0] have no class");
    kolk_view wide = table_view;
    kolk_view many = pairs_view;
    wide.shape[1] = many.shape[1] = INT64_MAX;
    refused(kolk_op_embed(&wide, &many, &x_view, s), KOLK_SHAPE_OVERFLOW,
            "9223372036854775807 x 9223372036854775807");
}
END_TEST

START_TEST(adamw_refuses_what_makes_no_step)
{
    rig_open(_i);
    TENSOR(x, KOLK_F32, a, 4, 6);
    TENSOR(y, KOLK_F32, a, 6, 4);
    const kolk_view *const p = &x_view;
    refused(kolk_op_adamw(p, p, p, p, &(kolk_adamw){.step = 0}, NULL),
            KOLK_OUT_OF_RANGE, "step 0 is below 1");
    refused(kolk_op_adamw(p, p, p, p, &(kolk_adamw){.step = 1, .beta1 = 1}, NULL),
            KOLK_OUT_OF_RANGE, "beta1 1 and beta2 0 must be in [0, 1)");
    refused(kolk_op_adamw(p, p, p, p, &(kolk_adamw){.step = 1, .beta2 = NAN}, NULL),
            KOLK_OUT_OF_RANGE, "must be in [0, 1)");
    refused(kolk_op_adamw(p, p, &y_view, p, &(kolk_adamw){.step = 1}, NULL),
            KOLK_SHAPE_MISMATCH, "expected [4,6], actual [6,4]");
}
END_TEST

START_TEST(operands_and_stream_are_on_one_device)
{
    rig_open(_i);
    const kolk_device device = row_device(_i == 0 ? rows_end() - 1 : 0);
    if (kolk_device_equal(device, rig.device))
        return;
    TENSOR(x, KOLK_F32, a, 4, 6);
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = new_stream(device);
    kolk_view far = x_view;
    far.device = device;
    ck_assert_fails(kolk_op_tanh_backward(&x_view, &far, rig.stream),
                    KOLK_DEVICE_MISMATCH);
    ck_assert_fails(kolk_op_tanh(&x_view, stream), KOLK_DEVICE_MISMATCH);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("ops");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, embed_looks_up_each_row);
    RIG_ADD(core, embed_backward_adds_to_the_rows_that_were_looked_up);
    RIG_ADD(core, a_bias_is_added_to_every_row);
    RIG_ADD(core, the_gradient_of_a_bias_is_the_sum_of_its_column);
    RIG_ADD(core, tanh_and_its_gradient_follow_the_definition);
    RIG_ADD(core, cross_entropy_gives_losses_and_gradients);
    RIG_ADD(core, large_logits_overflow_nothing);
    RIG_ADD(core, the_gradient_agrees_with_finite_differences);
    RIG_ADD(core, adamw_follows_the_paper_for_three_steps);
    RIG_ADD(core, a_second_run_gives_the_same_bits);
    RIG_ADD(core, no_rows_or_no_columns_are_no_work);
    RIG_ADD(core, operands_that_do_not_agree_are_refused_with_their_numbers);
    RIG_ADD(core, adamw_refuses_what_makes_no_step);
    RIG_ADD(core, operands_and_stream_are_on_one_device);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
