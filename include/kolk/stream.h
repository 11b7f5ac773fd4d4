/* SPDX-License-Identifier: MIT */
#ifndef KOLK_STREAM_H
#define KOLK_STREAM_H

/** @file
 * Streams order work on a device; events mark a point in a stream.
 *
 *     kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = NULL;
 *     KOLK_TRY(kolk_stream_create(device, &stream));
 *
 * A NULL `const kolk_stream *` argument of a pool or tensor function means the
 * device's default stream (CUDA: the legacy NULL stream). To use a
 * cudaStream_t of your own, see kolk_stream_wrap() in kolk/cuda.h.
 *
 * Threads: a stream or event may be used by any thread; destroying one while
 * another thread uses it is a bug of the caller.
 */

#include <kolk/device.h>

KOLK_BEGIN

typedef struct kolk_stream kolk_stream;
typedef struct kolk_event kolk_event;

/** Makes a stream that does not synchronise with the default stream. */
KOLK_FALLIBLE kolk_stream_create(kolk_device device, kolk_stream **out) KOLK_NONNULL;

/**
 * Destroys `*stream` and sets it to NULL; does nothing if it is NULL.
 *
 * Does not wait: work already queued still runs, and memory freed on the
 * stream is reused elsewhere only after it. A wrapped cudaStream_t is only
 * let go; destroy the wrapper before the cudaStream_t.
 */
KOLK_API void kolk_stream_destroy(kolk_stream **stream) KOLK_NONNULL;

/** Moves: the new owner gets the handle, the old variable gets NULL. */
KOLK_NODISCARD KOLK_NONNULL static inline kolk_stream *
kolk_stream_take(kolk_stream **from)
{
    kolk_stream *const moved = *from;
    *from = NULL;
    return moved;
}

/** Waits on the host until all work queued on `stream` is done. */
KOLK_FALLIBLE kolk_stream_synchronize(kolk_stream *stream) KOLK_NONNULL;

/** Work queued on `stream` from now on runs after the point `event` marks.
 * DEVICE_MISMATCH across devices. */
KOLK_FALLIBLE kolk_stream_wait(kolk_stream *stream, kolk_event *event) KOLK_NONNULL;

KOLK_API kolk_device kolk_stream_device(const kolk_stream *stream) KOLK_NONNULL;

/** Never reused while the process lives, unlike a driver's handle. */
KOLK_API uint64_t kolk_stream_id(const kolk_stream *stream) KOLK_NONNULL;

/** Makes an event (without timing) that marks nothing yet, so it is complete. */
KOLK_FALLIBLE kolk_event_create(kolk_device device, kolk_event **out) KOLK_NONNULL;

/** Destroys `*event` and sets it to NULL; does nothing if it is NULL. */
KOLK_API void kolk_event_destroy(kolk_event **event) KOLK_NONNULL;

/** Marks the work queued on `stream` so far. DEVICE_MISMATCH across devices. */
KOLK_FALLIBLE kolk_event_record(kolk_event *event, kolk_stream *stream) KOLK_NONNULL;

/** Whether the marked work is done; never waits. */
KOLK_FALLIBLE kolk_event_query(kolk_event *event, bool *out) KOLK_NONNULL;

/** Waits on the host until the marked work is done. */
KOLK_FALLIBLE kolk_event_synchronize(kolk_event *event) KOLK_NONNULL;

KOLK_END

#endif
