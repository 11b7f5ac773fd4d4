/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Every operation gives on a device what its twin gives on the host: to the bit
 * where only additions, products, quotients and roots are involved, else as near
 * as the two libraries of elementary functions are. */

#include "rows.h"
#include "work.h"
#include <kolk/ops.h>
#include <kolk/tensor.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 37, N = 5, M = 9, H = 33, V = 61, ARGUMENTS = 4 };

/* One side: a pool, a stream, and the tensors an operation works on. */
struct side {
    kolk_pool *pool;
    kolk_stream *stream;
    kolk_tensor *tensors[ARGUMENTS];
    kolk_view views[ARGUMENTS];
};

/* Shapes of the arguments; rank 0 ends the list. `ids` counts below V. */
struct operation {
    const char *name;
    kolk_tensor_spec arguments[ARGUMENTS + 1];
    kolk_status (*run)(struct side *side);
    double tolerance; /* relative; 0: the same bits */
};

static kolk_status embed(struct side *s)
{
    return kolk_op_embed(&s->views[0], &s->views[1], &s->views[2], s->stream);
}

static kolk_status embed_backward(struct side *s)
{
    return kolk_op_embed_backward(&s->views[0], &s->views[1], &s->views[2], s->stream);
}

static kolk_status add_bias(struct side *s)
{
    return kolk_op_add_bias(&s->views[0], &s->views[1], s->stream);
}

static kolk_status add_bias_backward(struct side *s)
{
    return kolk_op_add_bias_backward(&s->views[0], &s->views[1], s->stream);
}

static kolk_status tanh_forward(struct side *s)
{
    return kolk_op_tanh(&s->views[0], s->stream);
}

static kolk_status tanh_backward(struct side *s)
{
    return kolk_op_tanh_backward(&s->views[0], &s->views[1], s->stream);
}

static kolk_status cross_entropy(struct side *s)
{
    return kolk_op_cross_entropy(&s->views[0], &s->views[1], &s->views[2], 1.0F / B,
                                 s->stream);
}

static kolk_status adamw(struct side *s)
{
    const kolk_adamw config = {1e-3F, 0.9F, 0.999F, 1e-8F, 0.01F, 3};
    return kolk_op_adamw(&s->views[0], &s->views[1], &s->views[2], &s->views[3],
                         &config, s->stream);
}

static kolk_status accumulate(struct side *s)
{
    return kolk_tensor_accumulate(s->tensors[0], s->tensors[1]);
}

static kolk_status fill(struct side *s)
{
    const float value = -1.5F;
    return kolk_tensor_fill(s->tensors[0], &value);
}

/* The first two thirds of a transposed tensor, gathered. */
static kolk_status gather(struct side *s)
{
    kolk_view turned, part;
    kolk_tensor *copy KOLK_AUTO(kolk_tensor_destroy) = NULL;
    KOLK_TRY(kolk_view_transpose(&s->views[0], 0, 1, &turned));
    KOLK_TRY(kolk_view_slice(&turned, 1, 0, B * 2 / 3, &part));
    KOLK_TRY(kolk_tensor_from_view(s->pool, &part, s->stream, &copy));
    kolk_tensor_destroy(&s->tensors[0]);
    s->tensors[0] = kolk_tensor_take(&copy);
    return KOLK_OK;
}

static kolk_status cast_there_and_back(struct side *s)
{
    kolk_tensor *half KOLK_AUTO(kolk_tensor_destroy) = NULL;
    kolk_tensor *whole KOLK_AUTO(kolk_tensor_destroy) = NULL;
    KOLK_TRY(kolk_tensor_cast(s->tensors[0], KOLK_BF16, &half));
    KOLK_TRY(kolk_tensor_cast(half, KOLK_F32, &whole));
    kolk_tensor_destroy(&s->tensors[0]);
    s->tensors[0] = kolk_tensor_take(&whole);
    return KOLK_OK;
}

#define F32(...)                                                                     \
    {                                                                                \
        .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .shape = { __VA_ARGS__ } \
    }
#define IDS(...)                                                                    \
    {                                                                               \
        .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .shape = {__VA_ARGS__}, \
        .dtype = KOLK_I32                                                           \
    }

