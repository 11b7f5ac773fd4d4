/* SPDX-License-Identifier: MIT */

/* A request never fails while one that fits could be served. What fits is said by
 * a model: pages that no live block touches can be had, wherever they are. */

#include "pool_rig.h"
#include <string.h>

enum { STREAMS = 3, SLOTS = 40, STEPS = 2000, PAGES = 12 };
#define PAGE (2 * MIB)

struct slot {
    kolk_block *block;
    int stream;
};

struct scene {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    struct slot slots[SLOTS];
    uint64_t seed;
    size_t failures;
};

static size_t draw(struct scene *scene, size_t below)
{
    scene->seed = scene->seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (size_t)(scene->seed >> 33) % below;
}

/* Numbers of the pages that live blocks touch; a live page is named once. */
static size_t live_pages(const struct scene *scene)
{
    uintptr_t pages[PAGES * 2];
    size_t count = 0;
    for (int i = 0; i < SLOTS; i++) {
        const kolk_block *const block = scene->slots[i].block;
        if (!block)
            continue;
        const uintptr_t first = (uintptr_t)kolk_block_data(block);
        const uintptr_t last = first + kolk_block_capacity(block) - 1;
        for (uintptr_t page = first / PAGE; page <= last / PAGE; page++) {
            size_t at = 0;
            while (at < count && pages[at] != page)
                at++;
            ck_assert_uint_lt(at, PAGES * 2);
            pages[at] = page;
            count += at == count;
        }
    }
    return count;
}

static bool fits(const struct scene *scene, size_t size)
{
    return live_pages(scene) + (size + PAGE - 1) / PAGE <= PAGES;
}

static size_t draw_size(struct scene *scene)
{
    const size_t most[] = {4 * KIB, 300 * KIB, 3 * MIB, 9 * MIB};
    return 1 + draw(scene, most[draw(scene, 4)]);
}

static void take(struct scene *scene, struct slot *slot)
{
    const size_t size = draw_size(scene);
    slot->stream = (int)draw(scene, STREAMS);
    kolk_stream *const stream = scene->streams[slot->stream];
    if (kolk_block_alloc(scene->pool, size, stream, &slot->block) == KOLK_OK) {
        use(slot->block, stream);
        return;
    }
    scene->failures++;
    ck_assert_int_eq(kolk_last_error()->status, KOLK_OUT_OF_MEMORY);
    ck_assert_msg(!fits(scene, size), "%zu bytes fit beside %zu pages: %s", size,
                  live_pages(scene), kolk_last_error()->message);
}

static void give(struct scene *scene, struct slot *slot)
{
    kolk_stream *const user = scene->streams[draw(scene, STREAMS)];
    if (draw(scene, 2)) {
        order(user, scene->streams[slot->stream]);
        use(slot->block, user);
        ck_assert_ok(kolk_block_record(slot->block, user));
    }
    kolk_block_free(&slot->block);
}

/* Its work goes on; half of its blocks are freed before it goes, half after. */
static void renew_stream(struct scene *scene, int number)
{
    for (int i = 0; i < SLOTS; i++)
        if (scene->slots[i].stream == number && i % 2)
            kolk_block_free(&scene->slots[i].block);
    kolk_stream_destroy(&scene->streams[number]);
    for (int i = 0; i < SLOTS; i++)
        if (scene->slots[i].stream == number)
            kolk_block_free(&scene->slots[i].block);
    scene->streams[number] = new_stream(kolk_pool_device(scene->pool));
}

static void let_time_pass(struct scene *scene)
{
#ifdef KOLK_TESTS_EMULATED
    emu_shuffle(draw(scene, 3));
#endif
    if (draw(scene, 60) == 0)
        ck_assert_ok(kolk_stream_synchronize(scene->streams[draw(scene, STREAMS)]));
}

static void step(struct scene *scene)
{
    struct slot *const slot = &scene->slots[draw(scene, SLOTS)];
    if (slot->block)
        give(scene, slot);
    else
        take(scene, slot);
    if (draw(scene, 100) == 0)
        kolk_pool_trim(scene->pool, draw(scene, PAGES) * PAGE);
    if (draw(scene, 150) == 0)
        renew_stream(scene, (int)draw(scene, STREAMS));
    let_time_pass(scene);
}

static void run(int variant, kolk_pool_config config, uint64_t seed)
{
    struct scene scene = {.seed = seed};
    scene.pool = new_pool(variant, config);
    for (int i = 0; i < STREAMS; i++)
        scene.streams[i] = new_stream(kolk_pool_device(scene.pool));
    for (int i = 0; i < STEPS; i++)
        step(&scene);
    ck_assert_uint_gt(scene.failures, 20);
    for (int i = 0; i < SLOTS; i++)
        kolk_block_free(&scene.slots[i].block);
    kolk_block *all = new_block(scene.pool, PAGES * PAGE, scene.streams[0]);
    kolk_block_free(&all);
    drop_pool(&scene.pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&scene.streams[i]);
}

START_TEST(no_request_fails_within_the_limit_that_fits)
{
    if (!is_plain(_i))
        for (uint64_t seed = 1; seed <= 2; seed++)
            run(_i, (kolk_pool_config){.limit = PAGES * PAGE}, seed);
}
END_TEST

START_TEST(nor_when_memory_is_preferred)
{
    const kolk_pool_config config = {.limit = PAGES * PAGE,
                                     .policy = KOLK_PREFER_MEMORY};
    if (!is_plain(_i))
        for (uint64_t seed = 11; seed <= 12; seed++)
            run(_i, config, seed);
}
END_TEST

/* Another pool holds the rest, so that the device is what refuses. */
START_TEST(nor_on_a_device_that_is_full)
{
    if (is_plain(_i))
        return;
    kolk_pool *rest = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = new_block(rest, ROW_CAPACITY - PAGES * PAGE, NULL);
    for (uint64_t seed = 21; seed <= 22; seed++)
        run(_i, (kolk_pool_config){.policy = seed % 2 ? KOLK_PREFER_MEMORY : 0}, seed);
    kolk_block_free(&block);
    drop_pool(&rest);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        no_request_fails_within_the_limit_that_fits,
        nor_when_memory_is_preferred,
        nor_on_a_device_that_is_full,
    };
    return rows_run(variants_suite("pool fits", tests, sizeof tests / sizeof *tests));
}
