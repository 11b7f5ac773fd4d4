/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_GEMM_H
#define KOLK_TRAIN_GEMM_H

/* Matrix products, from the BLAS of the device: CBLAS on the host, cuBLAS on
 * CUDA. The only part of the program that differs from device to device.
 *
 * Both are set up so that a product gives the same bits on every run. */

#include "memory.h"

/* c = op(a) op(b) + beta c, all f32, row-major, rank 2, without gaps; op
 * transposes where asked. The caller vouches for shapes that fit. */
typedef struct train_product {
    kolk_view a, b, c;
    bool transpose_a, transpose_b;
    float beta;
} train_product;

typedef struct train_gemm {
    /* `*out` is the state of the other two. Its workspace comes from `memory`. */
    kolk_status (*open)(train_memory *memory, void **out);
    void (*close)(void *state);
    /* Queued on the memory's stream. */
    kolk_status (*multiply)(void *state, const train_product *product);
} train_gemm;

extern const train_gemm train_gemm_host;
#ifdef TRAIN_HAVE_CUBLAS
extern const train_gemm train_gemm_cuda;
#endif

/* The product's extents as BLAS counts them: op(a) [m, k], op(b) [k, n]. */
typedef struct train_extents {
    int m, n, k;
} train_extents;

static inline train_extents train_extents_of(const train_product *product)
{
    const int64_t k = product->a.shape[product->transpose_a ? 0 : 1];
    return (train_extents){(int)product->c.shape[0], (int)product->c.shape[1], (int)k};
}

#endif
