/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_DRIVER_H
#define KOLK_POOL_DRIVER_H

/* Every call a pool makes to the driver, counted and timed by kind. None may be
 * made with a lock of the pool held. */

#include "core.h"

kolk_status kolk_driver_page_create(kolk_pool *pool, uint64_t *out);
kolk_status kolk_driver_page_release(kolk_pool *pool, uint64_t page);
kolk_status kolk_driver_page_map(kolk_pool *pool, uintptr_t address, uint64_t page);
kolk_status kolk_driver_page_unmap(kolk_pool *pool, uintptr_t address);
kolk_status kolk_driver_range_reserve(kolk_pool *pool, size_t size, void **out);
kolk_status kolk_driver_range_free(kolk_pool *pool, uintptr_t base, size_t size);
kolk_status kolk_driver_memory_alloc(kolk_pool *pool, size_t size, void **out);
kolk_status kolk_driver_memory_free(kolk_pool *pool, uintptr_t base);
kolk_status kolk_driver_memory_info(kolk_pool *pool, size_t *out_free,
                                    size_t *out_total);
kolk_status kolk_driver_event_create(kolk_pool *pool, kolk_event **out);
void kolk_driver_event_destroy(kolk_pool *pool, kolk_event *event);
kolk_status kolk_driver_event_record(kolk_pool *pool, kolk_event *event,
                                     kolk_stream *stream);
kolk_status kolk_driver_event_query(kolk_pool *pool, kolk_event *event, bool *out);
kolk_status kolk_driver_event_synchronize(kolk_pool *pool, kolk_event *event);
kolk_status kolk_driver_stream_wait(kolk_pool *pool, kolk_stream *stream,
                                    kolk_event *event);
kolk_status kolk_driver_stream_capture(kolk_pool *pool, kolk_stream *stream,
                                       uint64_t *out);
kolk_status kolk_driver_synchronize(kolk_pool *pool);

#endif
