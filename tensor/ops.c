/* SPDX-License-Identifier: MIT */

/* The public operations: checks, then the device's kernel.
 *
 * Each states its operands as rows of a table: name, type, and the shape that the
 * leading operands imply. All must lie on one device, without gaps. */

#include "queue.h"
#include "shape.h"
#include <assert.h>
#include <kolk/ops.h>
#include <math.h>
#include <runtime/backend.h>
#include <runtime/fail.h>

/* ---- checks ---- */

typedef struct operand {
    const char *name;
    const kolk_view *view;
    kolk_dtype dtype;
    int rank;
    int64_t shape[2]; /* FREE: this operand decides */
} operand;

enum { FREE = -1 };

static kolk_status check_shape(const char *where, const operand *x)
{
    if (x->view->rank != x->rank)
        return kolk_fail_at(where, KOLK_SHAPE_MISMATCH, 0,
                            "the rank of %s: expected %d, actual %d", x->name, x->rank,
                            x->view->rank);
    for (int axis = 0; axis < x->rank; axis++)
        if (x->shape[axis] != FREE && x->view->shape[axis] != x->shape[axis])
            return kolk_fail_at(where, KOLK_SHAPE_MISMATCH, 0,
                                "axis %d of %s: expected %lld, actual %lld", axis,
                                x->name, (long long)x->shape[axis],
                                (long long)x->view->shape[axis]);
    return KOLK_OK;
}

static kolk_status check_operand(const char *where, const operand *x,
                                 kolk_device device)
{
    if (x->view->dtype != x->dtype)
        return kolk_fail_at(where, KOLK_TYPE_MISMATCH, 0,
                            "the type of %s: expected %s, actual %s", x->name,
                            kolk_dtype_name(x->dtype), kolk_dtype_name(x->view->dtype));
    KOLK_TRY(kolk_device_must_equal(where, x->view->device, device));
    if (!kolk_view_is_contiguous(x->view))
        return kolk_fail_at(where, KOLK_UNSUPPORTED, 0,
                            "%s has gaps or turned axes; make it contiguous first",
                            x->name);
    return KOLK_OK;
}

/* What a call needs once its operands have passed. */
typedef struct prepared {
    const char *where;
    const kolk_kernels *kernels;
    void *stream;
} prepared;

static kolk_status prepare(const char *where, const operand *operands, int count,
                           kolk_stream *stream, prepared *out)
{
    const kolk_device device = operands[0].view->device;
    kolk_lane lane;
    const kolk_kernels *kernels;
    for (int i = 0; i < count; i++) {
        KOLK_TRY(check_shape(where, &operands[i]));
        KOLK_TRY(check_operand(where, &operands[i], device));
    }
    KOLK_TRY(kolk_lane_open(where, device, stream, &lane));
    KOLK_TRY(kolk_kernels_reach(where, device, &kernels));
    *out = (prepared){where, kernels, kolk_lane_stream(&lane)->native};
    return KOLK_OK;
}

#define PREPARE(call, stream, ...)                                                     \
    prepare(__func__, (const operand[]){__VA_ARGS__},                                  \
            (int)(sizeof((const operand[]){__VA_ARGS__}) / sizeof(operand)), (stream), \
            (call))

#define LAUNCH(call, kernel, ...)               \
    kolk_launched((call).where, (call).kernels, \
                  (call).kernels->kernel(__VA_ARGS__, (call).stream))

static bool is_empty(const kolk_view *view)
{
    return kolk_view_numel(view) == 0;
}

/* The extent of an axis that other operands follow; ranks are checked later. */
static int64_t extent(const kolk_view *view, int axis)
{
    return axis < view->rank ? view->shape[axis] : 0;
}

/* ---- embedding ---- */

/* table [V, m], ids [B, n], rows [B, n*m] */
static kolk_status prepare_embed(const char *where, const operand *table,
                                 const operand *ids, const operand *rows,
                                 kolk_stream *stream, prepared *out)
{
    const int64_t n = extent(ids->view, 1);
    const int64_t m = extent(table->view, 1);
    operand all[] = {*table, *ids, *rows};
    all[2].shape[0] = extent(ids->view, 0);
    if (__builtin_mul_overflow(n, m, &all[2].shape[1]))
        return kolk_fail_at(where, KOLK_SHAPE_OVERFLOW, 0,
                            "%lld x %lld columns cannot be counted in 64 bits",
                            (long long)n, (long long)m);
    return prepare(where, all, 3, stream, out);
}

kolk_status kolk_op_embed(const kolk_view *table, const kolk_view *ids,
                          const kolk_view *out, kolk_stream *stream)
{
    prepared call;
    KOLK_TRY(prepare_embed(
        __func__, &(operand){"table", table, KOLK_F32, 2, {FREE, FREE}},
        &(operand){"ids", ids, KOLK_I32, 2, {FREE, FREE}},
        &(operand){"out", out, KOLK_F32, 2, {FREE, FREE}}, stream, &call));
    if (is_empty(out))
        return KOLK_OK;
    return LAUNCH(call, embed, *table, *ids, *out);
}

