/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_CUDA_DRIVER_H
#define KOLK_RUNTIME_CUDA_DRIVER_H

/* The driver's own calls, found at run time. Each is asked for at the version
 * that introduced its present form; the typedef of that name lets the compiler
 * check the pin. */

#include "cuda_backend.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#define KOLK_CUDA_DRIVER_LIST(X)            \
    X(cuDeviceGetName, 2000)                \
    X(cuDeviceTotalMem, 3020)               \
    X(cuDeviceGetAttribute, 2000)           \
    X(cuMemGetAllocationGranularity, 10020) \
    X(cuMemAddressReserve, 10020)           \
    X(cuMemAddressFree, 10020)              \
    X(cuMemCreate, 10020)                   \
    X(cuMemRelease, 10020)                  \
    X(cuMemMap, 10020)                      \
    X(cuMemUnmap, 10020)                    \
    X(cuMemSetAccess, 10020)                \
    X(cuStreamGetCaptureInfo, 11030)

typedef struct kolk_cuda_driver {
#define X(name, version) PFN_##name##_v##version name;
    KOLK_CUDA_DRIVER_LIST(X)
#undef X
} kolk_cuda_driver;

/* The calls, looked up once in the process. UNSUPPORTED names the one that the
 * driver lacks. */
kolk_status kolk_cuda_driver_get(const kolk_cuda_driver **out);

/* The properties of a page of plain device memory. */
CUmemAllocationProp kolk_cuda_page_kind(int device);

/* Looks them up anew next time: for tests that change the driver. */
void kolk_cuda_driver_forget(void);

#define KOLK_CUDA_DRIVER_CALL(driver, function, ...) \
    kolk_cuda_driver_check(__func__, #function, (driver)->function(__VA_ARGS__))

kolk_status kolk_cuda_driver_check(const char *where, const char *call, CUresult code);

#endif
