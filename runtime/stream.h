/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_STREAM_H
#define KOLK_RUNTIME_STREAM_H

/* What the pool may know of a stream, and how it hears of a stream's end.
 *
 * An observer is told once, by kolk_stream_destroy(), while the stream can
 * still be used: last chance to record an event on it. Observers are called
 * with no lock held, newest first, and are already off the list by then. */

#include <kolk/stream.h>

typedef struct kolk_stream_observer {
    void (*closing)(struct kolk_stream_observer *self, kolk_stream *stream);
    struct kolk_stream_observer *next; /* the stream's own */
} kolk_stream_observer;

struct kolk_stream {
    kolk_device device;
    void *native; /* the backend's handle; NULL is the default stream */
    uint64_t id;
    bool owned;
    kolk_stream_observer *observers; /* stream.c's own */
};

/* A handle for a backend's stream that stays its owner's. */
kolk_status kolk_stream_wrap_native(kolk_device device, void *native,
                                    kolk_stream **out);

/* The device's default stream, wrapped. Owned by the caller like any other. */
kolk_status kolk_stream_create_default(kolk_device device, kolk_stream **out);

void kolk_stream_observe(kolk_stream *stream, kolk_stream_observer *observer);

/* Takes the observer off again. False: it is not on the list any more, its
 * `closing` has run or is running. */
bool kolk_stream_unobserve(kolk_stream *stream, kolk_stream_observer *observer);

/* False when a wrapped stream's handle names another stream by now, or none. */
bool kolk_stream_is_itself(const kolk_stream *stream);

/* 0 when the stream is not being captured into a graph. */
kolk_status kolk_stream_capture_id(kolk_stream *stream, uint64_t *out);

#endif
