/* SPDX-License-Identifier: MIT */
#include "queue.h"
#include "shape.h"
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <runtime/host_memory.h>

/* ---- lanes ---- */

kolk_lane kolk_lane_of(kolk_device device, kolk_stream *given)
{
    return (kolk_lane){.given = given, .plain = {.device = device}};
}

kolk_status kolk_lane_open(const char *where, kolk_device device, kolk_stream *given,
                           kolk_lane *out)
{
    if (given != NULL)
        KOLK_TRY(kolk_device_must_equal(where, given->device, device));
    *out = kolk_lane_of(device, given);
    return KOLK_OK;
}

kolk_stream *kolk_lane_stream(kolk_lane *lane)
{
    return lane->given != NULL ? lane->given : &lane->plain;
}

kolk_status kolk_lane_follow(kolk_lane *later, kolk_lane *earlier)
{
    kolk_stream *const behind = kolk_lane_stream(later);
    kolk_stream *const ahead = kolk_lane_stream(earlier);
    if (behind->native == ahead->native)
        return KOLK_OK;
    kolk_event *event KOLK_AUTO(kolk_event_destroy) = NULL;
    KOLK_TRY(kolk_event_create(ahead->device, &event));
    KOLK_TRY(kolk_event_record(event, ahead));
    return kolk_stream_wait(behind, event);
}

/* Unlike devices have been waited for already. */
kolk_status kolk_lane_release(kolk_lane *lane, kolk_lane *other)
{
    const kolk_device device = kolk_lane_stream(lane)->device;
    if (!kolk_device_equal(device, kolk_lane_stream(other)->device))
        return KOLK_OK;
    const kolk_error before = *kolk_last_error();
    if (kolk_lane_follow(other, lane) == KOLK_OK)
        return KOLK_OK;
    KOLK_TRY(kolk_lane_finish(lane));
    kolk_error_restore(&before);
    return KOLK_OK;
}

kolk_status kolk_lane_finish(kolk_lane *lane)
{
    kolk_stream *const stream = kolk_lane_stream(lane);
    const kolk_status status = kolk_stream_synchronize(stream);
    if (status == KOLK_OK)
        return KOLK_OK;
    const kolk_error failure = *kolk_last_error();
    (void)kolk_device_synchronize(stream->device);
    kolk_error_restore(&failure);
    return status;
}

/* ---- kernels ---- */

kolk_status kolk_kernels_reach(const char *where, kolk_device device,
                               const kolk_kernels **out)
{
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(where, device, &backend));
    *out = &kolk_kernels_host;
#ifdef KOLK_HAVE_CUDA
    if (device.kind == KOLK_CUDA)
        *out = &kolk_kernels_cuda;
#endif
    return KOLK_OK;
}

kolk_status kolk_launched(const char *where, const kolk_kernels *kernels, int code)
{
    if (code == 0)
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_DEVICE, code,
                        "the kernel was refused: %s (code %d)", kernels->text(code),
                        code);
}

/* ---- copies ---- */

kolk_status kolk_view_copy(const char *where, const kolk_view *to,
                           const kolk_view *from, kolk_lane *lane)
{
    kolk_stream *const stream = kolk_lane_stream(lane);
    const kolk_kernels *kernels;
    if (kolk_view_numel(to) == 0)
        return KOLK_OK;
    if (kolk_view_is_contiguous(to) && kolk_view_is_contiguous(from))
        return kolk_copy_queue(stream, to->data, from->data, kolk_view_bytes(to));
    KOLK_TRY(kolk_kernels_reach(where, to->device, &kernels));
    return kolk_launched(where, kernels, kernels->copy(*to, *from, stream->native));
}

static kolk_status carry_within(kolk_lane *to_lane, void *to, kolk_lane *from_lane,
                                const void *from, size_t size)
{
    KOLK_TRY(kolk_lane_follow(to_lane, from_lane));
    return kolk_copy_queue(kolk_lane_stream(to_lane), to, from, size);
}

static kolk_status copy_and_finish(kolk_lane *lane, void *to, const void *from,
                                   size_t size)
{
    KOLK_TRY(kolk_copy_queue(kolk_lane_stream(lane), to, from, size));
    return kolk_lane_finish(lane);
}

static kolk_status carry_staged(kolk_lane *to_lane, void *to, kolk_lane *from_lane,
                                const void *from, size_t size)
{
    void *const staging = kolk_host_alloc(size);
    if (staging == NULL)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "no %zu bytes to stage a copy between devices", size);
    kolk_status status = copy_and_finish(from_lane, staging, from, size);
    if (status == KOLK_OK)
        status = copy_and_finish(to_lane, to, staging, size);
    kolk_host_free(staging);
    return status;
}

/* Where one side is the host, the bytes are there already, once its work is done. */
kolk_status kolk_bytes_carry(kolk_lane *to_lane, void *to, kolk_lane *from_lane,
                             const void *from, size_t size)
{
    const kolk_device to_device = kolk_lane_stream(to_lane)->device;
    const kolk_device from_device = kolk_lane_stream(from_lane)->device;
    if (size == 0)
        return KOLK_OK;
    if (kolk_device_equal(to_device, from_device))
        return carry_within(to_lane, to, from_lane, from, size);
    if (to_device.kind == KOLK_HOST)
        return copy_and_finish(from_lane, to, from, size);
    if (from_device.kind != KOLK_HOST)
        return carry_staged(to_lane, to, from_lane, from, size);
    KOLK_TRY(kolk_lane_finish(from_lane));
    return copy_and_finish(to_lane, to, from, size);
}
