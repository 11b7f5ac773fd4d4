/* SPDX-License-Identifier: MIT */

#include "cuda_backend.h"

const kolk_backend kolk_backend_cuda = {
    .name = "cuda",
    .device_count = kolk_cuda_device_count,
    .device_describe = kolk_cuda_device_describe,
    .device_synchronize = kolk_cuda_device_synchronize,
    .device_trim = kolk_cuda_device_trim,
    .memory_info = kolk_cuda_memory_info,
    .memory_alloc = kolk_cuda_memory_alloc,
    .memory_free = kolk_cuda_memory_free,
    .range_reserve = kolk_cuda_range_reserve,
    .range_free = kolk_cuda_range_free,
    .page_create = kolk_cuda_page_create,
    .page_release = kolk_cuda_page_release,
    .page_map = kolk_cuda_page_map,
    .page_unmap = kolk_cuda_page_unmap,
    .stream_create = kolk_cuda_stream_create,
    .stream_destroy = kolk_cuda_stream_destroy,
    .stream_id = kolk_cuda_stream_id,
    .stream_synchronize = kolk_cuda_stream_synchronize,
    .stream_wait = kolk_cuda_stream_wait,
    .stream_capture_id = kolk_cuda_stream_capture_id,
    .event_create = kolk_cuda_event_create,
    .event_destroy = kolk_cuda_event_destroy,
    .event_record = kolk_cuda_event_record,
    .event_query = kolk_cuda_event_query,
    .event_synchronize = kolk_cuda_event_synchronize,
    .copy = kolk_cuda_copy,
    .fill = kolk_cuda_fill,
};
