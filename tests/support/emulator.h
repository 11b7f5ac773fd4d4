/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_EMULATOR_H
#define KOLK_TESTS_EMULATOR_H

/* CUDA without a GPU: takes the place of the CUDA runtime at link time.
 *
 *     emu_reset(&(emu_config){.devices = 2, .capacity = 64 << 20});
 *     ...                        the code under test calls cuda* functions
 *     emu_advance(stream, 1);    one piece of queued work happens now
 *     ck_assert_uint_eq(emu_calls(EMU_cudaMalloc), 1);
 *
 * Streams live in virtual time: queued work (copies, fills, kernels) stays
 * queued until a test advances it or a synchronising call needs it. Event
 * records and waits take no time: they happen as soon as they are reached.
 * Device memory is host memory that can be read and written at any moment.
 *
 * Misuse that real hardware would punish at random (use after destroy, work on
 * unmapped memory, two pieces of work on the same bytes with no order between
 * them) is a *violation*: it is printed and aborts, or is only counted while
 * emu_tolerate(true) holds.
 *
 * Everything here and every cuda* function may be called by any thread, but
 * not from inside an emulated kernel. */

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero in any field asks for the default. */
typedef struct emu_config {
    int devices;          /* 1; at most 8; -1: none, and only the count is asked */
    size_t capacity;      /* bytes of memory of each device; 4 GiB */
    size_t address_space; /* bytes that can be reserved in all; 1 TiB */
    size_t granularity;   /* bytes of a page; 2 MiB */
    uint64_t seed;        /* of emu_shuffle(); 1 */
    bool no_pages;        /* devices cannot map pages (attribute 102 is 0) */
    bool integrated;      /* devices share their memory with the host */
} emu_config;

/* Forgets everything and starts a new machine; NULL: all defaults. Memory of
 * the old one is gone, its handles are dead. Not while other threads use it.
 * The child of a fork must do so: every call of an inherited one fails (3). */
void emu_reset(const emu_config *config);

/* ---- Time --------------------------------------------------------------- */

/* A NULL stream is the default stream of the calling thread's device. Each
 * returns the number of pieces of work that ran. */

/* Runs up to `count` pieces from the head of one stream; stops early at the
 * end of the queue or at work that waits for another stream. */
size_t emu_advance(cudaStream_t stream, size_t count);
/* Runs the stream to its end, and of other streams what it waits for. */
size_t emu_finish(cudaStream_t stream);
size_t emu_run_all(void);
/* `steps` times: lets one stream, drawn at random, run one piece of work. The
 * draw depends only on the seed and the calls made so far. */
size_t emu_shuffle(size_t steps);

size_t emu_pending(cudaStream_t stream); /* pieces of work still queued */
size_t emu_pending_all(void);            /* those of destroyed streams too */

/* Work of a held stream cannot run: a call that would have to wait for it is a
 * violation (on hardware it would wait for ever) and fails with code 702. */
void emu_hold(cudaStream_t stream, bool held);

/* Nanoseconds of driver time charged so far, from published costs. */
uint64_t emu_clock(void);

/* ---- Work --------------------------------------------------------------- */

/* What a kernel reads or writes. An access in both directions is a write. */
typedef struct emu_access {
    const void *data;
    size_t size;
    bool write;
} emu_access;

#define EMU_READ(data, size) ((emu_access){(data), (size), false})
#define EMU_WRITE(data, size) ((emu_access){(data), (size), true})

typedef void (*emu_kernel)(void *argument);

/* Queues `kernel`; `argument` (may be NULL) is copied now and the kernel gets
 * the copy. The memory named by `accesses` must be the device's, all through
 * the kernel's run. Counts, fails and is captured like any other call. */
cudaError_t emu_launch(cudaStream_t stream, emu_kernel kernel, const void *argument,
                       size_t argument_size, const emu_access *accesses, size_t count);

/* EMU_LAUNCH(stream, kernel, &argument, EMU_READ(a, n), EMU_WRITE(b, n)) */
#define EMU_LAUNCH(stream, kernel, argument, ...)                  \
    emu_launch((stream), (kernel), (argument), sizeof *(argument), \
               (const emu_access[]){__VA_ARGS__},                  \
               sizeof((const emu_access[]){__VA_ARGS__}) / sizeof(emu_access))

/* Queues work that touches memory and does nothing: for tests of order. */
cudaError_t emu_touch(cudaStream_t stream, const void *data, size_t size, bool write);

