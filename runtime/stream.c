/* SPDX-License-Identifier: MIT */

/* Streams, their observers, and the work that the library queues on them.
 *
 * A stream remembers its id, since the driver gives a destroyed stream's handle
 * to the next one. Whoever keeps something for a stream observes it: an
 * observer is on the stream's list until it leaves or has been told the end. */

#include "stream.h"
#include "backend.h"
#include "fail.h"
#include "fork.h"
#include "host_memory.h"
#include <assert.h>

/* ---- birth and death ---- */

static kolk_status wrap(const kolk_backend *backend, kolk_device device, void *native,
                        kolk_stream **out)
{
    uint64_t id;
    KOLK_TRY(backend->stream_id(device.ordinal, native, &id));
    kolk_stream *const stream = kolk_host_alloc(sizeof *stream);
    if (stream == NULL)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY, "no %zu bytes for a stream",
                         sizeof *stream);
    *stream = (kolk_stream){.device = device, .native = native, .id = id};
    *out = stream;
    return KOLK_OK;
}

kolk_status kolk_stream_wrap_native(kolk_device device, void *native, kolk_stream **out)
{
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    return wrap(backend, device, native, out);
}

kolk_status kolk_stream_create_default(kolk_device device, kolk_stream **out)
{
    return kolk_stream_wrap_native(device, NULL, out);
}

kolk_status kolk_stream_create(kolk_device device, kolk_stream **out)
{
    assert(out != NULL);
    const kolk_backend *backend;
    void *native;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    KOLK_TRY(backend->stream_create(device.ordinal, &native));
    assert(native != NULL);
    const kolk_status status = wrap(backend, device, native, out);
    if (status == KOLK_OK)
        (*out)->owned = true;
    else
        kolk_backend_destroy(backend->stream_destroy, device, native);
    return status;
}

static kolk_stream_observer *pop_observer(kolk_stream *stream)
{
    kolk_lock_acquire(&kolk_runtime_lock);
    kolk_stream_observer *const observer = stream->observers;
    if (observer != NULL)
        stream->observers = observer->next;
    kolk_lock_release(&kolk_runtime_lock);
    return observer;
}

static void tell_observers(kolk_stream *stream)
{
    kolk_stream_observer *observer;
    while ((observer = pop_observer(stream)) != NULL)
        observer->closing(observer, stream);
}

void kolk_stream_destroy(kolk_stream **stream)
{
    assert(stream != NULL);
    kolk_stream *const dying = kolk_stream_take(stream);
    if (dying == NULL)
        return;
    tell_observers(dying);
    if (dying->owned)
        kolk_backend_destroy(kolk_backend_of(dying->device.kind)->stream_destroy,
                             dying->device, dying->native);
    kolk_host_free(dying);
}

/* ---- observers ---- */

void kolk_stream_observe(kolk_stream *stream, kolk_stream_observer *observer)
{
    kolk_lock_acquire(&kolk_runtime_lock);
    observer->next = stream->observers;
    stream->observers = observer;
    kolk_lock_release(&kolk_runtime_lock);
}

bool kolk_stream_unobserve(kolk_stream *stream, kolk_stream_observer *observer)
{
    kolk_lock_acquire(&kolk_runtime_lock);
    kolk_stream_observer **link = &stream->observers;
    while (*link != NULL && *link != observer)
        link = &(*link)->next;
    const bool found = *link != NULL;
    if (found)
        *link = observer->next;
    kolk_lock_release(&kolk_runtime_lock);
    return found;
}

/* ---- use ---- */

kolk_device kolk_stream_device(const kolk_stream *stream)
{
    assert(stream != NULL);
    return stream->device;
}

uint64_t kolk_stream_id(const kolk_stream *stream)
{
    assert(stream != NULL);
    return stream->id;
}

kolk_status kolk_stream_synchronize(kolk_stream *stream)
{
    assert(stream != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, stream->device, &backend));
    return backend->stream_synchronize(stream->device.ordinal, stream->native);
}

/* An owned stream and the default one are there as long as their handle is. */
bool kolk_stream_is_itself(const kolk_stream *stream)
{
    assert(stream != NULL);
    const kolk_backend *backend;
    uint64_t id;
    if (stream->owned || stream->native == NULL)
        return true;
    return kolk_backend_reach(__func__, stream->device, &backend) == KOLK_OK &&
           backend->stream_id(stream->device.ordinal, stream->native, &id) == KOLK_OK &&
           id == stream->id;
}

kolk_status kolk_stream_capture_id(kolk_stream *stream, uint64_t *out)
{
    assert(stream != NULL && out != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, stream->device, &backend));
    return backend->stream_capture_id(stream->device.ordinal, stream->native, out);
}

kolk_status kolk_copy_queue(kolk_stream *stream, void *to, const void *from,
                            size_t size)
{
    assert(stream != NULL);
    if (size == 0)
        return KOLK_OK;
    assert(to != NULL && from != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, stream->device, &backend));
    return backend->copy(stream->device.ordinal, to, from, size, stream->native);
}

kolk_status kolk_fill_queue(kolk_stream *stream, void *to, int byte, size_t size)
{
    assert(stream != NULL);
    if (size == 0)
        return KOLK_OK;
    assert(to != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, stream->device, &backend));
    return backend->fill(stream->device.ordinal, to, byte, size, stream->native);
}
