/* SPDX-License-Identifier: MIT */

/* A program of somebody else's, built against what was installed. */

#include <kolk/kolk.h>
#include <stdio.h>
#include <string.h>

static kolk_status use_memory(kolk_pool *pool, kolk_stream *stream)
{
    kolk_block *block KOLK_AUTO(kolk_block_free) = NULL;
    KOLK_TRY(kolk_block_alloc(pool, 100000, stream, &block));
    memset(kolk_block_data(block), 1, kolk_block_size(block));
    return kolk_pool_check(pool);
}

static kolk_status run(void)
{
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = NULL;
    KOLK_TRY(kolk_stream_create(kolk_host(), &stream));
    kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
    KOLK_TRY(kolk_pool_create(kolk_host(), NULL, &pool));
    return use_memory(pool, stream);
}

int main(void)
{
    if (run() == KOLK_OK)
        return 0;
    fprintf(stderr, "%s: %s\n", kolk_last_error()->where, kolk_last_error()->message);
    return 1;
}
