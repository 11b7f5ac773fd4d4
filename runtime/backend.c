/* SPDX-License-Identifier: MIT */

/* The one door to memory and pages: the device is there, the values are sound,
 * and the backend kept its word. */

#include "backend.h"
#include "fail.h"
#include <assert.h>

enum { ALIGNMENT = 256 };

static kolk_status check_size(const char *where, size_t size)
{
    if (size != 0)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0, "a size of 0 bytes");
}

/* Reaches a device that maps pages, for a whole number of them. */
static kolk_status reach_pages(const char *where, kolk_device device, size_t size,
                               const kolk_backend **out_backend, size_t *out_page)
{
    const kolk_backend *backend;
    size_t page;
    KOLK_TRY(kolk_backend_reach(where, device, &backend));
    KOLK_TRY(kolk_backend_page(backend, device, &page));
    if (page == 0)
        return kolk_fail_at(where, KOLK_UNSUPPORTED, 0, "%s:%d cannot map pages",
                            kolk_device_kind_name(device.kind), device.ordinal);
    if (size == 0 || size % page != 0)
        return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0,
                            "%zu bytes are not a whole number of pages of %zu", size,
                            page);
    *out_backend = backend;
    *out_page = page;
    return KOLK_OK;
}

static bool is_aligned(const void *address, size_t alignment)
{
    return address != NULL && (uintptr_t)address % alignment == 0;
}

/* The same for an address that the pages are to be found at. */
static kolk_status reach_address(const char *where, kolk_device device,
                                 const void *address, size_t size,
                                 const kolk_backend **out)
{
    size_t page;
    KOLK_TRY(reach_pages(where, device, size, out, &page));
    if (is_aligned(address, page))
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0,
                        "address %p is not a multiple of the page of %zu bytes",
                        address, page);
}

/* ---- the door ---- */

kolk_status kolk_device_synchronize(kolk_device device)
{
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    return backend->device_synchronize(device.ordinal);
}

kolk_status kolk_memory_alloc(kolk_device device, size_t size, void **out)
{
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    KOLK_TRY(check_size(__func__, size));
    KOLK_TRY(backend->memory_alloc(device.ordinal, size, out));
    assert(is_aligned(*out, ALIGNMENT));
    return KOLK_OK;
}

kolk_status kolk_memory_free(kolk_device device, void *data)
{
    assert(data != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    return backend->memory_free(device.ordinal, data);
}

kolk_status kolk_range_reserve(kolk_device device, size_t size, void **out)
{
    const kolk_backend *backend;
    size_t page;
    KOLK_TRY(reach_pages(__func__, device, size, &backend, &page));
    KOLK_TRY(backend->range_reserve(device.ordinal, size, out));
    assert(is_aligned(*out, page));
    return KOLK_OK;
}

kolk_status kolk_range_free(kolk_device device, void *base, size_t size)
{
    const kolk_backend *backend;
    KOLK_TRY(reach_address(__func__, device, base, size, &backend));
    return backend->range_free(device.ordinal, base, size);
}

kolk_status kolk_page_create(kolk_device device, size_t size, uint64_t *out)
{
    const kolk_backend *backend;
    size_t page;
    KOLK_TRY(reach_pages(__func__, device, size, &backend, &page));
    return backend->page_create(device.ordinal, size, out);
}

kolk_status kolk_page_release(kolk_device device, uint64_t page, size_t size)
{
    const kolk_backend *backend;
    size_t page_size;
    KOLK_TRY(reach_pages(__func__, device, size, &backend, &page_size));
    return backend->page_release(device.ordinal, page, size);
}

kolk_status kolk_page_map(kolk_device device, void *address, size_t size, uint64_t page)
{
    const kolk_backend *backend;
    KOLK_TRY(reach_address(__func__, device, address, size, &backend));
    return backend->page_map(device.ordinal, address, size, page);
}

kolk_status kolk_page_unmap(kolk_device device, void *address, size_t size)
{
    const kolk_backend *backend;
    KOLK_TRY(reach_address(__func__, device, address, size, &backend));
    return backend->page_unmap(device.ordinal, address, size);
}