/* ---- Calls -------------------------------------------------------------- */

/* Every call that is counted and can be made to fail. */
#define EMU_CALL_LIST(X)                       \
    X(cudaGetDeviceCount, 200)                 \
    X(cudaGetDevice, 20)                       \
    X(cudaSetDevice, 100)                      \
    X(cudaDeviceGetAttribute, 100)             \
    X(cudaDeviceSynchronize, 2000)             \
    X(cudaMemGetInfo, 9000)                    \
    X(cudaMalloc, 50000)                       \
    X(cudaFree, 50000)                         \
    X(cudaMemcpy, 5000)                        \
    X(cudaMemcpyAsync, 2000)                   \
    X(cudaMemset, 5000)                        \
    X(cudaMemsetAsync, 2000)                   \
    X(cudaLaunchKernel, 2800)                  \
    X(cudaStreamCreateWithFlags, 5000)         \
    X(cudaStreamDestroy, 2000)                 \
    X(cudaStreamGetId, 50)                     \
    X(cudaStreamQuery, 1000)                   \
    X(cudaStreamSynchronize, 2000)             \
    X(cudaStreamWaitEvent, 250)                \
    X(cudaStreamBeginCapture, 1000)            \
    X(cudaStreamEndCapture, 1000)              \
    X(cudaStreamIsCapturing, 100)              \
    X(cudaThreadExchangeStreamCaptureMode, 20) \
    X(cudaGraphInstantiate, 100000)            \
    X(cudaGraphLaunch, 2800)                   \
    X(cudaGraphDestroy, 1000)                  \
    X(cudaGraphExecDestroy, 1000)              \
    X(cudaEventCreateWithFlags, 420)           \
    X(cudaEventDestroy, 120)                   \
    X(cudaEventRecord, 244)                    \
    X(cudaEventQuery, 1020)                    \
    X(cudaEventSynchronize, 2000)              \
    X(cudaGetDriverEntryPointByVersion, 1000)  \
    X(cuDeviceGetName, 100)                    \
    X(cuDeviceTotalMem, 100)                   \
    X(cuDeviceGetAttribute, 100)               \
    X(cuMemGetAllocationGranularity, 100)      \
    X(cuMemAddressReserve, 19000)              \
    X(cuMemAddressFree, 19000)                 \
    X(cuMemCreate, 193000)                     \
    X(cuMemRelease, 100000)                    \
    X(cuMemMap, 1450)                          \
    X(cuMemUnmap, 25600)                       \
    X(cuMemSetAccess, 36000)                   \
    X(cuStreamGetCaptureInfo, 100)

typedef enum emu_call {
    EMU_ANY, /* all kinds together */
#define X(name, cost) EMU_##name,
    EMU_CALL_LIST(X)
#undef X
        EMU_CALL_KINDS
} emu_call;

const char *emu_call_name(emu_call call);

/* Calls made since the reset, those that failed too. */
size_t emu_calls(emu_call call);

/* The `nth` call of the kind from now on (1: the next) fails with `code` and
 * does nothing else; only that one. A second request replaces the first. */
void emu_fail(emu_call call, size_t nth, int code);
bool emu_fail_is_armed(void); /* the call to fail has not been made yet */

/* From now on every call fails with `code` and does nothing; 0 ends it.
 *   3, 34, 35, 100   no driver, or no device
 *   4                the driver is unloading, at the end of a process
 *   700, 709         the context is broken, or destroyed */
void emu_break(int code);

/* A driver older than `version` names (12080 is 12.8) lacks entry points. */
void emu_set_driver_version(int version);

/* ---- Objects ------------------------------------------------------------ */

/* What exists at this moment; all zero when nothing leaked. */
typedef struct emu_objects {
    size_t streams;
    size_t events;
    size_t allocations; /* of cudaMalloc */
    size_t ranges;      /* of address space */
    size_t pages;       /* physical handles not yet released */
    size_t mappings;
    size_t captures;
    size_t graphs; /* and what was made of them to be launched */
} emu_objects;

emu_objects emu_objects_now(void);
bool emu_objects_equal(emu_objects a, emu_objects b);
size_t emu_memory_used(int device); /* bytes of capacity */
size_t emu_address_space_used(void);

/* ---- Violations --------------------------------------------------------- */

void emu_tolerate(bool tolerate);
size_t emu_violations(void);
const char *emu_violation(void); /* the latest one's sentence, or "" */

#endif
