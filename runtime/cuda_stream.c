/* SPDX-License-Identifier: MIT */

/* Streams by handle and by id, and whether one is being captured. */

#include "cuda_driver.h"

#include "fail.h"

kolk_status kolk_cuda_stream_create(int device, void **out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    cudaStream_t stream = NULL;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    KOLK_TRY(KOLK_CUDA_CALL(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking));
    *out = stream;
    return KOLK_OK;
}

static kolk_status destroy(int device, cudaStream_t stream)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return KOLK_CUDA_CALL(cudaStreamDestroy, stream);
}

kolk_status kolk_cuda_stream_destroy(int device, void *stream)
{
    return kolk_cuda_forgive(destroy(device, stream));
}

kolk_status kolk_cuda_stream_id(int device, void *stream, uint64_t *out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    unsigned long long id = 0;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    KOLK_TRY(KOLK_CUDA_CALL(cudaStreamGetId, stream, &id));
    *out = id;
    return KOLK_OK;
}

kolk_status kolk_cuda_stream_synchronize(int device, void *stream)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return KOLK_CUDA_CALL(cudaStreamSynchronize, stream);
}

kolk_status kolk_cuda_stream_wait(int device, void *stream, void *event)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    return KOLK_CUDA_CALL(cudaStreamWaitEvent, stream, kolk_cuda_event_native(event),
                          cudaEventWaitDefault);
}

/* A stream in a capture that has been broken takes no work until the capture
 * ends, and neither does the legacy stream while a stream that it orders itself
 * with is captured: both are failures of this one stream, and only asking does
 * no harm to the capture. */
static kolk_status capture_id(CUstreamCaptureStatus status, cuuint64_t id,
                              uint64_t *out)
{
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return kolk_cuda_fail(__func__, "cuStreamGetCaptureInfo",
                              cudaErrorStreamCaptureInvalidated);
    *out = status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
    return KOLK_OK;
}

kolk_status kolk_cuda_stream_capture_id(int device, void *stream, uint64_t *out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    KOLK_TRY(kolk_cuda_driver_get(&driver));
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuStreamGetCaptureInfo, stream, &status, &id,
                                   NULL, NULL, NULL));
    return capture_id(status, id, out);
}
