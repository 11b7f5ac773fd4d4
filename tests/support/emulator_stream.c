/* SPDX-License-Identifier: MIT */

/* Streams by handle.
 *
 * A handle is a slot that is used again: the slot of the stream destroyed last
 * goes to the stream created next. What the handle named lives on until its work
 * is done. */

#include "emulator_machine.h"

#include <stdlib.h>

struct CUstream_st {
    emu_stream *stream; /* NULL: the slot is free */
    struct CUstream_st *next_free;
    struct CUstream_st *next; /* of all slots */
};

static struct CUstream_st *slots;
static struct CUstream_st *free_slots;

/* ---- streams ---- */

emu_stream *emu_stream_make(int device, bool blocking)
{
    emu_stream *const stream = emu_alloc(sizeof *stream);
    *stream = (emu_stream){.index = emu.stream_count,
                           .id = ++emu.next_id,
                           .device = device,
                           .is_blocking = blocking};
    stream->tail = &stream->head;
    emu_insert(&emu.streams, &emu.stream_count, emu.stream_count, sizeof stream);
    emu.streams[stream->index] = stream;
    return stream;
}

static void forget(emu_stream *stream)
{
    emu_work_free_all(stream->head);
    emu_vector_clear(&stream->clock);
    emu_vector_clear(&stream->captured);
    free(stream);
}

void emu_stream_halt(void)
{
    for (size_t i = 0; i < emu.stream_count; i++)
        forget(emu.streams[i]);
    free(emu.streams);
    emu_vector_clear(&emu.host);
    free_slots = NULL;
    for (struct CUstream_st *slot = slots; slot != NULL; slot = slot->next) {
        slot->stream = NULL;
        slot->next_free = free_slots;
        free_slots = slot;
    }
}

static emu_stream *per_thread(int device, uint64_t thread)
{
    for (size_t i = 0; i < emu.stream_count; i++)
        if (emu.streams[i]->thread == thread && emu.streams[i]->device == device)
            return emu.streams[i];
    emu_stream *const stream = emu_stream_make(device, true);
    stream->thread = thread;
    return stream;
}

emu_stream *emu_stream_of(cudaStream_t handle)
{
    const emu_thread *const here = emu_here();
    if (handle == NULL || handle == cudaStreamLegacy)
        return emu.devices[here->device].legacy;
    if (handle == cudaStreamPerThread)
        return per_thread(here->device, here->token);
    if (handle->stream == NULL)
        emu_violate("stream %p is used after it was destroyed", (void *)handle);
    return handle->stream;
}

/* ---- calls ---- */

static struct CUstream_st *take_slot(void)
{
    struct CUstream_st *slot = free_slots;
    if (slot != NULL) {
        free_slots = slot->next_free;
        return slot;
    }
    slot = emu_alloc(sizeof *slot);
    slot->next = slots;
    slots = slot;
    return slot;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    cudaError_t code = emu_enter(EMU_cudaStreamCreateWithFlags);
    if (code == cudaSuccess && flags != cudaStreamDefault &&
        flags != cudaStreamNonBlocking)
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        code = emu_capture_unsafe();
    if (code == cudaSuccess) {
        *out = take_slot();
        (*out)->stream =
            emu_stream_make(emu_here()->device, flags == cudaStreamDefault);
        emu.live_streams++;
    }
    return emu_leave(code);
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

static cudaError_t destroy(cudaStream_t handle)
{
    if (handle == NULL || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return cudaErrorInvalidResourceHandle;
    emu_stream *const stream = emu_stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    emu_capture_leave(stream);
    stream->is_destroyed = true;
    handle->stream = NULL;
    handle->next_free = free_slots;
    free_slots = handle;
    emu.live_streams--;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    cudaError_t code = emu_enter(EMU_cudaStreamDestroy);
    if (code == cudaSuccess)
        code = destroy(handle);
    return emu_leave(code);
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *out)
{
    cudaError_t code = emu_enter(EMU_cudaStreamGetId);
    const emu_stream *const stream = code == cudaSuccess ? emu_stream_of(handle) : NULL;
    if (code == cudaSuccess && stream == NULL)
        code = cudaErrorInvalidResourceHandle;
    if (code == cudaSuccess)
        *out = stream->id;
    return emu_leave(code);
}

static cudaError_t query(const emu_stream *stream)
{
    if (!emu_is_done((emu_point){(emu_stream *)stream, stream->queued}))
        return cudaErrorNotReady;
    emu_vector_join(&emu.host, &stream->clock);
    return cudaSuccess;
}

static cudaError_t synchronize(emu_stream *stream)
{
    const cudaError_t code = emu_wait_for((emu_point){stream, stream->queued});
    if (code == cudaSuccess)
        emu_vector_join(&emu.host, &stream->clock);
    return code;
}

static cudaError_t ask(emu_call call, cudaStream_t handle, emu_stream **out)
{
    const cudaError_t code = emu_enter(call);
    if (code != cudaSuccess)
        return code;
    *out = emu_stream_of(handle);
    return *out != NULL ? emu_capture_allows_waiting(*out)
                        : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    emu_stream *stream = NULL;
    cudaError_t code = ask(EMU_cudaStreamQuery, handle, &stream);
    if (code == cudaSuccess)
        code = query(stream);
    return emu_leave(code);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    emu_stream *stream = NULL;
    cudaError_t code = ask(EMU_cudaStreamSynchronize, handle, &stream);
    if (code == cudaSuccess)
        code = synchronize(stream);
    return emu_leave(code);
}
