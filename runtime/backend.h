/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_BACKEND_H
#define KOLK_RUNTIME_BACKEND_H

/* What a kind of device must be able to do, and the one door to it.
 *
 * A backend is a table. Its preconditions are checked once, by the callers in
 * backend.c declared below the table: the ordinal names a device, sizes are
 * non-zero, page sizes and addresses are multiples of the page, out-parameters
 * are non-NULL. Every entry is mandatory; a backend that cannot do a thing says
 * UNSUPPORTED. An entry leaves its out-parameters alone unless it returns OK,
 * leaves the caller's current device as it was, never leaves a sticky driver
 * error behind, and may be called by any thread at once. No entry is ever
 * called with a kolk lock held, since a driver call may block for long.
 *
 * Handles are opaque words of the backend: a stream (NULL is the default
 * stream), an event, a page (physical memory that is mapped nowhere yet). */

#include <kolk/stream.h>

typedef struct kolk_backend {
    const char *name;

    /* Fails with the reason and native code when there is no device. */
    kolk_status (*device_count)(int *out);
    kolk_status (*device_describe)(int device, kolk_device_info *out);
    kolk_status (*device_synchronize)(int device);
    /* Gives back what is kept only to be used again, such as events. */
    kolk_status (*device_trim)(int device);
    kolk_status (*memory_info)(int device, size_t *out_free, size_t *out_total);

    /* Plain memory, for devices or pools without pages. */
    kolk_status (*memory_alloc)(int device, size_t size, void **out);
    kolk_status (*memory_free)(int device, void *data);

    /* Address space, and pages to back it. A page is mapped whole, at an
     * address in one reserved range, readable and writable by its device;
     * unmapped whole, after which it can be mapped elsewhere. */
    kolk_status (*range_reserve)(int device, size_t size, void **out);
    kolk_status (*range_free)(int device, void *base, size_t size);
    kolk_status (*page_create)(int device, size_t size, uint64_t *out);
    kolk_status (*page_release)(int device, uint64_t page, size_t size);
    kolk_status (*page_map)(int device, void *address, size_t size, uint64_t page);
    kolk_status (*page_unmap)(int device, void *address, size_t size);

    kolk_status (*stream_create)(int device, void **out);
    kolk_status (*stream_destroy)(int device, void *stream);
    kolk_status (*stream_id)(int device, void *stream, uint64_t *out);
    kolk_status (*stream_synchronize)(int device, void *stream);
    kolk_status (*stream_wait)(int device, void *stream, void *event);
    /* 0: not capturing; otherwise an id no other capture of the process has. */
    kolk_status (*stream_capture_id)(int device, void *stream, uint64_t *out);

    /* Events without timing, kept in a cache of their own device. */
    kolk_status (*event_create)(int device, void **out);
    kolk_status (*event_destroy)(int device, void *event);
    kolk_status (*event_record)(int device, void *event, void *stream);
    kolk_status (*event_query)(int device, void *event, bool *out);
    kolk_status (*event_synchronize)(int device, void *event);

    /* Queued on `stream`. Either pointer of copy may be host memory. */
    kolk_status (*copy)(int device, void *to, const void *from, size_t size,
                        void *stream);
    kolk_status (*fill)(int device, void *to, int byte, size_t size, void *stream);
} kolk_backend;

extern const kolk_backend kolk_backend_host;
#ifdef KOLK_HAVE_CUDA
extern const kolk_backend kolk_backend_cuda;
#endif

/* Replaces the table of a kind, or restores the product's own with NULL.
 * For tests: decorators that fail the k-th call. Not exported. */
void kolk_backend_install(kolk_device_kind kind, const kolk_backend *backend);
const kolk_backend *kolk_backend_of(kolk_device_kind kind);

/* The table of `device`, once it is known that the device is there. Otherwise
 * the failure names `where`: an ordinal out of range, or the kind's reason. */
kolk_status kolk_backend_reach(const char *where, kolk_device device,
                               const kolk_backend **out);

/* The bytes that a device which has been reached maps at a time; 0: none. */
kolk_status kolk_backend_page(const kolk_backend *backend, kolk_device device,
                              size_t *out);

/* Destroys a stream or event of a device that had been reached. What a
 * destructor cannot report it leaves off the thread's record, too; in the child
 * of a fork it does nothing to a device that stayed behind. */
void kolk_backend_destroy(kolk_status (*destroy)(int device, void *handle),
                          kolk_device device, void *handle);

/* Fails with DEVICE_MISMATCH, naming both, unless they are the same device. */
kolk_status kolk_device_must_equal(const char *where, kolk_device device,
                                   kolk_device expected);

/* "host" or "cuda". */
const char *kolk_device_kind_name(kolk_device_kind kind);

kolk_status kolk_device_synchronize(kolk_device device);

/* Gives back what the backend keeps of a device that had been reached, only to
 * use it again. Cannot fail in a way that matters: what is refused stays kept. */
void kolk_device_trim(kolk_device device);

kolk_status kolk_memory_alloc(kolk_device device, size_t size, void **out);
kolk_status kolk_memory_free(kolk_device device, void *data);
kolk_status kolk_range_reserve(kolk_device device, size_t size, void **out);
kolk_status kolk_range_free(kolk_device device, void *base, size_t size);
kolk_status kolk_page_create(kolk_device device, size_t size, uint64_t *out);
kolk_status kolk_page_release(kolk_device device, uint64_t page, size_t size);
kolk_status kolk_page_map(kolk_device device, void *address, size_t size,
                          uint64_t page);
kolk_status kolk_page_unmap(kolk_device device, void *address, size_t size);

/* Copies or fills bytes in stream order; size 0 is a no-op. Synchronous only
 * where the backend is. Either side of a copy may be host memory. */
kolk_status kolk_copy_queue(kolk_stream *stream, void *to, const void *from,
                            size_t size);
kolk_status kolk_fill_queue(kolk_stream *stream, void *to, int byte, size_t size);

/* True in a child of fork() whose parent had used this kind of device: no call
 * may reach it any more. Every caller above then fails with DEVICE. */
bool kolk_device_is_forked(kolk_device device);

/* For fork.c, in the child: closes the door to every kind but the host. */
void kolk_backend_forked(void);

#endif
