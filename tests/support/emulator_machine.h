/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_EMULATOR_MACHINE_H
#define KOLK_TESTS_EMULATOR_MACHINE_H

/* The inside of the emulated machine: one struct, one lock.
 *
 * Every emulated call is `emu_enter(kind)`, work, `emu_leave(code)`; everything
 * else in this header expects the lock to be held.
 *
 * Order between pieces of work is kept in vector clocks. Each stream numbers its
 * work 1, 2, ...; a clock tells for each stream how much of its work is known to
 * come before. The host has a clock too: work whose end it has observed. */

#include "emulator.h"

#include <sys/types.h>

#define EMU_DEVICES 8

typedef struct emu_vector {
    uint64_t *seen; /* by stream index; nothing of the streams beyond `count` */
    size_t count;
} emu_vector;

typedef struct emu_work emu_work;
typedef struct emu_capture emu_capture;

typedef struct emu_stream {
    size_t index; /* of its component in clocks; never reused */
    uint64_t id;
    int device;
    bool is_legacy;
    bool is_blocking; /* ordered with its device's legacy stream */
    bool is_held;
    bool is_destroyed;
    uint64_t thread; /* of a per-thread default stream, else 0 */
    emu_work *head, **tail;
    size_t pending;   /* pieces that take time */
    uint64_t queued;  /* number of the last piece queued */
    uint64_t done;    /* number of the last piece done */
    emu_vector clock; /* of the last piece queued */
    emu_capture *capture;
    emu_vector captured; /* like `clock`, counting captured work only */
} emu_stream;

/* The end of piece `number` of a stream. */
typedef struct emu_point {
    emu_stream *stream;
    uint64_t number;
} emu_point;

typedef enum emu_action {
    EMU_MARK, /* takes no time: an event's record, or a wait for one */
    EMU_KERNEL,
    EMU_COPY,
    EMU_FILL
} emu_action;

struct emu_work {
    emu_action action;
    uint64_t number;
    int device;
    emu_point *after; /* what it waits for in other streams */
    size_t after_count;
    emu_access *accesses;
    size_t access_count;
    emu_kernel kernel;
    void *argument;
    void *to;
    const void *from;
    int byte;
    size_t size; /* of what is moved, or of the argument */
    emu_work *next;
};

struct emu_capture {
    uint64_t id;
    emu_stream *origin;
    enum cudaStreamCaptureMode mode;
    uint64_t thread;
    bool is_broken;
    emu_work *work, **tail; /* in the order of the calls */
    emu_capture *next;
};

/* The latest access to some bytes of a piece of memory. */
typedef struct emu_past {
    size_t from, to;
    size_t stream;
    uint64_t number;
    bool write;
} emu_past;

/* Physical memory: a page that can be mapped, or one cudaMalloc. */
typedef struct emu_memory {
    uint64_t handle; /* 0 for cudaMalloc */
    int device;
    size_t size;
    off_t offset; /* in the device's file */
    bool is_released;
    size_t mappings;
    emu_past *past;
    size_t past_count, past_room;
} emu_memory;

/* Memory seen at an address. */
typedef struct emu_mapping {
    uintptr_t address;
    emu_memory *memory;
    unsigned access; /* bit d: device d may use it */
    bool is_plain;   /* of cudaMalloc */
} emu_mapping;

typedef struct emu_range {
    uintptr_t base;
    size_t size;
} emu_range;

typedef struct emu_device {
    size_t used;
    int file; /* holds the physical pages */
    off_t file_end;
    emu_stream *legacy;
} emu_device;

/* What a thread has; made anew when the machine is. */
typedef struct emu_thread {
    uint64_t machine;
    uint64_t token; /* names the thread */
    int device;
    enum cudaStreamCaptureMode mode;
    cudaError_t last_error;
} emu_thread;

typedef struct emu_machine {
    uint64_t number; /* counts resets; 0: none yet */
    pid_t process;   /* a driver does not survive fork() */
    emu_config config;
    int driver_version;
    int broken;
    uint64_t random;
    uint64_t clock;
    size_t ran;       /* pieces that take time */
    uint64_t next_id; /* of streams, captures, pages and threads */
    size_t calls[EMU_CALL_KINDS];
    emu_call fail_call;
    size_t fail_in; /* calls until the one that fails; 0: none */
    cudaError_t fail_code;
    bool is_tolerant;
    size_t violations;
    char violation[256];
    emu_device devices[EMU_DEVICES];
    emu_stream **streams;
    size_t stream_count;
    emu_vector host;
    emu_capture *captures;
    size_t graphs;
    size_t live_streams, live_events;
    size_t address_space_used;
    emu_memory **pages; /* by handle, those not released */
    size_t page_count;
    emu_mapping *mappings; /* by address */
    size_t mapping_count;
    emu_range *ranges; /* by address */
    size_t range_count;
} emu_machine;

