/* SPDX-License-Identifier: MIT */

/* Takes a host pool through a life and ends it; with an argument it keeps a block,
 * and with it the pool. For Valgrind. */

#include <kolk/stats.h>
#include <stdlib.h>

static void demand(kolk_status status)
{
    if (status != KOLK_OK)
        exit(9);
}

static kolk_block *volatile kept;

/* Sizes of every kind, on two streams that use each other's blocks. */
static void work(kolk_pool *pool, kolk_stream *a, kolk_stream *b)
{
    kolk_block *blocks[64] = {NULL};
    for (int i = 0; i < 640; i++) {
        kolk_block **const block = &blocks[i * 37 % 64];
        kolk_block_free(block);
        demand(kolk_block_alloc(pool, (size_t)1 << (i % 22), i % 3 ? a : b, block));
        if (i % 5 == 0)
            demand(kolk_block_record(*block, b));
    }
    demand(kolk_free(pool, kolk_malloc(pool, 100000, a), b));
    (void)kolk_pool_trim(pool, 4 << 20);
    for (int i = 0; i < 64; i++)
        kolk_block_free_on(&blocks[i], a);
}

int main(int argc, char **argv)
{
    kolk_pool *pool = NULL;
    kolk_stream *a = NULL, *b = NULL;
    kolk_block *block = NULL;
    (void)argv;
    demand(kolk_pool_create(kolk_host(), NULL, &pool));
    demand(kolk_stream_create(kolk_host(), &a));
    demand(kolk_stream_create(kolk_host(), &b));
    work(pool, a, b);
    demand(kolk_block_alloc(pool, 4321, a, &block));
    if (argc == 1)
        kolk_block_free(&block);
    kept = block;
    kolk_stream_destroy(&a);
    kolk_stream_destroy(&b);
    kolk_pool_destroy(&pool);
    kept = NULL;
    return 0;
}
