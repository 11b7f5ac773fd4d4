/* SPDX-License-Identifier: MIT */

/* Virtual time: queues, and what makes them move.
 *
 * A piece of work waits for its predecessor in the stream and for points of
 * other streams that lie before it in time, so the waits cannot form a circle
 * and whoever waits can simply run what is needed. */

#include "emulator_machine.h"

#include <stdlib.h>
#include <string.h>

/* ---- work ---- */

emu_work *emu_work_make(emu_action action, const emu_stream *stream)
{
    emu_work *const work = emu_alloc(sizeof *work);
    work->action = action;
    work->device = stream->device;
    return work;
}

void emu_work_free(emu_work *work)
{
    free(work->after);
    free(work->accesses);
    free(work->argument);
    free(work);
}

void emu_work_free_all(emu_work *work)
{
    while (work != NULL) {
        emu_work *const next = work->next;
        emu_work_free(work);
        work = next;
    }
}

bool emu_is_done(emu_point point)
{
    return point.stream->done >= point.number;
}

void emu_work_after(emu_work *work, emu_stream *stream, uint64_t number)
{
    const emu_point point = {stream, number};
    if (emu_is_done(point))
        return;
    emu_insert(&work->after, &work->after_count, work->after_count, sizeof point);
    work->after[work->after_count - 1] = point;
}

static void act(const emu_work *work)
{
    if (!emu_accesses_are_mapped(work))
        return;
    switch (work->action) {
    case EMU_KERNEL:
        work->kernel(work->argument);
        break;
    case EMU_COPY:
        memmove(work->to, work->from, work->size);
        break;
    case EMU_FILL:
        memset(work->to, work->byte, work->size);
        break;
    case EMU_MARK:
        break;
    }
}

/* ---- queueing ---- */

static void order_after(emu_stream *stream, emu_work *work, emu_stream *before)
{
    emu_work_after(work, before, before->queued);
    emu_vector_join(&stream->clock, &before->clock);
}

/* The legacy stream and every blocking stream of its device wait for each
 * other. */
static void order_with_legacy(emu_stream *stream, emu_work *work)
{
    if (!stream->is_blocking)
        return;
    if (!stream->is_legacy) {
        order_after(stream, work, emu.devices[stream->device].legacy);
        return;
    }
    for (size_t i = 0; i < emu.stream_count; i++) {
        emu_stream *const other = emu.streams[i];
        if (other != stream && other->is_blocking && other->device == stream->device)
            order_after(stream, work, other);
    }
}

static bool is_ready(const emu_work *work)
{
    for (size_t i = 0; i < work->after_count; i++)
        if (!emu_is_done(work->after[i]))
            return false;
    return true;
}

static bool can_run(const emu_stream *stream)
{
    return stream->head != NULL && !stream->is_held && is_ready(stream->head);
}

static void run_head(emu_stream *stream)
{
    emu_work *const work = stream->head;
    stream->head = work->next;
    if (stream->head == NULL)
        stream->tail = &stream->head;
    if (work->action != EMU_MARK) {
        stream->pending--;
        emu.ran++;
    }
    act(work);
    stream->done = work->number;
    emu_work_free(work);
}

static bool pass_marks(emu_stream *stream)
{
    bool has_passed = false;
    while (can_run(stream) && stream->head->action == EMU_MARK) {
        run_head(stream);
        has_passed = true;
    }
    return has_passed;
}

/* What takes no time happens as soon as it is reached, anywhere. */
static void settle(void)
{
    bool has_passed = true;
    while (has_passed) {
        has_passed = false;
        for (size_t i = 0; i < emu.stream_count; i++)
            has_passed |= pass_marks(emu.streams[i]);
    }
}

void emu_queue_now(emu_stream *stream, emu_work *work)
{
    work->number = ++stream->queued;
    order_with_legacy(stream, work);
    emu_vector_join(&stream->clock, &emu.host);
    emu_vector_set(&stream->clock, stream->index, work->number);
    stream->pending += work->action != EMU_MARK;
    *stream->tail = work;
    stream->tail = &work->next;
    emu_order_accesses(stream, work);
    settle();
}

cudaError_t emu_queue(emu_stream *stream, emu_work *work)
{
    const cudaError_t code = emu_capture_allows_work(stream);
    if (code != cudaSuccess)
        emu_work_free(work);
    else if (stream->capture != NULL)
        emu_capture_add(stream, work);
    else
        emu_queue_now(stream, work);
    return code;
}

