/* SPDX-License-Identifier: MIT */

#include "cuda_driver.h"

#include "fail.h"

/* Code 100 is also what a driver that counts no device would have said. */
kolk_status kolk_cuda_device_count(int *out)
{
    int count = 0;
    KOLK_TRY(KOLK_CUDA_CALL(cudaGetDeviceCount, &count));
    KOLK_TRY(kolk_cuda_check(__func__, "cudaGetDeviceCount",
                             count > 0 ? cudaSuccess : cudaErrorNoDevice));
    *out = count;
    return KOLK_OK;
}

static kolk_status attribute(const kolk_cuda_driver *driver, int device,
                             CUdevice_attribute name, bool *out)
{
    int value = 0;
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuDeviceGetAttribute, &value, name, device));
    *out = value != 0;
    return KOLK_OK;
}

static kolk_status page_size(const kolk_cuda_driver *driver, int device, size_t *out)
{
    bool has_pages = false;
    KOLK_TRY(attribute(driver, device,
                       CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                       &has_pages));
    if (!has_pages)
        return KOLK_OK;
    const CUmemAllocationProp kind = kolk_cuda_page_kind(device);
    return KOLK_CUDA_DRIVER_CALL(driver, cuMemGetAllocationGranularity, out, &kind,
                                 CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

kolk_status kolk_cuda_device_describe(int device, kolk_device_info *out)
{
    const kolk_cuda_driver *driver = NULL;
    kolk_device_info info = {0};
    KOLK_TRY(kolk_cuda_driver_get(&driver));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuDeviceGetName, info.name,
                                   (int)sizeof info.name, device));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuDeviceTotalMem, &info.total, device));
    KOLK_TRY(
        attribute(driver, device, CU_DEVICE_ATTRIBUTE_INTEGRATED, &info.integrated));
    KOLK_TRY(page_size(driver, device, &info.page_size));
    *out = info;
    return KOLK_OK;
}

kolk_status kolk_cuda_device_synchronize(int device)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return kolk_cuda_check(__func__, "cudaDeviceSynchronize", cudaDeviceSynchronize());
}
