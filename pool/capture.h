/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_CAPTURE_H
#define KOLK_POOL_CAPTURE_H

/* Memory of a graph. While a stream is captured its allocations come from a
 * cache of the capture's own, which nobody else takes from: a graph that is
 * launched again uses the same addresses again. Nothing is recorded on or
 * asked of a stream that is being captured. */

#include "core.h"

struct kolk_capture {
    kolk_capture *next;
    kolk_pool *pool;
    kolk_cache *cache;    /* the capture's own */
    kolk_cache *ordinary; /* the stream's */
    bool active;          /* the stream's allocations are diverted */
    uint64_t id;          /* the driver's, when the pool found out by itself; or 0 */
};

void kolk_capture_destroy_all(kolk_pool *pool);

#endif
