/* SPDX-License-Identifier: MIT */

/* Stream capture: what joins one, what it forbids, what breaks it. */

#include "emulator_machine.h"

#include <cuda.h>
#include <stdlib.h>

static emu_capture *find(uint64_t id)
{
    emu_capture *capture = emu.captures;
    while (capture != NULL && capture->id != id)
        capture = capture->next;
    return capture;
}

static cudaError_t spoil(emu_capture *capture, cudaError_t code)
{
    if (capture != NULL)
        capture->is_broken = true;
    return code;
}

static void end(emu_capture *capture)
{
    for (size_t i = 0; i < emu.stream_count; i++)
        if (emu.streams[i]->capture == capture) {
            emu.streams[i]->capture = NULL;
            emu_vector_clear(&emu.streams[i]->captured);
        }
    emu_capture **link = &emu.captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    emu_work_free_all(capture->work);
    free(capture);
}

void emu_capture_halt(void)
{
    while (emu.captures != NULL)
        end(emu.captures);
}

void emu_capture_leave(emu_stream *stream)
{
    if (stream->capture != NULL && stream->capture->origin == stream)
        end(stream->capture);
    else if (stream->capture != NULL)
        spoil(stream->capture, cudaSuccess);
    stream->capture = NULL;
}

/* ---- what is forbidden ---- */

static bool concerns(const emu_capture *capture, const emu_thread *thread)
{
    if (thread->mode == cudaStreamCaptureModeRelaxed)
        return false;
    if (capture->thread == thread->token)
        return capture->mode != cudaStreamCaptureModeRelaxed;
    return thread->mode == cudaStreamCaptureModeGlobal &&
           capture->mode == cudaStreamCaptureModeGlobal;
}

cudaError_t emu_capture_unsafe(void)
{
    cudaError_t code = cudaSuccess;
    for (emu_capture *capture = emu.captures; capture; capture = capture->next)
        if (concerns(capture, emu_here()))
            code = spoil(capture, cudaErrorStreamCaptureUnsupported);
    return code;
}

/* Using the legacy stream would make it part of the captures of the blocking
 * streams. Asking about it is refused as well, but breaks nothing. */
static cudaError_t implicit(const emu_stream *stream, bool breaks)
{
    cudaError_t code = cudaSuccess;
    for (size_t i = 0; i < emu.stream_count && stream->is_legacy; i++) {
        const emu_stream *const other = emu.streams[i];
        if (other->capture == NULL || !other->is_blocking ||
            other->device != stream->device)
            continue;
        code = cudaErrorStreamCaptureImplicit;
        if (breaks)
            spoil(other->capture, code);
    }
    return code;
}

cudaError_t emu_capture_allows_work(const emu_stream *stream)
{
    if (stream->capture != NULL && stream->capture->is_broken)
        return cudaErrorStreamCaptureInvalidated;
    return implicit(stream, true);
}

cudaError_t emu_capture_allows_waiting(const emu_stream *stream)
{
    const cudaError_t code = implicit(stream, true);
    if (code != cudaSuccess)
        return code;
    if (stream->capture != NULL)
        return spoil(stream->capture, cudaErrorStreamCaptureUnsupported);
    return emu_capture_unsafe();
}

cudaError_t emu_capture_allows_waiting_for_device(int device)
{
    cudaError_t code = emu_capture_unsafe();
    for (size_t i = 0; i < emu.stream_count; i++)
        if (emu.streams[i]->device == device && emu.streams[i]->capture != NULL)
            code = spoil(emu.streams[i]->capture, cudaErrorStreamCaptureUnsupported);
    return code;
}

/* ---- what becomes part of it ---- */

void emu_capture_add(emu_stream *stream, emu_work *work)
{
    const uint64_t number = emu_vector_get(&stream->captured, stream->index) + 1;
    emu_vector_set(&stream->captured, stream->index, number);
    *stream->capture->tail = work;
    stream->capture->tail = &work->next;
}

cudaError_t emu_capture_join(emu_stream *stream, uint64_t id,
                             const emu_vector *captured)
{
    emu_capture *const capture = find(id);
    if (id == 0)
        return spoil(stream->capture, cudaErrorStreamCaptureIsolation);
    if (capture == NULL)
        return spoil(stream->capture, cudaErrorCapturedEvent);
    if (stream->is_legacy)
        return spoil(capture, cudaErrorStreamCaptureImplicit);
    if (stream->capture != NULL && stream->capture != capture)
        return spoil(capture, spoil(stream->capture, cudaErrorStreamCaptureMerge));
    stream->capture = capture;
    emu_vector_join(&stream->captured, captured);
    return cudaSuccess;
}

