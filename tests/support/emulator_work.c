/* SPDX-License-Identifier: MIT */

/* Copies, fills and kernels, as work that declares what it touches. */

#include "emulator_machine.h"

#include <string.h>

static void declare(emu_work *work, const void *data, size_t size, bool write)
{
    if (size == 0)
        return;
    emu_insert(&work->accesses, &work->access_count, work->access_count,
               sizeof(emu_access));
    work->accesses[work->access_count - 1] =
        (emu_access){.data = data, .size = size, .write = write};
}

static void declare_if_device(emu_work *work, const void *data, size_t size, bool write)
{
    if (emu_is_device_address(data))
        declare(work, data, size, write);
}

static cudaError_t queue_copy(void *to, const void *from, size_t size,
                              enum cudaMemcpyKind kind, emu_stream *stream)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (size == 0)
        return cudaSuccess;
    emu_work *const work = emu_work_make(EMU_COPY, stream);
    work->to = to;
    work->from = from;
    work->size = size;
    declare_if_device(work, from, size, false);
    declare_if_device(work, to, size, true);
    return emu_queue(stream, work);
}

static cudaError_t queue_fill(void *to, int byte, size_t size, emu_stream *stream)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (!emu_is_device_address(to))
        return cudaErrorInvalidValue;
    emu_work *const work = emu_work_make(EMU_FILL, stream);
    work->to = to;
    work->byte = byte;
    work->size = size;
    declare(work, to, size, true);
    return emu_queue(stream, work);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    cudaError_t code = emu_enter(EMU_cudaMemcpyAsync);
    if (code == cudaSuccess)
        code = queue_copy(to, from, size, kind, emu_stream_of(stream));
    return emu_leave(code);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t size, cudaStream_t stream)
{
    cudaError_t code = emu_enter(EMU_cudaMemsetAsync);
    if (code == cudaSuccess)
        code = queue_fill(to, byte, size, emu_stream_of(stream));
    return emu_leave(code);
}

static cudaError_t finish(emu_stream *stream)
{
    const cudaError_t code = emu_wait_for((emu_point){stream, stream->queued});
    if (code == cudaSuccess)
        emu_vector_join(&emu.host, &stream->clock);
    return code;
}

/* The calls without a stream run on the legacy stream, and the host waits. */
static cudaError_t enter_synchronous(emu_call call, emu_stream **out)
{
    const cudaError_t code = emu_enter(call);
    if (code != cudaSuccess)
        return code;
    *out = emu_stream_of(NULL);
    return emu_capture_allows_waiting(*out);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size,
                       enum cudaMemcpyKind kind)
{
    emu_stream *legacy = NULL;
    cudaError_t code = enter_synchronous(EMU_cudaMemcpy, &legacy);
    if (code == cudaSuccess)
        code = queue_copy(to, from, size, kind, legacy);
    if (code == cudaSuccess)
        code = finish(legacy);
    return emu_leave(code);
}

cudaError_t cudaMemset(void *to, int byte, size_t size)
{
    emu_stream *legacy = NULL;
    cudaError_t code = enter_synchronous(EMU_cudaMemset, &legacy);
    if (code == cudaSuccess)
        code = queue_fill(to, byte, size, legacy);
    if (code == cudaSuccess)
        code = finish(legacy);
    return emu_leave(code);
}

/* ---- kernels ---- */

static void nothing(void *argument)
{
    (void)argument;
}

static cudaError_t launch(emu_stream *stream, emu_kernel kernel, const void *argument,
                          size_t argument_size, const emu_access *accesses,
                          size_t count)
{
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    emu_work *const work = emu_work_make(EMU_KERNEL, stream);
    work->kernel = kernel;
    if (argument != NULL && argument_size > 0) {
        work->argument = memcpy(emu_alloc(argument_size), argument, argument_size);
        work->size = argument_size;
    }
    for (size_t i = 0; i < count; i++)
        declare(work, accesses[i].data, accesses[i].size, accesses[i].write);
    return emu_queue(stream, work);
}

cudaError_t emu_launch(cudaStream_t stream, emu_kernel kernel, const void *argument,
                       size_t argument_size, const emu_access *accesses, size_t count)
{
    cudaError_t code = emu_enter(EMU_cudaLaunchKernel);
    if (code == cudaSuccess)
        code = launch(emu_stream_of(stream), kernel, argument, argument_size, accesses,
                      count);
    return emu_leave(code);
}

cudaError_t emu_touch(cudaStream_t stream, const void *data, size_t size, bool write)
{
    return emu_launch(stream, nothing, NULL, 0, &(emu_access){data, size, write}, 1);
}
