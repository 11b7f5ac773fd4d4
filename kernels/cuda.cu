/* SPDX-License-Identifier: MIT */

/* CUDA's table. */

#include "cuda_kernels.h"

static const char *text(int code)
{
    return cudaGetErrorString((cudaError_t)code);
}

extern "C" const kolk_kernels kolk_kernels_cuda = {
    text,
    kolk_cuda_fill,
    kolk_cuda_copy,
    kolk_cuda_accumulate,
    kolk_cuda_cast,
    kolk_cuda_embed,
    kolk_cuda_embed_backward,
    kolk_cuda_add_bias,
    kolk_cuda_add_bias_backward,
    kolk_cuda_tanh,
    kolk_cuda_tanh_backward,
    kolk_cuda_cross_entropy,
    kolk_cuda_adamw,
};
