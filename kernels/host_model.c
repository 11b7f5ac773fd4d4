/* SPDX-License-Identifier: MIT */

/* What a small language model needs, row by row. Sums over many rows run in
 * their order: those of one loss and of a bias in double, an embedding's into
 * its own rows. */

#include "host_kernels.h"
#include "size.h"
#include <math.h>
#include <string.h>

int kolk_host_embed(kolk_view table, kolk_view ids, kolk_view out, void *stream)
{
    (void)stream;
    const int64_t width = table.shape[1];
    const int64_t rows = kolk_count_of(&ids);
    const int32_t *const id = ids.data;
    const float *const from = table.data;
    float *const to = out.data;
    for (int64_t row = 0; row < rows; row++)
        memcpy(to + row * width, from + id[row] * width, (size_t)width * sizeof *to);
    return 0;
}

int kolk_host_embed_backward(kolk_view d_out, kolk_view ids, kolk_view d_table,
                             void *stream)
{
    (void)stream;
    const int64_t width = d_table.shape[1];
    const int64_t rows = kolk_count_of(&ids);
    const int32_t *const id = ids.data;
    const float *const from = d_out.data;
    float *const to = d_table.data;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t j = 0; j < width; j++)
            to[id[row] * width + j] += from[row * width + j];
    return 0;
}

int kolk_host_add_bias(kolk_view x, kolk_view bias, void *stream)
{
    (void)stream;
    const int64_t width = bias.shape[0];
    const float *const from = bias.data;
    float *const to = x.data;
    for (int64_t row = 0; row < x.shape[0]; row++)
        for (int64_t j = 0; j < width; j++)
            to[row * width + j] += from[j];
    return 0;
}

enum { COLUMNS = 64 }; /* summed at a time */

static void sum_columns(const float *from, int64_t rows, int64_t width, int64_t columns,
                        float *to)
{
    double sum[COLUMNS] = {0};
    for (int64_t row = 0; row < rows; row++)
        for (int64_t j = 0; j < columns; j++)
            sum[j] += (double)from[row * width + j];
    for (int64_t j = 0; j < columns; j++)
        to[j] += (float)sum[j];
}

int kolk_host_add_bias_backward(kolk_view d_x, kolk_view d_bias, void *stream)
{
    (void)stream;
    const int64_t width = d_bias.shape[0];
    for (int64_t begin = 0; begin < width; begin += COLUMNS)
        sum_columns((const float *)d_x.data + begin, d_x.shape[0], width,
                    width - begin < COLUMNS ? width - begin : COLUMNS,
                    (float *)d_bias.data + begin);
    return 0;
}

int kolk_host_tanh(kolk_view x, void *stream)
{
    (void)stream;
    const int64_t count = kolk_count_of(&x);
    float *const value = x.data;
    for (int64_t i = 0; i < count; i++)
        value[i] = tanhf(value[i]);
    return 0;
}

int kolk_host_tanh_backward(kolk_view d, kolk_view y, void *stream)
{
    (void)stream;
    const int64_t count = kolk_count_of(&d);
    float *const slope = d.data;
    const float *const value = y.data;
    for (int64_t i = 0; i < count; i++)
        slope[i] *= 1 - value[i] * value[i];
    return 0;
}

static float maximum(const float *values, int64_t count)
{
    float top = values[0];
    for (int64_t i = 1; i < count; i++)
        top = values[i] > top ? values[i] : top;
    return top;
}

/* Each value, less `top`, becomes its exponential; the result is their sum. */
static double exponentials(float *values, int64_t count, float top)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        values[i] = expf(values[i] - top);
        sum += (double)values[i];
    }
    return sum;
}

/* The logits of one row become its gradient. With the largest logit taken off
 * all of them no exponential overflows, and their sum is 1 at least. */
static float cross_entropy_row(float *logits, int64_t count, int64_t target,
                               float scale)
{
    const float top = maximum(logits, count);
    const float aim = logits[target] - top;
    const double sum = exponentials(logits, count, top);
    for (int64_t i = 0; i < count; i++) {
        const double share = (double)logits[i] / sum - (i == target);
        logits[i] = (float)((double)scale * share);
    }
    return (float)(log(sum) - (double)aim);
}

int kolk_host_cross_entropy(kolk_view logits, kolk_view targets, kolk_view losses,
                            float scale, void *stream)
{
    (void)stream;
    const int64_t width = logits.shape[1];
    const int32_t *const target = targets.data;
    float *const loss = losses.data;
    for (int64_t row = 0; row < logits.shape[0]; row++)
        loss[row] = cross_entropy_row((float *)logits.data + row * width, width,
                                      target[row], scale);
    return 0;
}

int kolk_host_adamw(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                    kolk_adamw_step step, void *stream)
{
    (void)stream;
    const int64_t count = kolk_count_of(&param);
    const float *const slope = grad.data;
    float *const weight = param.data, *const mean = m.data, *const square = v.data;
    for (int64_t i = 0; i < count; i++) {
        mean[i] = step.beta1 * mean[i] + step.rest1 * slope[i];
        square[i] = step.beta2 * square[i] + step.rest2 * slope[i] * slope[i];
        const float spread = sqrtf(square[i]) * step.root + step.epsilon;
        weight[i] = step.decay * weight[i] - step.rate * mean[i] / spread;
    }
    return 0;
}
