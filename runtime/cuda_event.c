/* SPDX-License-Identifier: MIT */

/* Events without timing, kept for reuse by device.
 *
 * A new event marks nothing, so only an event known to be complete may be given
 * out again. It is known without asking: `records` counts the records tried so
 * far, and whoever sees the event complete notes the count read before asking.
 * A count that has moved on since then was perhaps not part of the answer. */

#include "cuda_backend.h"

#include "fail.h"
#include "host_memory.h"
#include "lock.h"

typedef struct cuda_event {
    cudaEvent_t native;
    atomic_uint records;
    atomic_uint complete; /* value of `records` that was seen complete */
    struct cuda_event *next;
} cuda_event;

enum {
    DEVICES_KEPT = 64, /* events of further devices are not kept */
    EVENTS_KEPT = 256, /* on each */
};

typedef struct shelf {
    kolk_lock lock;
    unsigned count;
    cuda_event *top;
} shelf;

static shelf shelves[DEVICES_KEPT];

static cuda_event *take(int device)
{
    if (device >= DEVICES_KEPT)
        return NULL;
    shelf *const from = &shelves[device];
    kolk_lock_acquire(&from->lock);
    cuda_event *const event = from->top;
    if (event != NULL) {
        from->top = event->next;
        from->count--;
    }
    kolk_lock_release(&from->lock);
    return event;
}

static bool keep(int device, cuda_event *event)
{
    if (device >= DEVICES_KEPT)
        return false;
    shelf *const on = &shelves[device];
    kolk_lock_acquire(&on->lock);
    const bool has_room = on->count < EVENTS_KEPT;
    if (has_room) {
        event->next = on->top;
        on->top = event;
        on->count++;
    }
    kolk_lock_release(&on->lock);
    return has_room;
}

cudaEvent_t kolk_cuda_event_native(void *event)
{
    return ((const cuda_event *)event)->native;
}

static kolk_status create(int device, cudaEvent_t *out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return KOLK_CUDA_CALL(cudaEventCreateWithFlags, out, cudaEventDisableTiming);
}

static kolk_status destroy(int device, cudaEvent_t event)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    return KOLK_CUDA_CALL(cudaEventDestroy, event);
}

kolk_status kolk_cuda_event_create(int device, void **out)
{
    cuda_event *event = take(device);
    if (event == NULL) {
        cudaEvent_t native = NULL;
        event = kolk_host_alloc(sizeof *event);
        if (event == NULL)
            return kolk_fail(KOLK_OUT_OF_HOST_MEMORY, "no %zu bytes for an event",
                             sizeof *event);
        const kolk_status status = create(device, &native);
        if (status != KOLK_OK) {
            kolk_host_free(event);
            return status;
        }
        *event = (cuda_event){.native = native};
    }
    *out = event;
    return KOLK_OK;
}

kolk_status kolk_cuda_event_destroy(int device, void *event)
{
    cuda_event *const dying = event;
    const bool is_complete =
        atomic_load(&dying->records) == atomic_load(&dying->complete);
    if (is_complete && keep(device, dying))
        return KOLK_OK;
    KOLK_TRY(kolk_cuda_forgive(destroy(device, dying->native)));
    kolk_host_free(dying);
    return KOLK_OK;
}

kolk_status kolk_cuda_device_trim(int device)
{
    for (cuda_event *event = take(device); event != NULL; event = take(device)) {
        const kolk_status status = kolk_cuda_forgive(destroy(device, event->native));
        if (status != KOLK_OK && keep(device, event))
            return status;
        kolk_host_free(event);
    }
    return KOLK_OK;
}

void kolk_cuda_event_drain(void)
{
    for (int device = 0; device < DEVICES_KEPT; device++)
        (void)kolk_cuda_device_trim(device);
}

kolk_status kolk_cuda_event_record(int device, void *event, void *stream)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    cuda_event *const marked = event;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_ORDER));
    const kolk_status status = KOLK_CUDA_CALL(cudaEventRecord, marked->native, stream);
    atomic_fetch_add(&marked->records, 1);
    return status;
}

kolk_status kolk_cuda_event_query(int device, void *event, bool *out)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    cuda_event *const asked = event;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    const unsigned records = atomic_load(&asked->records);
    const cudaError_t code = cudaEventQuery(asked->native);
    if (code == cudaErrorNotReady)
        (void)cudaGetLastError();
    else
        KOLK_TRY(kolk_cuda_check(__func__, "cudaEventQuery", code));
    if (code == cudaSuccess)
        atomic_store(&asked->complete, records);
    *out = code == cudaSuccess;
    return KOLK_OK;
}

kolk_status kolk_cuda_event_synchronize(int device, void *event)
{
    kolk_cuda_scope scope KOLK_AUTO(kolk_cuda_leave) = {0};
    cuda_event *const asked = event;
    KOLK_TRY(kolk_cuda_enter(&scope, device, KOLK_CUDA_QUIET));
    const unsigned records = atomic_load(&asked->records);
    KOLK_TRY(KOLK_CUDA_CALL(cudaEventSynchronize, asked->native));
    atomic_store(&asked->complete, records);
    return KOLK_OK;
}
