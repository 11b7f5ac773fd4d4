/* SPDX-License-Identifier: MIT */

/* Address space and the pages behind it.
 *
 * A fresh mapping can be touched by nobody, so that mapping a page is two calls:
 * if the second fails the first is undone, and the page is unmapped as before. */

#include "cuda_driver.h"

CUmemAllocationProp kolk_cuda_page_kind(int device)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
}

static CUdeviceptr address_of(const void *data)
{
    return (CUdeviceptr)(uintptr_t)data;
}

static kolk_status enter(kolk_cuda_scope *scope, int device,
                         const kolk_cuda_driver **out)
{
    KOLK_TRY(kolk_cuda_driver_get(out));
    return kolk_cuda_enter(scope, device, KOLK_CUDA_CONTEXT);
}

kolk_status kolk_cuda_range_reserve(int device, size_t size, void **out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    CUdeviceptr base = 0;
    KOLK_TRY(enter(&scope, device, &driver));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuMemAddressReserve, &base, size, 0, 0, 0));
    *out = (void *)(uintptr_t)base;
    return KOLK_OK;
}

static kolk_status free_range(int device, const void *base, size_t size)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    KOLK_TRY(enter(&scope, device, &driver));
    return KOLK_CUDA_DRIVER_CALL(driver, cuMemAddressFree, address_of(base), size);
}

kolk_status kolk_cuda_range_free(int device, void *base, size_t size)
{
    return kolk_cuda_forgive(free_range(device, base, size));
}

kolk_status kolk_cuda_page_create(int device, size_t size, uint64_t *out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    const CUmemAllocationProp kind = kolk_cuda_page_kind(device);
    CUmemGenericAllocationHandle page = 0;
    KOLK_TRY(enter(&scope, device, &driver));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuMemCreate, &page, size, &kind, 0));
    *out = page;
    return KOLK_OK;
}

static kolk_status release_page(int device, uint64_t page)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    KOLK_TRY(enter(&scope, device, &driver));
    return KOLK_CUDA_DRIVER_CALL(driver, cuMemRelease, page);
}

kolk_status kolk_cuda_page_release(int device, uint64_t page, size_t size)
{
    (void)size;
    return kolk_cuda_forgive(release_page(device, page));
}

static kolk_status grant(const kolk_cuda_driver *driver, int device,
                         CUdeviceptr address, size_t size)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    return KOLK_CUDA_DRIVER_CALL(driver, cuMemSetAccess, address, size, &access, 1);
}

kolk_status kolk_cuda_page_map(int device, void *address, size_t size, uint64_t page)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    const CUdeviceptr at = address_of(address);
    KOLK_TRY(enter(&scope, device, &driver));
    KOLK_TRY(KOLK_CUDA_DRIVER_CALL(driver, cuMemMap, at, size, 0, page, 0));
    const kolk_status granted = grant(driver, device, at, size);
    if (granted != KOLK_OK)
        (void)driver->cuMemUnmap(at, size);
    return granted;
}

static kolk_status unmap(int device, const void *address, size_t size)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    const kolk_cuda_driver *driver = NULL;
    KOLK_TRY(enter(&scope, device, &driver));
    return KOLK_CUDA_DRIVER_CALL(driver, cuMemUnmap, address_of(address), size);
}

kolk_status kolk_cuda_page_unmap(int device, void *address, size_t size)
{
    return kolk_cuda_forgive(unmap(device, address, size));
}