extern emu_machine emu;

/* ---- emulator.c: the machine, and the frame of every call ---- */

cudaError_t emu_enter(emu_call call);
cudaError_t emu_leave(cudaError_t code); /* of the runtime: code is remembered */
int emu_leave_driver(cudaError_t code);  /* of the driver: it is not */
void emu_lock(void);
void emu_unlock(void);
emu_thread *emu_here(void);
void emu_violate(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *emu_alloc(size_t size); /* zeroed; aborts when the host has no more */
/* Room for one more element of `size` bytes at `at` of an array. */
void emu_insert(void *array, size_t *count, size_t at, size_t size);
void emu_remove(void *array, size_t *count, size_t at, size_t size);

/* ---- emulator_memory.c, emulator_page.c ---- */

void emu_memory_boot(void);
void emu_memory_halt(void);
emu_memory *emu_memory_make(int device, size_t size); /* NULL: over capacity */
void emu_memory_drop(emu_memory *memory);             /* when nothing holds it */
emu_mapping *emu_mapping_at(uintptr_t address);       /* that contains it */
size_t emu_mapping_after(uintptr_t address); /* index of the first one beyond */
bool emu_is_device_address(const void *data);
void *emu_page_call(const char *name); /* a driver call of emulator_page.c, or NULL */

/* ---- emulator_order.c ---- */

void emu_vector_join(emu_vector *into, const emu_vector *from);
void emu_vector_set(emu_vector *vector, size_t stream, uint64_t number);
uint64_t emu_vector_get(const emu_vector *vector, size_t stream);
void emu_vector_clear(emu_vector *vector);
/* Notes the accesses of the piece that `stream` has just queued. */
void emu_order_accesses(const emu_stream *stream, const emu_work *work);
/* Violation if work on the memory may still be running as far as the host knows. */
void emu_order_release(const emu_memory *memory, const char *call);
bool emu_accesses_are_mapped(const emu_work *work);

/* ---- emulator_stream.c, emulator_time.c ---- */

emu_stream *emu_stream_make(int device, bool blocking);
void emu_stream_halt(void);
/* The stream a handle names for this thread; NULL after a violation. */
emu_stream *emu_stream_of(cudaStream_t handle);
emu_work *emu_work_make(emu_action action, const emu_stream *stream);
void emu_work_after(emu_work *work, emu_stream *stream, uint64_t number);
void emu_work_free(emu_work *work);
void emu_work_free_all(emu_work *work); /* and what is linked to it */
/* Queues the work, or gives it to the capture that the stream is in. */
cudaError_t emu_queue(emu_stream *stream, emu_work *work);
void emu_queue_now(emu_stream *stream, emu_work *work);
bool emu_is_done(emu_point point);
/* Runs up to that point, and what it waits for. False: it is held. */
bool emu_run_to(emu_point point);
cudaError_t emu_wait_for(emu_point point);
cudaError_t emu_wait_for_device(int device);

/* ---- emulator_event.c ---- */

void emu_event_halt(void);

/* ---- emulator_capture.c ---- */

void emu_capture_halt(void);
/* 900, and captures are broken, if one that concerns this thread forbids calls
 * that are potentially unsafe. */
cudaError_t emu_capture_unsafe(void);
/* May work be queued, or may the host wait for the stream or the device? */
cudaError_t emu_capture_allows_work(const emu_stream *stream);
cudaError_t emu_capture_allows_waiting(const emu_stream *stream);
cudaError_t emu_capture_allows_waiting_for_device(int device);
void emu_capture_add(emu_stream *stream, emu_work *work);
/* The stream waits for an event: one that was recorded in the capture `id`, or
 * outside of any (0). */
cudaError_t emu_capture_join(emu_stream *stream, uint64_t id,
                             const emu_vector *captured);
void emu_capture_leave(emu_stream *stream); /* the stream is being destroyed */
/* The driver's cuStreamGetCaptureInfo. */
void *emu_capture_call(void);

/* ---- emulator_graph.c ---- */

cudaGraph_t emu_graph_make(emu_work *work); /* takes the work over */
void emu_graph_halt(void);

#endif