/* All work that other streams put into the capture comes before its end. */
static bool is_joined(const emu_capture *capture)
{
    for (size_t i = 0; i < emu.stream_count; i++) {
        const emu_stream *const stream = emu.streams[i];
        if (stream->capture == capture &&
            emu_vector_get(&capture->origin->captured, i) <
                emu_vector_get(&stream->captured, i))
            return false;
    }
    return true;
}

/* ---- calls ---- */

static cudaError_t begin(emu_stream *stream, enum cudaStreamCaptureMode mode)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (stream->is_legacy)
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capture != NULL)
        return cudaErrorIllegalState;
    emu_capture *const capture = emu_alloc(sizeof *capture);
    *capture = (emu_capture){.id = ++emu.next_id,
                             .origin = stream,
                             .mode = mode,
                             .thread = emu_here()->token,
                             .next = emu.captures};
    capture->tail = &capture->work;
    emu.captures = capture;
    stream->capture = capture;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    cudaError_t code = emu_enter(EMU_cudaStreamBeginCapture);
    if (code == cudaSuccess)
        code = begin(emu_stream_of(handle), mode);
    return emu_leave(code);
}

static cudaError_t finish(emu_capture *capture, cudaGraph_t *out)
{
    cudaError_t code = cudaSuccess;
    if (capture->is_broken)
        code = cudaErrorStreamCaptureInvalidated;
    else if (!is_joined(capture))
        code = cudaErrorStreamCaptureUnjoined;
    *out = NULL;
    if (code == cudaSuccess) {
        *out = emu_graph_make(capture->work);
        capture->work = NULL;
    }
    end(capture);
    return code;
}

static cudaError_t try_finish(const emu_stream *stream, cudaGraph_t *out)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    emu_capture *const capture = stream->capture;
    if (capture == NULL)
        return cudaErrorIllegalState;
    if (capture->origin != stream)
        return cudaErrorStreamCaptureUnmatched;
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != emu_here()->token)
        return cudaErrorStreamCaptureWrongThread;
    return finish(capture, out);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out)
{
    cudaError_t code = emu_enter(EMU_cudaStreamEndCapture);
    if (code == cudaSuccess)
        code = try_finish(emu_stream_of(handle), out);
    return emu_leave(code);
}

static int status_of(const emu_stream *stream)
{
    if (stream->capture == NULL)
        return cudaStreamCaptureStatusNone;
    return stream->capture->is_broken ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
}

static cudaError_t ask(emu_call call, cudaStream_t handle, const emu_stream **out)
{
    const cudaError_t code = emu_enter(call);
    if (code != cudaSuccess)
        return code;
    *out = emu_stream_of(handle);
    return *out != NULL ? implicit(*out, false) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle,
                                  enum cudaStreamCaptureStatus *out)
{
    const emu_stream *stream = NULL;
    const cudaError_t code = ask(EMU_cudaStreamIsCapturing, handle, &stream);
    if (code == cudaSuccess)
        *out = (enum cudaStreamCaptureStatus)status_of(stream);
    return emu_leave(code);
}

static CUresult capture_info(CUstream handle, CUstreamCaptureStatus *out_status,
                             cuuint64_t *out_id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *count)
{
    const emu_stream *stream = NULL;
    cudaError_t code = ask(EMU_cuStreamGetCaptureInfo, handle, &stream);
    if (code == cudaSuccess && (graph != NULL || dependencies != NULL || count != NULL))
        code = cudaErrorNotSupported;
    if (code == cudaSuccess) {
        *out_status = (CUstreamCaptureStatus)status_of(stream);
        if (*out_status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            *out_id = stream->capture->id;
    }
    return (CUresult)emu_leave_driver(code);
}

void *emu_capture_call(void)
{
    return (void *)(uintptr_t)capture_info;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const cudaError_t code = emu_enter(EMU_cudaThreadExchangeStreamCaptureMode);
    if (code == cudaSuccess) {
        const enum cudaStreamCaptureMode before = emu_here()->mode;
        emu_here()->mode = *mode;
        *mode = before;
    }
    return emu_leave(code);
}
