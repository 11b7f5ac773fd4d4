/* SPDX-License-Identifier: MIT */

/* The scope of a call, and what its code means.
 *
 * Invariant: after kolk_cuda_leave() the thread has the device and the capture
 * mode it had before kolk_cuda_enter(), and the runtime's last error is not
 * ours. A call of the runtime that fails leaves its code behind for whoever
 * asks next, "not ready" included, so every failure is taken back at once. */

#include "cuda_backend.h"

#include "fail.h"

static bool failed(cudaError_t code)
{
    if (code != cudaSuccess)
        (void)cudaGetLastError();
    return code != cudaSuccess;
}

static kolk_status become_quiet(kolk_cuda_scope *scope)
{
    scope->mode = cudaStreamCaptureModeRelaxed;
    KOLK_TRY(KOLK_CUDA_CALL(cudaThreadExchangeStreamCaptureMode, &scope->mode));
    scope->is_quiet = true;
    return KOLK_OK;
}

/* Setting a device that is current already still makes its context current. */
static kolk_status move_to(kolk_cuda_scope *scope, int device, bool needs_context)
{
    KOLK_TRY(KOLK_CUDA_CALL(cudaGetDevice, &scope->device));
    scope->has_moved = scope->device != device;
    if (!scope->has_moved && !needs_context)
        return KOLK_OK;
    return KOLK_CUDA_CALL(cudaSetDevice, device);
}

kolk_status kolk_cuda_enter(kolk_cuda_scope *scope, int device, kolk_cuda_need need)
{
    if (need != KOLK_CUDA_ORDER)
        KOLK_TRY(become_quiet(scope));
    return move_to(scope, device, need == KOLK_CUDA_CONTEXT);
}

/* Any call may report the failure of work queued earlier instead of its own, so
 * that one refusal to restore says little: ask once more. */
void kolk_cuda_leave(kolk_cuda_scope *scope)
{
    if (scope->has_moved && failed(cudaSetDevice(scope->device)))
        (void)failed(cudaSetDevice(scope->device));
    if (scope->is_quiet && failed(cudaThreadExchangeStreamCaptureMode(&scope->mode)))
        (void)failed(cudaThreadExchangeStreamCaptureMode(&scope->mode));
}

kolk_status kolk_cuda_fail(const char *where, const char *call, cudaError_t code)
{
    const bool is_full = code == cudaErrorMemoryAllocation;
    return kolk_fail_at(where, is_full ? KOLK_OUT_OF_MEMORY : KOLK_DEVICE, (int)code,
                        "%s: %s (%s, code %d)", call, cudaGetErrorString(code),
                        cudaGetErrorName(code), (int)code);
}

kolk_status kolk_cuda_check(const char *where, const char *call, cudaError_t code)
{
    return failed(code) ? kolk_cuda_fail(where, call, code) : KOLK_OK;
}

kolk_status kolk_cuda_forgive(kolk_status status)
{
    const bool is_unloading =
        status == KOLK_DEVICE && kolk_last_error()->native == cudaErrorCudartUnloading;
    return is_unloading ? KOLK_OK : status;
}
