/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* The host as a device: memory from mmap, streams that run work at once.
 *
 * Everything here is private anonymous memory, so the child of a fork gets its
 * own copy of what the parent had and both go on. A page that is mapped nowhere
 * holds nothing: its handle is only a right to memory, and mapping it gives
 * fresh zeroes. Pages and plain memory count against the host's capacity,
 * address space does not.
 *
 * A stream or event needs no memory: a stream is its own id, and whatever an
 * event could mark is done by the time anybody can ask. */

#include "backend.h"
#include "fail.h"
#include "host_account.h"
#include "sanitize.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)2 << 20)

enum { DEFAULT_STREAM_ID = 1 };

_Static_assert(sizeof(void *) >= sizeof(uint64_t), "a stream's handle is its id");

static atomic_uint_least64_t next_stream = DEFAULT_STREAM_ID + 1;
static atomic_uint_least64_t next_page = 1;

static kolk_status refused(const char *where, kolk_status status, const char *call,
                           size_t size)
{
    const int code = errno;
    return kolk_fail_at(where, status, code, "%s of %zu bytes: %s", call, size,
                        strerror(code));
}

/* ---- address space ---- */

static char *page_up(char *address)
{
    return address + (-(uintptr_t)address & (PAGE - 1));
}

/* For addresses that hold nothing: failure would only leave them unused. */
static void drop(char *from, const char *to)
{
    if (from != to)
        munmap(from, (size_t)(to - from));
}

/* `size` bytes of address space, aligned to a page. */
static kolk_status reserve(const char *where, size_t size, char **out)
{
    size_t slack;
    if (__builtin_add_overflow(size, PAGE, &slack))
        return kolk_fail_at(where, KOLK_OUT_OF_MEMORY, ENOMEM,
                            "%zu bytes exceed the address space", size);
    char *const base = mmap(NULL, slack, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return refused(where, KOLK_OUT_OF_MEMORY, "mmap", size);
    char *const start = page_up(base);
    drop(base, start);
    drop(start + size, base + slack);
    *out = start;
    return KOLK_OK;
}

static kolk_status range_reserve(int device, size_t size, void **out)
{
    (void)device;
    char *base;
    KOLK_TRY(reserve(__func__, size, &base));
    *out = base;
    return KOLK_OK;
}

static kolk_status range_free(int device, void *base, size_t size)
{
    (void)device;
    if (munmap(base, size) != 0)
        return refused(__func__, KOLK_DEVICE, "munmap", size);
    return KOLK_OK;
}

/* ---- pages ---- */

static kolk_status page_create(int device, size_t size, uint64_t *out)
{
    (void)device;
    KOLK_TRY(kolk_account_charge(__func__, size));
    *out = atomic_fetch_add(&next_page, 1);
    return KOLK_OK;
}

static kolk_status page_release(int device, uint64_t page, size_t size)
{
    (void)device;
    (void)page;
    kolk_account_credit(size);
    return KOLK_OK;
}

static kolk_status remap(const char *where, void *address, size_t size, int protection)
{
    kolk_unpoison(address, size);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(address, size, protection, flags, -1, 0) == MAP_FAILED)
        return refused(where, KOLK_OUT_OF_MEMORY, "mmap", size);
    return KOLK_OK;
}

static kolk_status page_map(int device, void *address, size_t size, uint64_t page)
{
    (void)device;
    (void)page;
    return remap(__func__, address, size, PROT_READ | PROT_WRITE);
}

static kolk_status page_unmap(int device, void *address, size_t size)
{
    (void)device;
    return remap(__func__, address, size, PROT_NONE);
}

/* ---- plain memory: a range whose first page stays out of reach but for its
 * very end, where the header says what to give back ---- */

typedef struct header {
    size_t size;
    size_t range; /* bytes, with the first page */
} header;

static header *header_of(void *data)
{
    return (header *)data - 1;
}

static kolk_status open_memory(char *data, size_t size)
{
    const size_t lead = (size_t)sysconf(_SC_PAGESIZE);
    if (mprotect(data - lead, lead + size, PROT_READ | PROT_WRITE) != 0)
        return refused("memory_alloc", KOLK_OUT_OF_MEMORY, "mprotect", size);
    return KOLK_OK;
}

