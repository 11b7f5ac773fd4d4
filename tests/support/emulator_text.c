/* SPDX-License-Identifier: MIT */

/* The names and texts of the codes that the machine gives. */

#include "emulator_machine.h"

#define CODES(X)                                                                       \
    X(cudaSuccess, "no error")                                                         \
    X(cudaErrorInvalidValue, "invalid argument")                                       \
    X(cudaErrorMemoryAllocation, "out of memory")                                      \
    X(cudaErrorInitializationError, "initialization error")                            \
    X(cudaErrorCudartUnloading, "driver shutting down")                                \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")            \
    X(cudaErrorStubLibrary, "CUDA driver is a stub library")                           \
    X(cudaErrorInsufficientDriver,                                                     \
      "CUDA driver version is insufficient for CUDA runtime version")                  \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                         \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                       \
    X(cudaErrorIllegalState, "the operation cannot be performed in the present state") \
    X(cudaErrorNotReady, "device not ready")                                           \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")             \
    X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")               \
    X(cudaErrorContextIsDestroyed, "context is destroyed")                             \
    X(cudaErrorNotSupported, "operation not supported")                                \
    X(cudaErrorStreamCaptureUnsupported,                                               \
      "operation not permitted when stream is capturing")                              \
    X(cudaErrorStreamCaptureInvalidated,                                               \
      "operation failed due to a previous error during capture")                       \
    X(cudaErrorStreamCaptureMerge,                                                     \
      "operation would result in a merge of separate capture sequences")               \
    X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream")     \
    X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")            \
    X(cudaErrorStreamCaptureIsolation,                                                 \
      "dependency created on uncaptured work in another stream")                       \
    X(cudaErrorStreamCaptureImplicit,                                                  \
      "operation would make the legacy stream depend on a capturing stream")           \
    X(cudaErrorCapturedEvent,                                                          \
      "operation not permitted on an event last recorded in a capturing stream")       \
    X(cudaErrorStreamCaptureWrongThread,                                               \
      "attempt to terminate a capture sequence from another thread")                   \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t code)
{
    switch ((int)code) {
#define X(name, text) \
    case name:        \
        return #name;
        CODES(X)
#undef X
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t code)
{
    switch ((int)code) {
#define X(name, text) \
    case name:        \
        return text;
        CODES(X)
#undef X
    default:
        return "unrecognized error code";
    }
}
