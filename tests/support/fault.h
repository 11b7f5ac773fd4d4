/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_FAULT_H
#define KOLK_TESTS_FAULT_H

/* A backend that refuses on demand, around the one it is put before.
 *
 *     fault_install(KOLK_HOST);
 *     fault_at(FAULT_page_map, 2);
 *     ...                             the second page_map is refused
 *     ck_assert(fault_refused() == FAULT_page_map);
 *     fault_remove();
 *
 * A refused call does nothing and leaves its out-parameters alone; but a stream
 * or event goes even when its destruction is refused, which nobody can repeat.
 * Calls and living objects are counted; any thread may call. */

#include <runtime/backend.h>

#define FAULT_CALL_LIST(X)                                                            \
    X(device_count, (int *out), (out))                                                \
    X(device_describe, (int device, kolk_device_info *out), (device, out))            \
    X(device_synchronize, (int device), (device))                                     \
    X(device_trim, (int device), (device))                                            \
    X(memory_info, (int device, size_t *out_free, size_t *out_total),                 \
      (device, out_free, out_total))                                                  \
    X(memory_alloc, (int device, size_t size, void **out), (device, size, out))       \
    X(memory_free, (int device, void *data), (device, data))                          \
    X(range_reserve, (int device, size_t size, void **out), (device, size, out))      \
    X(range_free, (int device, void *base, size_t size), (device, base, size))        \
    X(page_create, (int device, size_t size, uint64_t *out), (device, size, out))     \
    X(page_release, (int device, uint64_t page, size_t size), (device, page, size))   \
    X(page_map, (int device, void *address, size_t size, uint64_t page),              \
      (device, address, size, page))                                                  \
    X(page_unmap, (int device, void *address, size_t size), (device, address, size))  \
    X(stream_create, (int device, void **out), (device, out))                         \
    X(stream_destroy, (int device, void *stream), (device, stream))                   \
    X(stream_id, (int device, void *stream, uint64_t *out), (device, stream, out))    \
    X(stream_synchronize, (int device, void *stream), (device, stream))               \
    X(stream_wait, (int device, void *stream, void *event), (device, stream, event))  \
    X(stream_capture_id, (int device, void *stream, uint64_t *out),                   \
      (device, stream, out))                                                          \
    X(event_create, (int device, void **out), (device, out))                          \
    X(event_destroy, (int device, void *event), (device, event))                      \
    X(event_record, (int device, void *event, void *stream), (device, event, stream)) \
    X(event_query, (int device, void *event, bool *out), (device, event, out))        \
    X(event_synchronize, (int device, void *event), (device, event))                  \
    X(copy, (int device, void *to, const void *from, size_t size, void *stream),      \
      (device, to, from, size, stream))                                               \
    X(fill, (int device, void *to, int byte, size_t size, void *stream),              \
      (device, to, byte, size, stream))

typedef enum fault_call {
    FAULT_ANY, /* all of them together */
#define X(name, parameters, arguments) FAULT_##name,
    FAULT_CALL_LIST(X)
#undef X
        FAULT_CALLS
} fault_call;

/* Stands before the table installed for `kind`, with every count at 0 and
 * nothing to refuse. One at a time. */
void fault_install(kolk_device_kind kind);

/* Restores the table it stood before; does nothing when not installed. */
void fault_remove(void);

/* The `nth` call of the kind from now on (1: the next) is refused: only that
 * one, or that one and all that follow. A second request replaces the first;
 * `nth` 0 refuses nothing more. */
void fault_at(fault_call call, size_t nth);
void fault_from(fault_call call, size_t nth);

/* What refusals say from now on. Before this, and after fault_install():
 * OUT_OF_MEMORY with code 2 from memory_alloc and page_create, else DEVICE with
 * code 999. */
void fault_say(kolk_status status, int native);

/* The kind that was refused since the request; FAULT_ANY: none. */
fault_call fault_refused(void);
size_t fault_calls(fault_call call); /* made so far, refused ones too */
const char *fault_call_name(fault_call call);

/* Made and not yet given back, since fault_install(). */
typedef struct fault_objects {
    long memories;
    long ranges;
    long pages;
    long mappings;
    long streams;
    long events;
} fault_objects;

fault_objects fault_objects_now(void);
bool fault_nothing_lives(void);

#endif
