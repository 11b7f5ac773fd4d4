/* SPDX-License-Identifier: MIT */
#include "cublas.h"

#include "emulator.h"

#include <cblas.h>
#include <cublas_v2.h>
#include <stdlib.h>

struct cublasContext {
    cudaStream_t stream;
    void *workspace; /* the caller's; NULL: an own one, whose size would vary */
    size_t workspace_size;
    cublasMath_t mode;
};

/* One product, as cuBLAS is asked for it: by columns. */
struct product {
    CBLAS_TRANSPOSE op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
};

static int handles, fail_in;
static cublasStatus_t fail_with;

void emulated_cublas_fail(int nth, int status);
int emulated_cublas_handles(void);

void emulated_cublas_fail(int nth, int status)
{
    fail_in = nth;
    fail_with = (cublasStatus_t)status;
}

int emulated_cublas_handles(void)
{
    return handles;
}

static cublasStatus_t enter(void)
{
    return fail_in > 0 && --fail_in == 0 ? fail_with : CUBLAS_STATUS_SUCCESS;
}

#define ENTER()                                 \
    do {                                        \
        const cublasStatus_t status_ = enter(); \
        if (status_ != CUBLAS_STATUS_SUCCESS)   \
            return status_;                     \
    } while (0)

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    ENTER();
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        return CUBLAS_STATUS_ALLOC_FAILED;
    handles++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    handles--;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    ENTER();
    handle->stream = stream;
    handle->workspace = NULL;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace,
                                     size_t size)
{
    ENTER();
    if ((uintptr_t)workspace % 256 != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_size = size;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    ENTER();
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED ? "execution failed" : "other";
}

#ifndef CRIPPLED
static void run_product(void *argument)
{
    const struct product *const p = argument;
    cblas_sgemm(CblasColMajor, p->op_a, p->op_b, p->m, p->n, p->k, p->alpha, p->a,
                p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

static CBLAS_TRANSPOSE op_of(cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

/* Bytes of a matrix by columns, op(matrix) having `rows` and `columns`. */
static size_t size_of(CBLAS_TRANSPOSE op, int rows, int columns, int ld)
{
    return (size_t)(op == CblasNoTrans ? columns : rows) * (size_t)ld * sizeof(float);
}

static cublasStatus_t queue(cublasHandle_t handle, const struct product *p)
{
    const cudaError_t code =
        EMU_LAUNCH(handle->stream, run_product, p,
                   EMU_READ(p->a, size_of(p->op_a, p->m, p->k, p->lda)),
                   EMU_READ(p->b, size_of(p->op_b, p->k, p->n, p->ldb)),
                   EMU_WRITE(p->c, size_of(CblasNoTrans, p->m, p->n, p->ldc)),
                   EMU_WRITE(handle->workspace, handle->workspace_size));
    return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* Refuses what would not give the same bits on every run. */
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t op_a,
                              cublasOperation_t op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda,
                              const float *b, int ldb, const float *beta, float *c,
                              int ldc)
{
    ENTER();
    if (!handle->workspace || handle->mode != CUBLAS_PEDANTIC_MATH)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    openblas_set_num_threads(1);
    const struct product product = {op_of(op_a), op_of(op_b), m,     n, k, lda, ldb,
                                    ldc,         *alpha,      *beta, a, b, c};
    return queue(handle, &product);
}
#endif