static const struct operation operations[] = {
    {"embed", {F32(V, M), IDS(B, N), F32(B, N *M)}, embed, 0},
    {"embed_backward", {F32(B, N *M), IDS(B, N), F32(V, M)}, embed_backward, 0},
    {"add_bias", {F32(B, H), F32(H)}, add_bias, 0},
    {"add_bias_backward", {F32(B, H), F32(H)}, add_bias_backward, 0},
    {"tanh", {F32(B, H)}, tanh_forward, 1e-6},
    {"tanh_backward", {F32(B, H), F32(B, H)}, tanh_backward, 0},
    {"cross_entropy", {F32(B, V), IDS(B), F32(B)}, cross_entropy, 1e-5},
    {"adamw", {F32(H, M), F32(H, M), F32(H, M), F32(H, M)}, adamw, 1e-6},
    {"accumulate", {F32(B, H), F32(B, H)}, accumulate, 0},
    {"fill", {F32(B, H)}, fill, 0},
    {"strided copy", {F32(B, H)}, gather, 0},
    {"cast", {F32(B, H)}, cast_there_and_back, 0},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The same numbers for both sides, between 0 and 1: v of adamw must not be below. */
static void fill_in(kolk_tensor *tensor, const kolk_tensor_spec *spec, int argument)
{
    const int64_t count = kolk_tensor_numel(tensor);
    int32_t *const words = malloc((size_t)count * sizeof *words);
    uint32_t seed = (uint32_t)argument * 977 + 5;
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        const float number = (float)(seed >> 8) / (float)(1 << 24);
        if (spec->dtype == KOLK_I32)
            words[i] = (int32_t)(seed >> 8) % V;
        else
            memcpy(&words[i], &number, sizeof number);
    }
    ck_assert_ok(kolk_tensor_write(tensor, words, count));
    free(words);
}

static void set_up(struct side *side, kolk_device device,
                   const struct operation *operation)
{
    *side = (struct side){.pool = NULL};
    ck_assert_ok(kolk_pool_create(device, NULL, &side->pool));
    side->stream = new_stream(device);
    for (int i = 0; operation->arguments[i].rank; i++) {
        ck_assert_ok(kolk_tensor_create(side->pool, &operation->arguments[i],
                                        side->stream, &side->tensors[i]));
        fill_in(side->tensors[i], &operation->arguments[i], i);
        side->views[i] = kolk_tensor_view(side->tensors[i]);
    }
    ck_assert_ok(operation->run(side));
}

static void tear_down(struct side *side)
{
    for (int i = 0; i < ARGUMENTS; i++)
        kolk_tensor_destroy(&side->tensors[i]);
    kolk_stream_destroy(&side->stream);
    kolk_pool_destroy(&side->pool);
}

static float *values_of(const kolk_tensor *tensor, int64_t *count)
{
    *count = kolk_tensor_numel(tensor);
    float *const values = malloc((size_t)*count * sizeof *values);
    ck_assert_ok(kolk_tensor_read(tensor, values, *count));
    return values;
}

static void compare(const struct operation *operation, const kolk_tensor *host,
                    const kolk_tensor *device)
{
    int64_t count, other;
    float *const a = values_of(host, &count), *const b = values_of(device, &other);
    ck_assert_int_eq(count, other);
    for (int64_t i = 0; i < count; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);
        const bool near =
            operation->tolerance > 0.0
                ? apart <= operation->tolerance * (fabs((double)a[i]) + 1.0)
                : memcmp(&a[i], &b[i], sizeof *a) == 0;
        ck_assert_msg(near, "%s: element %lld is %.9g on the host, %.9g here",
                      operation->name, (long long)i, (double)a[i], (double)b[i]);
    }
    free(a);
    free(b);
}

START_TEST(a_device_does_what_the_host_does)
{
    const struct operation *const operation = &operations[_i % OPERATIONS];
    struct side host, device;
    set_up(&host, kolk_host(), operation);
    set_up(&device, row_device(_i / OPERATIONS), operation);
    for (int i = 0; operation->arguments[i].rank; i++)
        if (operation->arguments[i].dtype == KOLK_F32)
            compare(operation, host.tensors[i], device.tensors[i]);
    tear_down(&host);
    tear_down(&device);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("twins");
    TCase *const tcase = tcase_create("twins");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, a_device_does_what_the_host_does, OPERATIONS,
                        rows_end() * OPERATIONS);
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
