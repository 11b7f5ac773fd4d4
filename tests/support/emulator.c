/* SPDX-License-Identifier: MIT */

/* The machine as a whole: its birth, the frame around every call, and what
 * tests ask of it. */

#include "emulator_machine.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

emu_machine emu;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local emu_thread thread;

static const uint64_t costs[EMU_CALL_KINDS] = {
#define X(name, cost) [EMU_##name] = (cost),
    EMU_CALL_LIST(X)
#undef X
};

static const char *const names[EMU_CALL_KINDS] = {[EMU_ANY] = "any call",
#define X(name, cost) [EMU_##name] = #name,
                                                  EMU_CALL_LIST(X)
#undef X
};

const char *emu_call_name(emu_call call)
{
    return names[call];
}

/* ---- small tools ---- */

void *emu_alloc(size_t size)
{
    void *const data = calloc(1, size);
    if (data == NULL)
        abort();
    return data;
}

static void *grown(void *data, size_t size)
{
    void *const more = realloc(data, size);
    if (more == NULL)
        abort();
    return more;
}

void emu_insert(void *array, size_t *count, size_t at, size_t size)
{
    char **const data = array;
    *data = grown(*data, (*count + 1) * size);
    memmove(*data + (at + 1) * size, *data + at * size, (*count - at) * size);
    memset(*data + at * size, 0, size);
    ++*count;
}

void emu_remove(void *array, size_t *count, size_t at, size_t size)
{
    char **const data = array;
    --*count;
    memmove(*data + at * size, *data + (at + 1) * size, (*count - at) * size);
}

void emu_violate(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(emu.violation, sizeof emu.violation, format, arguments);
    va_end(arguments);
    emu.violations++;
    if (emu.is_tolerant)
        return;
    fprintf(stderr, "emulator: %s\n", emu.violation);
    abort();
}

/* ---- birth ---- */

static void halt(void)
{
    emu_capture_halt();
    emu_graph_halt();
    emu_stream_halt();
    emu_event_halt();
    emu_memory_halt();
}

static emu_config resolve(const emu_config *config)
{
    emu_config full = config != NULL ? *config : (emu_config){0};
    if (full.devices == 0)
        full.devices = 1;
    if (full.devices == -1)
        full.devices = 0;
    if (full.devices < 0 || full.devices > EMU_DEVICES)
        abort();
    if (full.capacity == 0)
        full.capacity = (size_t)4 << 30;
    if (full.address_space == 0)
        full.address_space = (size_t)1 << 40;
    if (full.granularity == 0)
        full.granularity = (size_t)2 << 20;
    if (full.seed == 0)
        full.seed = 1;
    return full;
}

static void boot(const emu_config *config)
{
    const uint64_t number = emu.number;
    if (number != 0)
        halt();
    emu = (emu_machine){
        .number = number + 1, .process = getpid(), .driver_version = CUDART_VERSION};
    emu.config = resolve(config);
    emu.random = emu.config.seed;
    emu_memory_boot();
    for (int device = 0; device < emu.config.devices; device++) {
        emu.devices[device].legacy = emu_stream_make(device, true);
        emu.devices[device].legacy->is_legacy = true;
    }
}

void emu_reset(const emu_config *config)
{
    pthread_mutex_lock(&lock);
    boot(config);
    pthread_mutex_unlock(&lock);
}

/* ---- the frame of a call ---- */

void emu_lock(void)
{
    pthread_mutex_lock(&lock);
    if (emu.number == 0)
        boot(NULL);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

emu_thread *emu_here(void)
{
    const uint64_t token = thread.token;
    if (thread.machine != emu.number)
        thread = (emu_thread){.machine = emu.number,
                              .token = token != 0 ? token : (uint64_t)&thread};
    return &thread;
}

/* True for the one call that was chosen to fail. */
static bool is_chosen(emu_call call)
{
    if (emu.fail_in == 0 || (emu.fail_call != EMU_ANY && emu.fail_call != call))
        return false;
    return --emu.fail_in == 0;
}

cudaError_t emu_enter(emu_call call)
{
    emu_lock();
    emu.calls[call]++;
    emu.calls[EMU_ANY]++;
    emu.clock += costs[call];
    if (emu.process != getpid())
        return cudaErrorInitializationError;
    if (is_chosen(call))
        return emu.fail_code;
    return (cudaError_t)emu.broken;
}

cudaError_t emu_leave(cudaError_t code)
{
    if (code != cudaSuccess)
        emu_here()->last_error = code;
    emu_unlock();
    return code;
}

int emu_leave_driver(cudaError_t code)
{
    emu_unlock();
    return (int)code;
}

cudaError_t cudaPeekAtLastError(void)
{
    emu_lock();
    const cudaError_t code = emu_here()->last_error;
    emu_unlock();
    return code;
}

cudaError_t cudaGetLastError(void)
{
    emu_lock();
    const cudaError_t code = emu_here()->last_error;
    emu_here()->last_error = cudaSuccess;
    emu_unlock();
    return code;
}

/* ---- what tests ask ---- */

size_t emu_calls(emu_call call)
{
    emu_lock();
    const size_t calls = emu.calls[call];
    emu_unlock();
    return calls;
}

void emu_fail(emu_call call, size_t nth, int code)
{
    emu_lock();
    emu.fail_call = call;
    emu.fail_in = nth;
    emu.fail_code = (cudaError_t)code;
    emu_unlock();
}

bool emu_fail_is_armed(void)
{
    emu_lock();
    const bool is_armed = emu.fail_in != 0;
    emu_unlock();
    return is_armed;
}

void emu_break(int code)
{
    emu_lock();
    emu.broken = code;
    emu_unlock();
}

void emu_set_driver_version(int version)
{
    emu_lock();
    emu.driver_version = version;
    emu_unlock();
}

uint64_t emu_clock(void)
{
    emu_lock();
    const uint64_t clock = emu.clock;
    emu_unlock();
    return clock;
}

static size_t count_captures(void)
{
    size_t count = 0;
    for (const emu_capture *capture = emu.captures; capture; capture = capture->next)
        count++;
    return count;
}

static emu_objects count_objects(void)
{
    emu_objects objects = {
        .streams = emu.live_streams,
        .events = emu.live_events,
        .ranges = emu.range_count,
        .pages = emu.page_count,
        .captures = count_captures(),
        .graphs = emu.graphs,
    };
    for (size_t i = 0; i < emu.mapping_count; i++)
        ++*(emu.mappings[i].is_plain ? &objects.allocations : &objects.mappings);
    return objects;
}

emu_objects emu_objects_now(void)
{
    emu_lock();
    const emu_objects objects = count_objects();
    emu_unlock();
    return objects;
}

bool emu_objects_equal(emu_objects a, emu_objects b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

size_t emu_memory_used(int device)
{
    emu_lock();
    const size_t used = emu.devices[device].used;
    emu_unlock();
    return used;
}

size_t emu_address_space_used(void)
{
    emu_lock();
    const size_t used = emu.address_space_used;
    emu_unlock();
    return used;
}

void emu_tolerate(bool tolerate)
{
    emu_lock();
    emu.is_tolerant = tolerate;
    emu_unlock();
}

size_t emu_violations(void)
{
    emu_lock();
    const size_t violations = emu.violations;
    emu_unlock();
    return violations;
}

const char *emu_violation(void)
{
    return emu.violation;
}
