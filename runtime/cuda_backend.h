/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_CUDA_BACKEND_H
#define KOLK_RUNTIME_CUDA_BACKEND_H

/* What the files of the CUDA backend share: the scope of a call, the meaning of
 * a code, and the entries of the table in cuda_backend.c.
 *
 * An entry enters a scope first. The scope makes the device current and, unless
 * the call belongs in the stream's order anyway, lets the thread do what would
 * otherwise break a capture under way; leaving it restores both. No call is
 * made with a lock held. */

#include "backend.h"

#include <cuda_runtime_api.h>

typedef enum kolk_cuda_need {
    KOLK_CUDA_ORDER,  /* queues work, or asks about a stream */
    KOLK_CUDA_QUIET,  /* must not disturb any capture */
    KOLK_CUDA_CONTEXT /* the same, for driver calls: they need a current context */
} kolk_cuda_need;

/* All-zero has nothing to restore. */
typedef struct kolk_cuda_scope {
    int device; /* the caller's own */
    enum cudaStreamCaptureMode mode;
    bool has_moved;
    bool is_quiet;
} kolk_cuda_scope;

kolk_status kolk_cuda_enter(kolk_cuda_scope *scope, int device, kolk_cuda_need need);
void kolk_cuda_leave(kolk_cuda_scope *scope);

/* Turns a code into a status with its record. The driver's codes are numbered
 * as the runtime's are, so that both have one text. */
kolk_status kolk_cuda_check(const char *where, const char *call, cudaError_t code);
kolk_status kolk_cuda_fail(const char *where, const char *call, cudaError_t code);

#define KOLK_CUDA_CALL(function, ...) \
    kolk_cuda_check(__func__, #function, function(__VA_ARGS__))

/* For what releases: there is nothing left to release, and nothing wrong, once
 * the driver is being unloaded at the end of the process. */
kolk_status kolk_cuda_forgive(kolk_status status);

/* The driver's event inside a handle of this backend. */
cudaEvent_t kolk_cuda_event_native(void *event);

/* Trims every device: for tests that change the driver. */
void kolk_cuda_event_drain(void);

kolk_status kolk_cuda_device_count(int *out);
kolk_status kolk_cuda_device_describe(int device, kolk_device_info *out);
kolk_status kolk_cuda_device_synchronize(int device);
kolk_status kolk_cuda_device_trim(int device);

kolk_status kolk_cuda_memory_info(int device, size_t *out_free, size_t *out_total);
kolk_status kolk_cuda_memory_alloc(int device, size_t size, void **out);
kolk_status kolk_cuda_memory_free(int device, void *data);
kolk_status kolk_cuda_copy(int device, void *to, const void *from, size_t size,
                           void *stream);
kolk_status kolk_cuda_fill(int device, void *to, int byte, size_t size, void *stream);

kolk_status kolk_cuda_range_reserve(int device, size_t size, void **out);
kolk_status kolk_cuda_range_free(int device, void *base, size_t size);
kolk_status kolk_cuda_page_create(int device, size_t size, uint64_t *out);
kolk_status kolk_cuda_page_release(int device, uint64_t page, size_t size);
kolk_status kolk_cuda_page_map(int device, void *address, size_t size, uint64_t page);
kolk_status kolk_cuda_page_unmap(int device, void *address, size_t size);

kolk_status kolk_cuda_stream_create(int device, void **out);
kolk_status kolk_cuda_stream_destroy(int device, void *stream);
kolk_status kolk_cuda_stream_id(int device, void *stream, uint64_t *out);
kolk_status kolk_cuda_stream_synchronize(int device, void *stream);
kolk_status kolk_cuda_stream_wait(int device, void *stream, void *event);
kolk_status kolk_cuda_stream_capture_id(int device, void *stream, uint64_t *out);

kolk_status kolk_cuda_event_create(int device, void **out);
kolk_status kolk_cuda_event_destroy(int device, void *event);
kolk_status kolk_cuda_event_record(int device, void *event, void *stream);
kolk_status kolk_cuda_event_query(int device, void *event, bool *out);
kolk_status kolk_cuda_event_synchronize(int device, void *event);

#endif
