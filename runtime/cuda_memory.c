/* SPDX-License-Identifier: MIT */

/* Plain memory, and moving bytes. */

#include "cuda_backend.h"

kolk_status kolk_cuda_memory_info(int device, size_t *out_free, size_t *out_total)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    size_t unused = 0;
    size_t total = 0;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    KOLK_TRY(KOLK_CUDA_CALL(cudaMemGetInfo, &unused, &total));
    *out_free = unused;
    *out_total = total;
    return KOLK_OK;
}

kolk_status kolk_cuda_memory_alloc(int device, size_t size, void **out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    void *data = NULL;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    KOLK_TRY(KOLK_CUDA_CALL(cudaMalloc, &data, size));
    *out = data;
    return KOLK_OK;
}

static kolk_status release(int device, void *data)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return KOLK_CUDA_CALL(cudaFree, data);
}

kolk_status kolk_cuda_memory_free(int device, void *data)
{
    return kolk_cuda_forgive(release(device, data));
}

/* One address space holds the host's memory and every device's, so that the
 * driver can tell the direction from the addresses. */
kolk_status kolk_cuda_copy(int device, void *to, const void *from, size_t size,
                           void *stream)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    return KOLK_CUDA_CALL(cudaMemcpyAsync, to, from, size, cudaMemcpyDefault, stream);
}

kolk_status kolk_cuda_fill(int device, void *to, int byte, size_t size, void *stream)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    return KOLK_CUDA_CALL(cudaMemsetAsync, to, byte, size, stream);
}