/* ---- moving on ---- */

/* Runs what the head, work `number`, waits for. If the head is a mark it passes,
 * and is gone, as soon as the last of that is done. */
static bool run_needs(const emu_stream *stream, uint64_t number)
{
    for (size_t i = 0; stream->done < number && i < stream->head->after_count; i++)
        if (!emu_run_to(stream->head->after[i]))
            return false;
    return true;
}

bool emu_run_to(emu_point point)
{
    emu_stream *const stream = point.stream;
    while (!emu_is_done(point)) {
        if (stream->is_held) {
            emu_violate("something waits for stream %zu, which is held: it would wait "
                        "for ever",
                        stream->index);
            return false;
        }
        const uint64_t number = stream->head->number;
        if (!run_needs(stream, number))
            return false;
        settle();
        if (stream->done < number)
            run_head(stream);
        settle();
    }
    return true;
}

cudaError_t emu_wait_for(emu_point point)
{
    return emu_run_to(point) ? cudaSuccess : cudaErrorLaunchTimeout;
}

cudaError_t emu_wait_for_device(int device)
{
    for (size_t i = 0; i < emu.stream_count; i++) {
        emu_stream *const stream = emu.streams[i];
        if (stream->device != device)
            continue;
        if (!emu_run_to((emu_point){stream, stream->queued}))
            return cudaErrorLaunchTimeout;
        emu_vector_join(&emu.host, &stream->clock);
    }
    return cudaSuccess;
}

/* ---- what tests ask ---- */

size_t emu_advance(cudaStream_t handle, size_t count)
{
    emu_lock();
    const size_t before = emu.ran;
    emu_stream *const stream = emu_stream_of(handle);
    for (size_t i = 0; i < count && stream != NULL && can_run(stream); i++) {
        run_head(stream);
        settle();
    }
    const size_t ran = emu.ran - before;
    emu_unlock();
    return ran;
}

size_t emu_finish(cudaStream_t handle)
{
    emu_lock();
    const size_t before = emu.ran;
    emu_stream *const stream = emu_stream_of(handle);
    if (stream != NULL)
        (void)emu_run_to((emu_point){stream, stream->queued});
    const size_t ran = emu.ran - before;
    emu_unlock();
    return ran;
}

/* The `nth` of the streams that can run something; NULL beyond the last. */
static emu_stream *runnable(size_t nth)
{
    for (size_t i = 0; i < emu.stream_count; i++)
        if (can_run(emu.streams[i]) && nth-- == 0)
            return emu.streams[i];
    return NULL;
}

static size_t count_runnable(void)
{
    size_t count = 0;
    for (size_t i = 0; i < emu.stream_count; i++)
        count += can_run(emu.streams[i]);
    return count;
}

size_t emu_run_all(void)
{
    emu_lock();
    const size_t before = emu.ran;
    for (emu_stream *stream = runnable(0); stream != NULL; stream = runnable(0)) {
        run_head(stream);
        settle();
    }
    const size_t ran = emu.ran - before;
    emu_unlock();
    return ran;
}

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t draw(void)
{
    uint64_t x = emu.random += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

size_t emu_shuffle(size_t steps)
{
    emu_lock();
    const size_t before = emu.ran;
    for (size_t i = 0, count; i < steps && (count = count_runnable()) > 0; i++) {
        run_head(runnable(draw() % count));
        settle();
    }
    const size_t ran = emu.ran - before;
    emu_unlock();
    return ran;
}

size_t emu_pending(cudaStream_t handle)
{
    emu_lock();
    const emu_stream *const stream = emu_stream_of(handle);
    const size_t pending = stream != NULL ? stream->pending : 0;
    emu_unlock();
    return pending;
}

size_t emu_pending_all(void)
{
    size_t pending = 0;
    emu_lock();
    for (size_t i = 0; i < emu.stream_count; i++)
        pending += emu.streams[i]->pending;
    emu_unlock();
    return pending;
}

void emu_hold(cudaStream_t handle, bool held)
{
    emu_lock();
    emu_stream *const stream = emu_stream_of(handle);
    if (stream != NULL)
        stream->is_held = held;
    settle();
    emu_unlock();
}
