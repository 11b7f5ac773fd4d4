/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KERNELS_CUDA_KERNELS_H
#define KOLK_KERNELS_CUDA_KERNELS_H

/* What the .cu files share: how a kernel is launched, and the table's entries.
 *
 * A launch makes the view's device current, starts the kernel and asks for the
 * launch's own error, which takes it off the driver; then the caller's device is
 * current again. */

#include "kernels.h"

#include <cuda_runtime.h>

enum { KOLK_BLOCK_THREADS = 256 };

/* Blocks for one thread a task. A grid that would pass its bound is cut there:
 * kernels go on in strides of the whole grid. */
static inline unsigned kolk_grid(int64_t tasks)
{
    const int64_t blocks = (tasks + KOLK_BLOCK_THREADS - 1) / KOLK_BLOCK_THREADS;
    return (unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX);
}

/* This thread's first task, and the step to its next. */
__device__ static inline int64_t kolk_first_task()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline int64_t kolk_task_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Makes a device current while it lives. */
class kolk_cuda_guard
{
  public:
    explicit kolk_cuda_guard(kolk_device device)
    {
        code = cudaGetDevice(&previous);
        if (code == cudaSuccess && previous != device.ordinal) {
            code = cudaSetDevice(device.ordinal);
            moved = code == cudaSuccess;
        }
        if (code != cudaSuccess)
            (void)cudaGetLastError();
    }

    ~kolk_cuda_guard()
    {
        if (moved && cudaSetDevice(previous) != cudaSuccess)
            (void)cudaGetLastError();
    }

    kolk_cuda_guard(const kolk_cuda_guard &) = delete;
    kolk_cuda_guard &operator=(const kolk_cuda_guard &) = delete;

    cudaError_t code;

  private:
    int previous = 0;
    bool moved = false;
};

/* Runs `kernel` with `blocks` x `threads` threads; returns the launch's code. */
template <typename... Parameters, typename... Arguments>
int kolk_launch(kolk_device device, void (*kernel)(Parameters...), unsigned blocks,
                unsigned threads, void *stream, Arguments... arguments)
{
    const kolk_cuda_guard guard(device);
    if (guard.code != cudaSuccess)
        return (int)guard.code;
    kernel<<<blocks, threads, 0, (cudaStream_t)stream>>>(arguments...);
    return (int)cudaGetLastError();
}

/* The same with one thread a task. */
template <typename... Parameters, typename... Arguments>
int kolk_launch_tasks(kolk_device device, void (*kernel)(Parameters...), int64_t tasks,
                      void *stream, Arguments... arguments)
{
    return kolk_launch(device, kernel, kolk_grid(tasks), KOLK_BLOCK_THREADS, stream,
                       arguments...);
}

int kolk_cuda_fill(kolk_view to, kolk_element value, void *stream);
int kolk_cuda_copy(kolk_view to, kolk_view from, void *stream);
int kolk_cuda_accumulate(kolk_view a, kolk_view b, void *stream);
int kolk_cuda_cast(kolk_view to, kolk_view from, void *stream);

int kolk_cuda_embed(kolk_view table, kolk_view ids, kolk_view out, void *stream);
int kolk_cuda_embed_backward(kolk_view d_out, kolk_view ids, kolk_view d_table,
                             void *stream);
int kolk_cuda_add_bias(kolk_view x, kolk_view bias, void *stream);
int kolk_cuda_add_bias_backward(kolk_view d_x, kolk_view d_bias, void *stream);
int kolk_cuda_tanh(kolk_view x, void *stream);
int kolk_cuda_tanh_backward(kolk_view d, kolk_view y, void *stream);
int kolk_cuda_cross_entropy(kolk_view logits, kolk_view targets, kolk_view losses,
                            float scale, void *stream);
int kolk_cuda_adamw(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                    kolk_adamw_step step, void *stream);

#endif
