/* SPDX-License-Identifier: MIT */

/* Finding the driver's calls.
 *
 * A thread looks all of them up into a table of its own and then publishes the
 * whole; whoever publishes second finds the same addresses there already. So no
 * lock is held while the driver is asked, and a lookup that fails leaves no
 * trace. */

#include "cuda_driver.h"

#include "fail.h"
#include "lock.h"

#include <string.h>

typedef struct entry_point {
    const char *name;
    unsigned version;
    size_t offset;
} entry_point;

static const entry_point entry_points[] = {
#define X(name, version) {#name, version, offsetof(kolk_cuda_driver, name)},
    KOLK_CUDA_DRIVER_LIST(X)
#undef X
};

static const size_t entry_point_count = sizeof entry_points / sizeof entry_points[0];

static kolk_cuda_driver published;
static atomic_bool is_published;
static kolk_lock publishing;

static kolk_status find(const entry_point *entry, kolk_cuda_driver *driver)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    KOLK_TRY(KOLK_CUDA_CALL(cudaGetDriverEntryPointByVersion, entry->name, &address,
                            entry->version, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess)
        return kolk_fail(KOLK_UNSUPPORTED, "the CUDA driver has no %s of version %u",
                         entry->name, entry->version);
    /* A data pointer and a function pointer have one representation here. */
    memcpy((char *)driver + entry->offset, &address, sizeof address);
    return KOLK_OK;
}

static void publish(const kolk_cuda_driver *driver)
{
    kolk_lock_acquire(&publishing);
    if (!atomic_load_explicit(&is_published, memory_order_relaxed)) {
        published = *driver;
        atomic_store_explicit(&is_published, true, memory_order_release);
    }
    kolk_lock_release(&publishing);
}

kolk_status kolk_cuda_driver_get(const kolk_cuda_driver **out)
{
    if (!atomic_load_explicit(&is_published, memory_order_acquire)) {
        kolk_cuda_driver driver = {0};
        for (size_t i = 0; i < entry_point_count; i++)
            KOLK_TRY(find(&entry_points[i], &driver));
        publish(&driver);
    }
    *out = &published;
    return KOLK_OK;
}

void kolk_cuda_driver_forget(void)
{
    atomic_store(&is_published, false);
}

kolk_status kolk_cuda_driver_check(const char *where, const char *call, CUresult code)
{
    if (code == CUDA_SUCCESS)
        return KOLK_OK;
    return kolk_cuda_fail(where, call, (cudaError_t)code);
}
