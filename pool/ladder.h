/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_LADDER_H
#define KOLK_POOL_LADDER_H

/* What happens to a request that its stream's bins could not serve. */

#include "core.h"

typedef struct kolk_request {
    kolk_pool *pool;
    kolk_cache *cache;
    kolk_stream *stream;
    size_t size;    /* bytes asked for */
    uint32_t units; /* what that takes */
    int class;      /* KOLK_CLASS_COUNT for large ones */
    size_t alignment;
    kolk_tag tag;
    int native;         /* the driver's code when it last refused */
    unsigned rungs;     /* 1 << kolk_rung of those taken */
    int asked;          /* times the callback was */
    bool counted;       /* as a hit or a miss */
    kolk_error failure; /* what went wrong besides a lack of device memory */
} kolk_request;

/* A LIVE block, or OUT_OF_MEMORY with its record. */
kolk_status kolk_ladder_climb(kolk_request *request, kolk_block **out);

/* Locks the request's cache; another one if the stream has a new cache since
 * somebody destroyed a second handle of it. */
void kolk_request_lock(kolk_request *request);

/* Makes a BUSY or BINNED block the caller's. Under the cache's lock. */
void kolk_block_adopt(const kolk_request *request, kolk_block *block);

/* OUT_OF_MEMORY for a request, with its record. */
kolk_status kolk_oom_fail(kolk_request *request);

/* What is known about a request that is not served yet. */
kolk_oom kolk_oom_of(const kolk_request *request);

#endif
