/* SPDX-License-Identifier: MIT */
/* cuBLAS, found at run time so that the program starts on machines without it.
 *
 * Pedantic mode: single precision throughout, no shortened mantissas. With a
 * workspace of its own and one stream, cuBLAS promises the same bits on every
 * run on one kind of device. */
#include "failure.h"
#include "gemm.h"
#include "host.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <kolk/cuda.h>
#include <stdlib.h>

#define WORKSPACE_BYTES (4 << 20) /* what cuBLAS takes by itself on most devices */

/* X(member, name in the library) */
#define CUBLAS_LIST(X)                      \
    X(create, cublasCreate_v2)              \
    X(destroy, cublasDestroy_v2)            \
    X(set_stream, cublasSetStream_v2)       \
    X(set_workspace, cublasSetWorkspace_v2) \
    X(set_math_mode, cublasSetMathMode)     \
    X(sgemm, cublasSgemm_v2)                \
    X(status_string, cublasGetStatusString)

typedef struct cuda_gemm {
    void *library;
    cublasHandle_t handle;
    kolk_tensor *workspace;
#define X(member, name) __typeof__(name) *member;
    CUBLAS_LIST(X)
#undef X
} cuda_gemm;

static kolk_status checked(const cuda_gemm *gemm, const char *call,
                           cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return KOLK_OK;
    return train_fail(KOLK_DEVICE, "cuBLAS %s failed with %d (%s)", call, (int)status,
                      gemm->status_string(status));
}

static kolk_status load_library(cuda_gemm *gemm)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !gemm->library; i++)
        gemm->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!gemm->library)
        return train_fail(KOLK_UNSUPPORTED, "cuBLAS cannot be loaded: %s", dlerror());
    return KOLK_OK;
}

static kolk_status load_symbols(cuda_gemm *gemm)
{
#define X(member, name)                                    \
    *(void **)&gemm->member = dlsym(gemm->library, #name); \
    if (!gemm->member)                                     \
        return train_fail(KOLK_UNSUPPORTED, "cuBLAS has no " #name ": %s", dlerror());
    CUBLAS_LIST(X)
#undef X
    return KOLK_OK;
}

/* The stream first: setting it makes cuBLAS forget the workspace. */
static kolk_status configure(cuda_gemm *gemm, train_memory *memory)
{
    const kolk_tensor_spec spec = {.dtype = KOLK_U8,
                                   .rank = 1,
                                   .shape = {WORKSPACE_BYTES},
                                   .uninitialized = true,
                                   .no_grad = true,
                                   .tag = KOLK_TAG_WORKSPACE};
    KOLK_TRY(train_memory_make(memory, &spec, NULL, &gemm->workspace));
    KOLK_TRY(checked(gemm, "create", gemm->create(&gemm->handle)));
    KOLK_TRY(checked(gemm, "set_stream",
                     gemm->set_stream(gemm->handle, kolk_stream_cuda(memory->stream))));
    KOLK_TRY(checked(gemm, "set_workspace",
                     gemm->set_workspace(gemm->handle,
                                         kolk_tensor_view(gemm->workspace).data,
                                         WORKSPACE_BYTES)));
    return checked(gemm, "set_math_mode",
                   gemm->set_math_mode(gemm->handle, CUBLAS_PEDANTIC_MATH));
}

/* Also what is left of one that could not be opened. The library stays loaded:
 * it leaves handlers behind that run at exit. */
static void cuda_close(void *state)
{
    cuda_gemm *const gemm = state;
    if (gemm->handle)
        (void)gemm->destroy(gemm->handle);
    kolk_tensor_destroy(&gemm->workspace);
    free(gemm);
}

static kolk_status open_parts(cuda_gemm *gemm, train_memory *memory)
{
    KOLK_TRY(load_library(gemm));
    KOLK_TRY(load_symbols(gemm));
    return configure(gemm, memory);
}

static kolk_status cuda_open(train_memory *memory, void **out)
{
    cuda_gemm *const gemm = train_calloc(1, sizeof *gemm);
    const kolk_status status = open_parts(gemm, memory);
    if (status == KOLK_OK)
        *out = gemm;
    else
        cuda_close(gemm);
    return status;
}

static cublasOperation_t transposed(bool yes)
{
    return yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* cuBLAS counts by columns, where a row-major matrix is its own transpose: so
 * it is asked for c' = op(b)' op(a)'. */
static kolk_status cuda_multiply(void *state, const train_product *product)
{
    const cuda_gemm *const gemm = state;
    const train_extents e = train_extents_of(product);
    const kolk_view *const a = &product->a, *const b = &product->b;
    const float one = 1.0F;
    return checked(gemm, "sgemm",
                   gemm->sgemm(gemm->handle, transposed(product->transpose_b),
                               transposed(product->transpose_a), e.n, e.m, e.k, &one,
                               b->data, (int)b->shape[1], a->data, (int)a->shape[1],
                               &product->beta, product->c.data, e.n));
}

const train_gemm train_gemm_cuda = {cuda_open, cuda_close, cuda_multiply};
