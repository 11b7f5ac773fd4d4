/* SPDX-License-Identifier: MIT */

/* What a small language model needs. Where several terms make one sum, one thread
 * adds them in the order in which the host does; only a loss is summed by a whole
 * block, along a tree that is always the same. */

#include "cuda_kernels.h"
#include "size.h"

/* ---- embedding ---- */

__global__ static void embed(const float *table, const int32_t *ids, float *out,
                             int64_t width, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        out[i] = table[ids[i / width] * width + i % width];
}

int kolk_cuda_embed(kolk_view table, kolk_view ids, kolk_view out, void *stream)
{
    const int64_t count = kolk_count_of(&out);
    return kolk_launch_tasks(out.device, embed, count, stream,
                             (const float *)table.data, (const int32_t *)ids.data,
                             (float *)out.data, table.shape[1], count);
}

/* One thread an element of the table: it looks for its row among all ids. */
__global__ static void embed_backward(const float *d_out, const int32_t *ids,
                                      float *d_table, int64_t rows, int64_t width,
                                      int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step()) {
        const int64_t id = i / width;
        const int64_t j = i % width;
        float sum = d_table[i];
        for (int64_t row = 0; row < rows; row++)
            if (ids[row] == id)
                sum += d_out[row * width + j];
        d_table[i] = sum;
    }
}

int kolk_cuda_embed_backward(kolk_view d_out, kolk_view ids, kolk_view d_table,
                             void *stream)
{
    const int64_t count = kolk_count_of(&d_table);
    return kolk_launch_tasks(d_table.device, embed_backward, count, stream,
                             (const float *)d_out.data, (const int32_t *)ids.data,
                             (float *)d_table.data, kolk_count_of(&ids),
                             d_table.shape[1], count);
}

/* ---- bias ---- */

__global__ static void add_bias(float *x, const float *bias, int64_t width,
                                int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        x[i] += bias[i % width];
}

int kolk_cuda_add_bias(kolk_view x, kolk_view bias, void *stream)
{
    const int64_t count = kolk_count_of(&x);
    return kolk_launch_tasks(x.device, add_bias, count, stream, (float *)x.data,
                             (const float *)bias.data, bias.shape[0], count);
}

__global__ static void add_bias_backward(const float *d_x, float *d_bias, int64_t rows,
                                         int64_t width)
{
    for (int64_t j = kolk_first_task(); j < width; j += kolk_task_step()) {
        double sum = 0;
        for (int64_t row = 0; row < rows; row++)
            sum += (double)d_x[row * width + j];
        d_bias[j] += (float)sum;
    }
}

int kolk_cuda_add_bias_backward(kolk_view d_x, kolk_view d_bias, void *stream)
{
    return kolk_launch_tasks(d_x.device, add_bias_backward, d_bias.shape[0], stream,
                             (const float *)d_x.data, (float *)d_bias.data,
                             d_x.shape[0], d_bias.shape[0]);
}

/* ---- tanh ---- */

__global__ static void tanh_elements(float *x, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        x[i] = tanhf(x[i]);
}

int kolk_cuda_tanh(kolk_view x, void *stream)
{
    const int64_t count = kolk_count_of(&x);
    return kolk_launch_tasks(x.device, tanh_elements, count, stream, (float *)x.data,
                             count);
}

__global__ static void tanh_backward(float *d, const float *y, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step())
        d[i] *= 1 - y[i] * y[i];
}

int kolk_cuda_tanh_backward(kolk_view d, kolk_view y, void *stream)
{
    const int64_t count = kolk_count_of(&d);
    return kolk_launch_tasks(d.device, tanh_backward, count, stream, (float *)d.data,
                             (const float *)y.data, count);
}

/* ---- loss: a block a row ---- */

enum { ROW_THREADS = 128 };

/* Every thread brings a value and gets what `join` makes of all of them. */
template <typename Value, typename Join>
__device__ static Value reduce(Value value, Join join)
{
    __shared__ Value shared[ROW_THREADS];
    __syncthreads();
    shared[threadIdx.x] = value;
    for (unsigned half = ROW_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    return shared[0];
}

struct larger {
    __device__ float operator()(float a, float b) const
    {
        return b > a ? b : a;
    }
};

struct sum {
    __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

__global__ static void cross_entropy(float *logits, const int32_t *targets,
                                     float *losses, int64_t width, float scale)
{
    const int64_t row = blockIdx.x;
    const int64_t target = targets[row];
    float *const line = logits + row * width;
    float top = line[0];
    double part = 0;
    for (int64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        top = larger()(top, line[i]);
    top = reduce(top, larger());
    const float aim = line[target] - top;
    __syncthreads(); /* all have read the target's logit */
    for (int64_t i = threadIdx.x; i < width; i += ROW_THREADS) {
        line[i] = expf(line[i] - top);
        part += (double)line[i];
    }
    const double total = reduce(part, sum());
    for (int64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        line[i] = (float)((double)scale * ((double)line[i] / total - (i == target)));
    if (threadIdx.x == 0)
        losses[row] = (float)(log(total) - (double)aim);
}

int kolk_cuda_cross_entropy(kolk_view logits, kolk_view targets, kolk_view losses,
                            float scale, void *stream)
{
    return kolk_launch(logits.device, cross_entropy, (unsigned)logits.shape[0],
                       ROW_THREADS, stream, (float *)logits.data,
                       (const int32_t *)targets.data, (float *)losses.data,
                       logits.shape[1], scale);
}

/* ---- AdamW ---- */

__global__ static void adamw(float *param, const float *grad, float *m, float *v,
                             kolk_adamw_step step, int64_t count)
{
    for (int64_t i = kolk_first_task(); i < count; i += kolk_task_step()) {
        m[i] = step.beta1 * m[i] + step.rest1 * grad[i];
        v[i] = step.beta2 * v[i] + step.rest2 * grad[i] * grad[i];
        const float spread = sqrtf(v[i]) * step.root + step.epsilon;
        param[i] = step.decay * param[i] - step.rate * m[i] / spread;
    }
}

int kolk_cuda_adamw(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                    kolk_adamw_step step, void *stream)
{
    const int64_t count = kolk_count_of(&param);
    return kolk_launch_tasks(param.device, adamw, count, stream, (float *)param.data,
                             (const float *)grad.data, (float *)m.data, (float *)v.data,
                             step, count);
}
