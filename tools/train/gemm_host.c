/* SPDX-License-Identifier: MIT */
/* One thread: the order in which OpenBLAS adds up would otherwise depend on how
 * many cores the machine has, and with it the last bits of every result. */
#include "gemm.h"

#include <cblas.h>

static kolk_status host_open(train_memory *memory, void **out)
{
    (void)memory;
    openblas_set_num_threads(1);
    *out = NULL;
    return KOLK_OK;
}

static void host_close(void *state)
{
    (void)state;
}

static CBLAS_TRANSPOSE transposed(bool yes)
{
    return yes ? CblasTrans : CblasNoTrans;
}

static kolk_status host_multiply(void *state, const train_product *product)
{
    (void)state;
    const train_extents e = train_extents_of(product);
    const kolk_view *const a = &product->a, *const b = &product->b;
    cblas_sgemm(CblasRowMajor, transposed(product->transpose_a),
                transposed(product->transpose_b), e.m, e.n, e.k, 1.0F, a->data,
                (int)a->shape[1], b->data, (int)b->shape[1], product->beta,
                product->c.data, e.n);
    return KOLK_OK;
}

const train_gemm train_gemm_host = {host_open, host_close, host_multiply};
