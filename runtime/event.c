/* SPDX-License-Identifier: MIT */

/* Events: a backend's mark in a stream, and the device it belongs to. */

#include "backend.h"
#include "fail.h"
#include "host_memory.h"
#include "stream.h"
#include <assert.h>

struct kolk_event {
    kolk_device device;
    void *native;
};

kolk_status kolk_event_create(kolk_device device, kolk_event **out)
{
    assert(out != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    kolk_event event = {.device = device};
    KOLK_TRY(backend->event_create(device.ordinal, &event.native));
    assert(event.native != NULL);
    kolk_event *const made = kolk_host_alloc(sizeof *made);
    if (made == NULL) {
        kolk_backend_destroy(backend->event_destroy, device, event.native);
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY, "no %zu bytes for an event",
                         sizeof *made);
    }
    *made = event;
    *out = made;
    return KOLK_OK;
}

void kolk_event_destroy(kolk_event **event)
{
    assert(event != NULL);
    kolk_event *const dying = *event;
    *event = NULL;
    if (dying == NULL)
        return;
    kolk_backend_destroy(kolk_backend_of(dying->device.kind)->event_destroy,
                         dying->device, dying->native);
    kolk_host_free(dying);
}

kolk_status kolk_event_record(kolk_event *event, kolk_stream *stream)
{
    assert(event != NULL && stream != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_device_must_equal(__func__, event->device, stream->device));
    KOLK_TRY(kolk_backend_reach(__func__, event->device, &backend));
    return backend->event_record(event->device.ordinal, event->native, stream->native);
}

kolk_status kolk_stream_wait(kolk_stream *stream, kolk_event *event)
{
    assert(stream != NULL && event != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_device_must_equal(__func__, event->device, stream->device));
    KOLK_TRY(kolk_backend_reach(__func__, stream->device, &backend));
    return backend->stream_wait(stream->device.ordinal, stream->native, event->native);
}

kolk_status kolk_event_query(kolk_event *event, bool *out)
{
    assert(event != NULL && out != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, event->device, &backend));
    return backend->event_query(event->device.ordinal, event->native, out);
}

kolk_status kolk_event_synchronize(kolk_event *event)
{
    assert(event != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, event->device, &backend));
    return backend->event_synchronize(event->device.ordinal, event->native);
}