static kolk_status map_memory(size_t size, void **out)
{
    size_t range;
    if (__builtin_add_overflow(size, 2 * PAGE - 1, &range))
        range = SIZE_MAX;
    range &= -PAGE;
    char *base;
    KOLK_TRY(reserve("memory_alloc", range, &base));
    char *const data = base + PAGE;
    const kolk_status status = open_memory(data, size);
    if (status != KOLK_OK) {
        drop(base, base + range);
        return status;
    }
    *header_of(data) = (header){.size = size, .range = range};
    *out = data;
    return KOLK_OK;
}

static kolk_status memory_alloc(int device, size_t size, void **out)
{
    (void)device;
    KOLK_TRY(kolk_account_charge(__func__, size));
    const kolk_status status = map_memory(size, out);
    if (status != KOLK_OK)
        kolk_account_credit(size);
    return status;
}

static kolk_status memory_free(int device, void *data)
{
    (void)device;
    const header memory = *header_of(data);
    kolk_unpoison(data, memory.size);
    if (munmap((char *)data - PAGE, memory.range) != 0)
        return refused(__func__, KOLK_DEVICE, "munmap", memory.range);
    kolk_account_credit(memory.size);
    return KOLK_OK;
}

/* ---- the device itself ---- */

static kolk_status device_count(int *out)
{
    *out = 1;
    return KOLK_OK;
}

static kolk_status device_describe(int device, kolk_device_info *out)
{
    (void)device;
    *out = (kolk_device_info){.name = "host",
                              .total = kolk_account_read().capacity,
                              .page_size = PAGE,
                              .integrated = true};
    return KOLK_OK;
}

static kolk_status memory_info(int device, size_t *out_free, size_t *out_total)
{
    (void)device;
    const kolk_account account = kolk_account_read();
    *out_free = account.capacity - account.used;
    *out_total = account.capacity;
    return KOLK_OK;
}

static kolk_status device_synchronize(int device)
{
    (void)device;
    return KOLK_OK;
}

static kolk_status device_trim(int device)
{
    (void)device;
    return KOLK_OK;
}

/* ---- streams and events ---- */

static kolk_status stream_create(int device, void **out)
{
    (void)device;
    *out = (void *)(uintptr_t)atomic_fetch_add(&next_stream, 1);
    return KOLK_OK;
}

static kolk_status stream_id(int device, void *stream, uint64_t *out)
{
    (void)device;
    *out = stream != NULL ? (uintptr_t)stream : DEFAULT_STREAM_ID;
    return KOLK_OK;
}

static kolk_status stream_capture_id(int device, void *stream, uint64_t *out)
{
    (void)device;
    (void)stream;
    *out = 0;
    return KOLK_OK;
}

static kolk_status event_create(int device, void **out)
{
    static char any;
    (void)device;
    *out = &any;
    return KOLK_OK;
}

static kolk_status event_query(int device, void *event, bool *out)
{
    (void)device;
    (void)event;
    *out = true;
    return KOLK_OK;
}

/* Destroying a stream or event, and waiting for work that is already done. */
static kolk_status nothing(int device, void *handle)
{
    (void)device;
    (void)handle;
    return KOLK_OK;
}

/* Ordering a stream and an event that are both always complete. */
static kolk_status nothing_to_order(int device, void *a, void *b)
{
    (void)a;
    return nothing(device, b);
}

static kolk_status copy(int device, void *to, const void *from, size_t size,
                        void *stream)
{
    memmove(to, from, size);
    return nothing(device, stream);
}

static kolk_status fill(int device, void *to, int byte, size_t size, void *stream)
{
    memset(to, byte, size);
    return nothing(device, stream);
}

const kolk_backend kolk_backend_host = {
    .name = "host",
    .device_count = device_count,
    .device_describe = device_describe,
    .device_synchronize = device_synchronize,
    .device_trim = device_trim,
    .memory_info = memory_info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .range_reserve = range_reserve,
    .range_free = range_free,
    .page_create = page_create,
    .page_release = page_release,
    .page_map = page_map,
    .page_unmap = page_unmap,
    .stream_create = stream_create,
    .stream_destroy = nothing,
    .stream_id = stream_id,
    .stream_synchronize = nothing,
    .stream_wait = nothing_to_order,
    .stream_capture_id = stream_capture_id,
    .event_create = event_create,
    .event_destroy = nothing,
    .event_record = nothing_to_order,
    .event_query = event_query,
    .event_synchronize = nothing,
    .copy = copy,
    .fill = fill,
};
