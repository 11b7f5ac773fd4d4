/* SPDX-License-Identifier: MIT */
#include "scene.h"
#include <stdlib.h>

enum { STREAMS = 3, BLOCKS_A_ROUND = 10, MOST_ROUNDS = 1000 };

typedef struct scene {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    kolk_block *blocks[MOST_ROUNDS * BLOCKS_A_ROUND];
    size_t count;
    uint64_t seed;
} scene;

static unsigned next_random(scene *s)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(s->seed >> 33);
}

static kolk_status allocate(scene *s)
{
    static const size_t sizes[] = {1, 100, 512, 3000, 20000, 65536, 300000, 2500000};
    const size_t most = sizes[next_random(s) % (sizeof sizes / sizeof sizes[0])];
    const kolk_alloc_options options = {
        .tag = (kolk_tag)(next_random(s) % KOLK_TAG_COUNT)};
    return kolk_block_alloc_with(s->pool, 1 + next_random(s) % most, &options,
                                 s->streams[next_random(s) % STREAMS],
                                 &s->blocks[s->count++]);
}

static kolk_status replace_stream(scene *s)
{
    kolk_stream_destroy(&s->streams[0]);
    return kolk_stream_create(kolk_host(), &s->streams[0]);
}

static kolk_status play(scene *s, int rounds)
{
    for (int i = 0; i < rounds && i < MOST_ROUNDS; i++) {
        for (int k = 0; k < BLOCKS_A_ROUND; k++)
            KOLK_TRY(allocate(s));
        for (int k = 0; k < BLOCKS_A_ROUND / 2; k++)
            kolk_block_free_on(&s->blocks[next_random(s) % s->count],
                               s->streams[next_random(s) % STREAMS]);
        if (i == rounds / 2)
            KOLK_TRY(replace_stream(s));
    }
    return KOLK_OK;
}

static void end(scene **out)
{
    scene *const s = *out;
    for (size_t i = 0; i < s->count; i++)
        kolk_block_free(&s->blocks[i]);
    kolk_pool_destroy(&s->pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&s->streams[i]);
    free(s);
}

kolk_status scene_write(const char *path, int rounds, bool no_pages)
{
    const kolk_pool_config config = {
        .limit = (size_t)1 << 30, .no_pages = no_pages, .name = "scene \"ü\""};
    scene *s KOLK_AUTO(end) = calloc(1, sizeof *s);
    if (s == NULL)
        return KOLK_OUT_OF_HOST_MEMORY;
    for (int i = 0; i < STREAMS; i++)
        KOLK_TRY(kolk_stream_create(kolk_host(), &s->streams[i]));
    KOLK_TRY(kolk_pool_create(kolk_host(), &config, &s->pool));
    KOLK_TRY(play(s, rounds));
    return kolk_pool_snapshot_write(s->pool, path);
}
