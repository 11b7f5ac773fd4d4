/* SPDX-License-Identifier: MIT */

/* Events: a point in a stream, or in a capture. Handles are used again, the last
 * destroyed first. */

#include "emulator_machine.h"

struct CUevent_st {
    bool is_live;
    int device;
    emu_point point;  /* no stream: never recorded */
    uint64_t capture; /* the capture it was last recorded in, or 0 */
    emu_vector clock; /* of the point; in a capture, of captured work */
    struct CUevent_st *next_free;
    struct CUevent_st *next; /* of all */
};

static struct CUevent_st *slots;
static struct CUevent_st *free_slots;

static void release(cudaEvent_t event)
{
    emu_vector_clear(&event->clock);
    event->is_live = false;
    event->next_free = free_slots;
    free_slots = event;
}

void emu_event_halt(void)
{
    free_slots = NULL;
    for (struct CUevent_st *slot = slots; slot != NULL; slot = slot->next)
        release(slot);
}

static cudaEvent_t take_slot(void)
{
    struct CUevent_st *slot = free_slots;
    if (slot != NULL) {
        free_slots = slot->next_free;
        return slot;
    }
    slot = emu_alloc(sizeof *slot);
    slot->next = slots;
    slots = slot;
    return slot;
}

static cudaError_t enter(emu_call call, cudaEvent_t event)
{
    const cudaError_t code = emu_enter(call);
    if (code != cudaSuccess)
        return code;
    if (event == NULL)
        return cudaErrorInvalidResourceHandle;
    if (!event->is_live) {
        emu_violate("event %p is used after it was destroyed", (void *)event);
        return cudaErrorInvalidResourceHandle;
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    cudaError_t code = emu_enter(EMU_cudaEventCreateWithFlags);
    if (code == cudaSuccess && (flags & ~(unsigned)cudaEventDisableTiming) != 0)
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        code = emu_capture_unsafe();
    if (code == cudaSuccess) {
        *out = take_slot();
        (*out)->is_live = true;
        (*out)->device = emu_here()->device;
        (*out)->point = (emu_point){0};
        (*out)->capture = 0;
        emu.live_events++;
    }
    return emu_leave(code);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const cudaError_t code = enter(EMU_cudaEventDestroy, event);
    if (code == cudaSuccess) {
        release(event);
        emu.live_events--;
    }
    return emu_leave(code);
}

static void mark(cudaEvent_t event, emu_stream *stream)
{
    emu_vector_clear(&event->clock);
    if (stream->capture != NULL) {
        event->capture = stream->capture->id;
        emu_vector_join(&event->clock, &stream->captured);
        return;
    }
    emu_queue_now(stream, emu_work_make(EMU_MARK, stream));
    event->capture = 0;
    event->point = (emu_point){stream, stream->queued};
    emu_vector_join(&event->clock, &stream->clock);
}

static cudaError_t record(cudaEvent_t event, cudaStream_t handle)
{
    emu_stream *const stream = emu_stream_of(handle);
    if (stream == NULL || stream->device != event->device)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t code = emu_capture_allows_work(stream);
    if (code == cudaSuccess)
        mark(event, stream);
    return code;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    cudaError_t code = enter(EMU_cudaEventRecord, event);
    if (code == cudaSuccess)
        code = record(event, handle);
    return emu_leave(code);
}

static bool is_complete(const struct CUevent_st *event)
{
    return event->point.stream == NULL || emu_is_done(event->point);
}

static cudaError_t enter_waiting(emu_call call, cudaEvent_t event)
{
    const cudaError_t code = enter(call, event);
    if (code == cudaSuccess && event->capture != 0)
        return cudaErrorCapturedEvent;
    return code == cudaSuccess ? emu_capture_unsafe() : code;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t code = enter_waiting(EMU_cudaEventQuery, event);
    if (code == cudaSuccess && !is_complete(event))
        code = cudaErrorNotReady;
    if (code == cudaSuccess)
        emu_vector_join(&emu.host, &event->clock);
    return emu_leave(code);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t code = enter_waiting(EMU_cudaEventSynchronize, event);
    if (code == cudaSuccess && !is_complete(event))
        code = emu_wait_for(event->point);
    if (code == cudaSuccess)
        emu_vector_join(&emu.host, &event->clock);
    return emu_leave(code);
}

static void wait_for(emu_stream *stream, const struct CUevent_st *event)
{
    emu_work *const work = emu_work_make(EMU_MARK, stream);
    if (event->point.stream != NULL)
        emu_work_after(work, event->point.stream, event->point.number);
    emu_vector_join(&stream->clock, &event->clock);
    emu_queue_now(stream, work);
}

static cudaError_t wait_on(cudaStream_t handle, const struct CUevent_st *event)
{
    emu_stream *const stream = emu_stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    cudaError_t code = emu_capture_allows_work(stream);
    if (code == cudaSuccess && (event->capture != 0 || stream->capture != NULL))
        return emu_capture_join(stream, event->capture, &event->clock);
    if (code == cudaSuccess)
        wait_for(stream, event);
    return code;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags)
{
    cudaError_t code = enter(EMU_cudaStreamWaitEvent, event);
    if (code == cudaSuccess && flags != cudaEventWaitDefault)
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        code = wait_on(handle, event);
    return emu_leave(code);
}
