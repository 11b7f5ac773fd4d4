/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Random work on a pool, checked after every step: on the emulator the oracle
 * sees every touch that is not ordered. */

#include "rows.h"
#include "work.h"
#include <kolk/stats.h>
#include <stdlib.h>

enum { SLOTS = 200, STREAMS = 4, STEPS = 3000 };

struct slot {
    kolk_block *block;
    int stream; /* it was allocated for */
};

struct storm {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    struct slot slots[SLOTS];
    uint64_t seed;
};

static uint64_t draw(struct storm *storm, uint64_t below)
{
    storm->seed = storm->seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (storm->seed >> 33) % below;
}

static size_t draw_size(struct storm *storm)
{
    const uint64_t most = UINT64_C(1) << (8 + draw(storm, 15));
    return (size_t)draw(storm, most) + 1;
}

/* Work on a block, as a caller would queue it. */
static void touch(struct storm *storm, const struct slot *slot, int stream)
{
    ck_assert_ok(kolk_fill_queue(storm->streams[stream], kolk_block_data(slot->block),
                                 stream, kolk_block_size(slot->block)));
}

static void allocate(struct storm *storm, struct slot *slot)
{
    slot->stream = (int)draw(storm, STREAMS);
    const kolk_status status = kolk_block_alloc(
        storm->pool, draw_size(storm), storm->streams[slot->stream], &slot->block);
    if (status == KOLK_OK)
        touch(storm, slot, slot->stream);
    else
        ck_assert_int_eq(status, KOLK_OUT_OF_MEMORY);
}

/* Uses a block on another stream after ordering it behind the first. */
static void share(struct storm *storm, struct slot *slot)
{
    kolk_event *event KOLK_AUTO(kolk_event_destroy) =
        new_event(kolk_pool_device(storm->pool));
    const int other = (int)draw(storm, STREAMS);
    ck_assert_ok(kolk_event_record(event, storm->streams[slot->stream]));
    ck_assert_ok(kolk_stream_wait(storm->streams[other], event));
    ck_assert_ok(kolk_block_record(slot->block, storm->streams[other]));
    touch(storm, slot, other);
    if (draw(storm, 2))
        kolk_block_free_on(&slot->block, storm->streams[other]);
    else
        kolk_block_free(&slot->block);
}

static void let_time_pass(struct storm *storm)
{
#ifdef KOLK_TESTS_EMULATED
    emu_shuffle(draw(storm, 8));
#endif
    if (draw(storm, 50) == 0)
        ck_assert_ok(kolk_stream_synchronize(storm->streams[draw(storm, STREAMS)]));
    if (draw(storm, 200) == 0)
        kolk_pool_trim(storm->pool, (size_t)draw(storm, 32) << 20);
    if (draw(storm, 100) == 0) {
        kolk_stream **const stream = &storm->streams[draw(storm, STREAMS)];
        const kolk_device device = kolk_pool_device(storm->pool);
        ck_assert_ok(kolk_stream_synchronize(*stream));
        for (int i = 0; i < SLOTS; i++)
            if (storm->streams[storm->slots[i].stream] == *stream)
                kolk_block_free(&storm->slots[i].block);
        kolk_stream_destroy(stream);
        *stream = new_stream(device);
    }
}

static void step(struct storm *storm)
{
    struct slot *const slot = &storm->slots[draw(storm, SLOTS)];
    if (!slot->block)
        allocate(storm, slot);
    else if (draw(storm, 3) == 0)
        share(storm, slot);
    else
        kolk_block_free(&slot->block);
    let_time_pass(storm);
    ck_assert_ok(kolk_pool_check(storm->pool));
}

static void run(int row, const kolk_pool_config *config)
{
    struct storm storm = {.seed = (uint64_t)row + 1};
    ck_assert_ok(kolk_pool_create(row_device(row), config, &storm.pool));
    for (int i = 0; i < STREAMS; i++)
        storm.streams[i] = new_stream(row_device(row));
    for (int i = 0; i < STEPS; i++)
        step(&storm);
    for (int i = 0; i < SLOTS; i++)
        kolk_block_free(&storm.slots[i].block);
    const kolk_pool_stats stats = kolk_pool_stats_of(storm.pool);
    ck_assert_uint_eq(stats.allocated.current, 0);
    kolk_pool_trim(storm.pool, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(storm.pool).reserved.current, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(storm.pool).active.current, 0);
    ck_assert_ok(kolk_pool_check(storm.pool));
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&storm.streams[i]);
    kolk_pool_destroy(&storm.pool);
#ifdef KOLK_TESTS_EMULATED
    ck_assert(emu_objects_equal(emu_objects_now(), (emu_objects){0}));
#endif
}

START_TEST(nothing_overlaps_and_every_identity_holds)
{
    run(_i, NULL);
}
END_TEST

START_TEST(so_it_is_when_memory_is_short)
{
    run(_i, &(kolk_pool_config){.limit = 24 << 20});
}
END_TEST

START_TEST(so_it_is_when_memory_is_preferred_to_speed)
{
    run(_i, &(kolk_pool_config){.limit = 24 << 20, .policy = KOLK_PREFER_MEMORY});
}
END_TEST

START_TEST(so_it_is_with_plain_segments)
{
    run(_i, &(kolk_pool_config){.limit = 32 << 20, .no_pages = true});
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("pool storm");
    TCase *const tcase = tcase_create("storm");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, nothing_overlaps_and_every_identity_holds, rows_begin(),
                        rows_end());
    tcase_add_loop_test(tcase, so_it_is_when_memory_is_short, rows_begin(), rows_end());
    tcase_add_loop_test(tcase, so_it_is_when_memory_is_preferred_to_speed, rows_begin(),
                        rows_end());
    tcase_add_loop_test(tcase, so_it_is_with_plain_segments, rows_begin(), rows_end());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
