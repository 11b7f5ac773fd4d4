/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TENSOR_QUEUE_H
#define KOLK_TENSOR_QUEUE_H

/* Streams as the layer uses them: named, ordered after each other, waited for.
 *
 * A lane is a stream of a device, the default stream when the caller named none.
 * Work that involves the tensors of two lanes runs on one of them, between two
 * crossings: first it follows the other lane, then the other lane follows it. */

#include <kernels/kernels.h>
#include <runtime/stream.h>

typedef struct kolk_lane {
    kolk_stream *given; /* what the caller named; may be NULL */
    kolk_stream plain;  /* stands for the default stream */
} kolk_lane;

kolk_lane kolk_lane_of(kolk_device device, kolk_stream *given);

/* DEVICE_MISMATCH unless the stream is of `device`. */
kolk_status kolk_lane_open(const char *where, kolk_device device, kolk_stream *given,
                           kolk_lane *out);

kolk_stream *kolk_lane_stream(kolk_lane *lane);

/* Work queued on `later` from now on runs after what is queued on `earlier`.
 * Costs nothing when they are the same. */
kolk_status kolk_lane_follow(kolk_lane *later, kolk_lane *earlier);

/* After work on `lane` that reads what belongs to `other`: the other lane follows,
 * so that nothing queued there later frees or overwrites it too early. When that
 * cannot be arranged the call waits instead, and only fails if it cannot. */
kolk_status kolk_lane_release(kolk_lane *lane, kolk_lane *other);

/* Waits for the lane's work. On failure the device has been asked to stop as
 * well, so that queued copies cannot touch host memory after the call. */
kolk_status kolk_lane_finish(kolk_lane *lane);

/* The table for a device that can be reached. */
kolk_status kolk_kernels_reach(const char *where, kolk_device device,
                               const kolk_kernels **out);

/* A launcher's code as a status: DEVICE with the native code and its text. */
kolk_status kolk_launched(const char *where, const kolk_kernels *kernels, int code);

/* All elements of `from` into the contiguous or strided `to` of the same shape and
 * type, on one device; bit for bit. */
kolk_status kolk_view_copy(const char *where, const kolk_view *to,
                           const kolk_view *from, kolk_lane *lane);

/* `size` bytes from a lane's device to that of another, which may be unlike. The
 * call waits unless both are one device. */
kolk_status kolk_bytes_carry(kolk_lane *to_lane, void *to, kolk_lane *from_lane,
                             const void *from, size_t size);

#endif