kolk_status kolk_op_embed_backward(const kolk_view *d_out, const kolk_view *ids,
                                   const kolk_view *d_table, kolk_stream *stream)
{
    prepared call;
    KOLK_TRY(prepare_embed(
        __func__, &(operand){"d_table", d_table, KOLK_F32, 2, {FREE, FREE}},
        &(operand){"ids", ids, KOLK_I32, 2, {FREE, FREE}},
        &(operand){"d_out", d_out, KOLK_F32, 2, {FREE, FREE}}, stream, &call));
    if (is_empty(d_out))
        return KOLK_OK;
    return LAUNCH(call, embed_backward, *d_out, *ids, *d_table);
}

/* ---- bias ---- */

kolk_status kolk_op_add_bias(const kolk_view *x, const kolk_view *bias,
                             kolk_stream *stream)
{
    prepared call;
    KOLK_TRY(PREPARE(&call, stream, {"x", x, KOLK_F32, 2, {FREE, FREE}},
                     {"bias", bias, KOLK_F32, 1, {extent(x, 1)}}));
    return is_empty(x) ? KOLK_OK : LAUNCH(call, add_bias, *x, *bias);
}

kolk_status kolk_op_add_bias_backward(const kolk_view *d_x, const kolk_view *d_bias,
                                      kolk_stream *stream)
{
    prepared call;
    KOLK_TRY(PREPARE(&call, stream, {"d_x", d_x, KOLK_F32, 2, {FREE, FREE}},
                     {"d_bias", d_bias, KOLK_F32, 1, {extent(d_x, 1)}}));
    return is_empty(d_x) ? KOLK_OK : LAUNCH(call, add_bias_backward, *d_x, *d_bias);
}

/* ---- elementwise: any shape ---- */

static kolk_status prepare_alike(const char *where, const operand *operands, int count,
                                 kolk_stream *stream, prepared *out)
{
    for (int i = 1; i < count; i++)
        KOLK_TRY(kolk_shape_must_equal(where, operands[i].view, operands[0].view));
    return prepare(where, operands, count, stream, out);
}

/* An operand whose rank and shape are not this table's to decide. */
static operand any(const char *name, const kolk_view *view)
{
    return (operand){name, view, KOLK_F32, view->rank, {FREE, FREE}};
}

kolk_status kolk_op_tanh(const kolk_view *x, kolk_stream *stream)
{
    prepared call;
    KOLK_TRY(prepare_alike(__func__, (const operand[]){any("x", x)}, 1, stream, &call));
    return is_empty(x) ? KOLK_OK : LAUNCH(call, tanh, *x);
}

kolk_status kolk_op_tanh_backward(const kolk_view *d, const kolk_view *y,
                                  kolk_stream *stream)
{
    prepared call;
    const operand operands[] = {any("d", d), any("y", y)};
    KOLK_TRY(prepare_alike(__func__, operands, 2, stream, &call));
    return is_empty(d) ? KOLK_OK : LAUNCH(call, tanh_backward, *d, *y);
}

/* ---- loss ---- */

kolk_status kolk_op_cross_entropy(const kolk_view *logits, const kolk_view *targets,
                                  const kolk_view *losses, float scale,
                                  kolk_stream *stream)
{
    prepared call;
    const int64_t rows = extent(logits, 0);
    KOLK_TRY(PREPARE(&call, stream, {"logits", logits, KOLK_F32, 2, {FREE, FREE}},
                     {"targets", targets, KOLK_I32, 1, {rows}},
                     {"losses", losses, KOLK_F32, 1, {rows}}));
    if (rows == 0)
        return KOLK_OK;
    if (is_empty(logits))
        return kolk_fail(KOLK_OUT_OF_RANGE,
                         "logits %s have no class that a target could name",
                         kolk_shape_print(logits->rank, logits->shape).text);
    return LAUNCH(call, cross_entropy, *logits, *targets, *losses, scale);
}

/* ---- AdamW ---- */

static kolk_adamw_step step_of(const kolk_adamw *config)
{
    const double rate = (double)config->learning_rate;
    const double beta1 = (double)config->beta1;
    const double beta2 = (double)config->beta2;
    const double step = (double)config->step;
    return (kolk_adamw_step){
        .decay = (float)(1 - rate * (double)config->weight_decay),
        .rate = (float)(rate / (1 - pow(beta1, step))),
        .beta1 = config->beta1,
        .rest1 = (float)(1 - beta1),
        .beta2 = config->beta2,
        .rest2 = (float)(1 - beta2),
        .root = (float)(1 / sqrt(1 - pow(beta2, step))),
        .epsilon = config->epsilon,
    };
}

static bool is_share(float value)
{
    return value >= 0 && value < 1;
}

static kolk_status check_config(const char *where, const kolk_adamw *config)
{
    if (config->step < 1)
        return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                            "step %lld is below 1, the first", (long long)config->step);
    if (!is_share(config->beta1) || !is_share(config->beta2))
        return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                            "beta1 %g and beta2 %g must be in [0, 1)",
                            (double)config->beta1, (double)config->beta2);
    return KOLK_OK;
}

kolk_status kolk_op_adamw(const kolk_view *param, const kolk_view *grad,
                          const kolk_view *m, const kolk_view *v,
                          const kolk_adamw *config, kolk_stream *stream)
{
    assert(config != NULL);
    prepared call;
    const operand operands[] = {any("param", param), any("grad", grad), any("m", m),
                                any("v", v)};
    KOLK_TRY(prepare_alike(__func__, operands, 4, stream, &call));
    KOLK_TRY(check_config(__func__, config));
    if (is_empty(param))
        return KOLK_OK;
    return LAUNCH(call, adamw, *param, *grad, *m, *v, step_of(config));
}
