/* SPDX-License-Identifier: MIT */
#include "driver.h"
#include "counters.h"
#include <time.h>

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static kolk_status count(kolk_pool *pool, kolk_call call, uint64_t since,
                         kolk_status status)
{
    kolk_call_count *const counter = &pool->counters.calls[call];
    kolk_bump(&counter->count, 1);
    kolk_bump(&counter->failed, status != KOLK_OK);
    kolk_bump(&counter->nanoseconds, now() - since);
    return status;
}

/* Takes the time before the call, which is evaluated as an argument. */
#define COUNTED(kind, expression)                                  \
    do {                                                           \
        const uint64_t since = now();                              \
        return count(pool, KOLK_CALL_##kind, since, (expression)); \
    } while (0)

kolk_status kolk_driver_page_create(kolk_pool *pool, uint64_t *out)
{
    COUNTED(PAGE_CREATE, kolk_page_create(pool->device, pool->page_size, out));
}

kolk_status kolk_driver_page_release(kolk_pool *pool, uint64_t page)
{
    COUNTED(PAGE_RELEASE, kolk_page_release(pool->device, page, pool->page_size));
}

kolk_status kolk_driver_page_map(kolk_pool *pool, uintptr_t address, uint64_t page)
{
    COUNTED(PAGE_MAP,
            kolk_page_map(pool->device, (void *)address, pool->page_size, page));
}

kolk_status kolk_driver_page_unmap(kolk_pool *pool, uintptr_t address)
{
    COUNTED(PAGE_UNMAP,
            kolk_page_unmap(pool->device, (void *)address, pool->page_size));
}

kolk_status kolk_driver_range_reserve(kolk_pool *pool, size_t size, void **out)
{
    COUNTED(RANGE_RESERVE, kolk_range_reserve(pool->device, size, out));
}

kolk_status kolk_driver_range_free(kolk_pool *pool, uintptr_t base, size_t size)
{
    COUNTED(RANGE_FREE, kolk_range_free(pool->device, (void *)base, size));
}

kolk_status kolk_driver_memory_alloc(kolk_pool *pool, size_t size, void **out)
{
    COUNTED(MEMORY_ALLOC, kolk_memory_alloc(pool->device, size, out));
}

kolk_status kolk_driver_memory_free(kolk_pool *pool, uintptr_t base)
{
    COUNTED(MEMORY_FREE, kolk_memory_free(pool->device, (void *)base));
}

kolk_status kolk_driver_memory_info(kolk_pool *pool, size_t *out_free,
                                    size_t *out_total)
{
    COUNTED(MEMORY_INFO, kolk_device_memory(pool->device, out_free, out_total));
}

kolk_status kolk_driver_event_create(kolk_pool *pool, kolk_event **out)
{
    COUNTED(EVENT_CREATE, kolk_event_create(pool->device, out));
}

void kolk_driver_event_destroy(kolk_pool *pool, kolk_event *event)
{
    const uint64_t since = now();
    kolk_event_destroy(&event);
    (void)count(pool, KOLK_CALL_EVENT_DESTROY, since, KOLK_OK);
}

kolk_status kolk_driver_event_record(kolk_pool *pool, kolk_event *event,
                                     kolk_stream *stream)
{
    COUNTED(EVENT_RECORD, kolk_event_record(event, stream));
}

kolk_status kolk_driver_event_query(kolk_pool *pool, kolk_event *event, bool *out)
{
    COUNTED(EVENT_QUERY, kolk_event_query(event, out));
}

kolk_status kolk_driver_event_synchronize(kolk_pool *pool, kolk_event *event)
{
    COUNTED(EVENT_SYNCHRONIZE, kolk_event_synchronize(event));
}

kolk_status kolk_driver_stream_wait(kolk_pool *pool, kolk_stream *stream,
                                    kolk_event *event)
{
    COUNTED(STREAM_WAIT, kolk_stream_wait(stream, event));
}

kolk_status kolk_driver_stream_capture(kolk_pool *pool, kolk_stream *stream,
                                       uint64_t *out)
{
    COUNTED(STREAM_CAPTURE, kolk_stream_capture_id(stream, out));
}

kolk_status kolk_driver_synchronize(kolk_pool *pool)
{
    COUNTED(DEVICE_SYNCHRONIZE, kolk_device_synchronize(pool->device));
}
