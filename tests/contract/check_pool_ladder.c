/* SPDX-License-Identifier: MIT */

/* The out-of-memory ladder: each rung alone, the callback, and what of other
 * allocators' histories a ladder must not repeat. */

#include "pool_rig.h"
#include <pthread.h>
#ifdef KOLK_TESTS_EMULATED
#include <kolk/cuda.h>
#endif

enum { A, B, C, STREAMS, EVERY_RUNG = 0x5f /* all but the callback */ };

struct rig {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    kolk_block *spare; /* for callbacks */
    int asked;
    kolk_oom seen;
};

static void set_up(struct rig *rig, int variant, kolk_pool_config config)
{
    *rig = (struct rig){.pool = new_pool(variant, config)};
    for (int i = 0; i < STREAMS; i++)
        rig->streams[i] = new_stream(kolk_pool_device(rig->pool));
}

static void tear_down(struct rig *rig)
{
    drop_pool(&rig->pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&rig->streams[i]);
}

static kolk_block *take(struct rig *rig, size_t size, int stream)
{
    kolk_block *const block = new_block(rig->pool, size, rig->streams[stream]);
    use(block, rig->streams[stream]);
    return block;
}

static void take_and_free(struct rig *rig, size_t size, int stream)
{
    kolk_block *block = take(rig, size, stream);
    kolk_block_free(&block);
}

static void refuse(struct rig *rig, size_t size)
{
    kolk_block *block = NULL;
    ck_assert_fails(kolk_block_alloc(rig->pool, size, rig->streams[A], &block),
                    KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_null(block);
}

/* Calls that take memory from the driver, whichever kind the pool makes. */
static uint64_t taken(const kolk_pool *pool)
{
    return calls(pool, KOLK_CALL_PAGE_CREATE) + calls(pool, KOLK_CALL_MEMORY_ALLOC);
}

static uint64_t host_waits(const kolk_pool *pool)
{
    return calls(pool, KOLK_CALL_EVENT_SYNCHRONIZE) +
           calls(pool, KOLK_CALL_DEVICE_SYNCHRONIZE);
}

START_TEST(a_pool_with_room_grows_and_retries_nothing)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    take_and_free(&rig, 2 * MIB, A);
    const kolk_pool_stats stats = kolk_pool_stats_of(rig.pool);
    ck_assert_uint_eq(stats.misses, 1);
    ck_assert_uint_eq(stats.hits + stats.retries + stats.ooms, 0);
    ck_assert_uint_eq(taken(rig.pool), 1);
    tear_down(&rig);
}
END_TEST

START_TEST(a_full_pool_orders_a_stream_behind_another)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 2 * MIB});
    take_and_free(&rig, 2 * MIB, A);
    take_and_free(&rig, 2 * MIB, B);
    const kolk_pool_stats stats = kolk_pool_stats_of(rig.pool);
    ck_assert_uint_eq(stats.cross_stream_waits, is_lazy(_i) ? 1 : 0);
    ck_assert_uint_eq(stats.retries, is_lazy(_i) ? 1 : 0);
    ck_assert_uint_eq(host_waits(rig.pool), 0);
    ck_assert_uint_eq(taken(rig.pool), 1);
    tear_down(&rig);
}
END_TEST

START_TEST(idle_pages_are_moved_to_where_they_are_needed)
{
    struct rig rig;
    kolk_block *blocks[4];
    set_up(&rig, _i, (kolk_pool_config){.limit = 8 * MIB});
    for (int i = 0; i < 4; i++)
        blocks[i] = take(&rig, 2 * MIB, A);
    kolk_block_free(&blocks[0]);
    kolk_block_free(&blocks[2]);
    ck_assert_ok(kolk_stream_synchronize(rig.streams[A]));
    const uint64_t before = taken(rig.pool);
    take_and_free(&rig, 4 * MIB, A);
    ck_assert_uint_eq(taken(rig.pool), before + (is_plain(_i) ? 1 : 0));
    if (!is_plain(_i))
        ck_assert_uint_eq(calls(rig.pool, KOLK_CALL_PAGE_UNMAP), 2);
    ck_assert_uint_eq(host_waits(rig.pool), 0);
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).retries, 1);
    kolk_block_free(&blocks[1]);
    kolk_block_free(&blocks[3]);
    tear_down(&rig);
}
END_TEST

/* What A freed is busy, so that its pages cannot move; and C, which uses memory
 * too but has freed none, never ends: to wait for it would be to wait for ever. */
START_TEST(the_host_waits_for_no_more_than_it_needs)
{
    struct rig rig;
    kolk_block *blocks[4];
    set_up(&rig, _i, (kolk_pool_config){.limit = 8 * MIB});
    take_and_free(&rig, 2 * MIB, C);
    ck_assert_ok(kolk_stream_synchronize(rig.streams[C]));
    for (int i = 0; i < 4; i++)
        blocks[i] = take(&rig, 2 * MIB, i == 3 ? C : A);
    kolk_block_free(&blocks[0]);
    kolk_block_free(&blocks[2]);
    hold(rig.streams[C], true);
    kolk_block *block = new_block(rig.pool, 4 * MIB, rig.streams[A]);
    hold(rig.streams[C], false);
    kolk_block_free(&block);
    kolk_block_free(&blocks[1]);
    kolk_block_free(&blocks[3]);
    tear_down(&rig);
}
END_TEST

START_TEST(a_failure_has_taken_every_rung)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 4 * MIB});
    refuse(&rig, 5 * MIB);
    ck_assert_uint_eq(kolk_last_oom()->rungs, EVERY_RUNG);
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).ooms, 1);
    ck_assert_uint_eq(host_waits(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

START_TEST(preferring_memory_reuses_before_it_grows)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.policy = KOLK_PREFER_MEMORY});
    for (int i = 0; i < 9; i++)
        take_and_free(&rig, 2 * MIB, i % STREAMS);
    ck_assert_uint_eq(reserved(rig.pool), 2 * MIB);
    ck_assert_uint_eq(host_waits(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

/* ---- the callback ---- */

static bool count_only(kolk_pool *pool, const kolk_oom *oom, void *argument)
{
    struct rig *const rig = argument;
    ck_assert_ptr_eq(pool, rig->pool);
    rig->seen = *oom;
    rig->asked++;
    return true;
}

static bool free_spare(kolk_pool *pool, const kolk_oom *oom, void *argument)
{
    struct rig *const rig = argument;
    kolk_block *small = NULL;
    (void)count_only(pool, oom, rig);
    const bool had = rig->spare != NULL;
    kolk_block_free(&rig->spare);
    ck_assert_ok(kolk_block_alloc(pool, 100, rig->streams[B], &small)); /* re-enters */
    kolk_block_free(&small);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_pool_trim(pool, 0);
    return had;
}

static bool give_up(kolk_pool *pool, const kolk_oom *oom, void *argument)
{
    (void)count_only(pool, oom, argument);
    return false;
}

/* AMReX #4478, rmm failure callbacks, cupy #1256: what a callback frees serves. */
START_TEST(the_callback_may_free_trim_and_allocate)
{
    struct rig rig;
    set_up(&rig, _i,
           (kolk_pool_config){
               .limit = 12 * MIB, .on_oom = free_spare, .on_oom_arg = &rig});
    rig.spare = take(&rig, 6 * MIB, A);
    kolk_block *block = take(&rig, 8 * MIB, A);
    ck_assert_int_eq(rig.asked, 1);
    ck_assert_uint_eq(rig.seen.requested, 8 * MIB);
    ck_assert_uint_eq(rig.seen.limit, 12 * MIB);
    ck_assert_uint_eq(rig.seen.allocated, 6 * MIB);
    ck_assert_uint_eq(rig.seen.rungs >> KOLK_RUNG_WAIT, 0);
    ck_assert_uint_ne(rig.seen.rungs & 1U << KOLK_RUNG_CALLBACK, 0);
    kolk_block_free(&block);
    tear_down(&rig);
}
END_TEST

START_TEST(the_callback_is_asked_8_times_at_most)
{
    struct rig rig;
    set_up(
        &rig, _i,
        (kolk_pool_config){.limit = 4 * MIB, .on_oom = count_only, .on_oom_arg = &rig});
    refuse(&rig, 6 * MIB);
    ck_assert_int_eq(rig.asked, 8);
    ck_assert_uint_eq(kolk_last_oom()->rungs, 0x7f);
    tear_down(&rig);
}
END_TEST

static bool ask_for_too_much(kolk_pool *pool, const kolk_oom *oom, void *argument)
{
    struct rig *const rig = argument;
    (void)count_only(pool, oom, rig);
    refuse(rig, oom->requested + MIB);
    return rig->asked < 3;
}

/* It would never end. */
START_TEST(what_a_callback_asks_for_does_not_ask_it_again)
{
    struct rig rig;
    set_up(&rig, _i,
           (kolk_pool_config){
               .limit = 4 * MIB, .on_oom = ask_for_too_much, .on_oom_arg = &rig});
    refuse(&rig, 6 * MIB);
    ck_assert_int_eq(rig.asked, 3);
    ck_assert_uint_eq(kolk_last_oom()->requested, 6 * MIB);
    ck_assert_uint_eq(kolk_last_oom()->rungs, 0x7f);
    tear_down(&rig);
}
END_TEST

static void *change_something(void *pool)
{
    kolk_block *block = new_block(pool, 100, NULL);
    kolk_block_free(&block);
    kolk_pool_trim(pool, 0);
    return NULL;
}

static bool let_another_thread_change(kolk_pool *pool, const kolk_oom *oom,
                                      void *argument)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, change_something, pool), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return count_only(pool, oom, argument);
}

START_TEST(nor_is_it_asked_more_often_while_other_threads_change_the_pool)
{
    struct rig rig;
    set_up(&rig, _i,
           (kolk_pool_config){.limit = 4 * MIB,
                              .on_oom = let_another_thread_change,
                              .on_oom_arg = &rig});
    refuse(&rig, 6 * MIB);
    ck_assert_int_eq(rig.asked, 8);
    tear_down(&rig);
}
END_TEST

START_TEST(a_callback_that_says_no_is_asked_once)
{
    struct rig rig;
    set_up(&rig, _i,
           (kolk_pool_config){.limit = 4 * MIB, .on_oom = give_up, .on_oom_arg = &rig});
    refuse(&rig, 6 * MIB);
    ck_assert_int_eq(rig.asked, 1);
    take_and_free(&rig, 4 * MIB, A);
    ck_assert_int_eq(rig.asked, 1);
    tear_down(&rig);
}
END_TEST

/* ---- histories ---- */

/* pytorch #35901: small blocks poach a big segment. */
START_TEST(a_small_block_in_a_big_gap_does_not_make_the_next_big_one_fail)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 50 * MIB});
    take_and_free(&rig, 40 * MIB, A);
    kolk_block *poacher = take(&rig, 6 * MIB, A);
    if (is_plain(_i)) {
        refuse(&rig, 40 * MIB);
        ck_assert_uint_eq(kolk_last_oom()->largest_free, 34 * MIB);
        ck_assert_uint_eq(kolk_last_oom()->reserved, 40 * MIB);
    } else {
        take_and_free(&rig, 40 * MIB, A);
    }
    kolk_block_free(&poacher);
    tear_down(&rig);
}
END_TEST

static uint64_t after_both(struct rig *rig, size_t first, int m, size_t second, int n)
{
    kolk_block *blocks[8];
    for (int i = 0; i < m; i++)
        blocks[i] = take(rig, first, A);
    for (int i = 0; i < m; i++)
        kolk_block_free(&blocks[i]);
    for (int i = 0; i < n; i++)
        blocks[i] = take(rig, second, A);
    for (int i = 0; i < n; i++)
        kolk_block_free(&blocks[i]);
    return reserved(rig->pool);
}

/* The order in which sizes come decided what was reserved: 256 MiB or 128. */
START_TEST(the_order_of_sizes_hardly_matters)
{
    for (int reverse = 0; reverse < 2 && !is_plain(_i); reverse++) {
        struct rig rig;
        set_up(&rig, _i, (kolk_pool_config){0});
        const uint64_t bytes = reverse ? after_both(&rig, 4 * MIB, 4, 2 * MIB, 8)
                                       : after_both(&rig, 2 * MIB, 8, 4 * MIB, 4);
        ck_assert_uint_eq(bytes, 16 * MIB);
        tear_down(&rig);
    }
}
END_TEST

/* A request smaller than what is free already cost 20 MiB more. */
START_TEST(a_request_that_shrinks_reserves_no_more)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    take_and_free(&rig, 4 * MIB, A);
    for (size_t size = 4 * MIB; size >= 256; size /= 2) {
        take_and_free(&rig, size, A);
        ck_assert_uint_eq(reserved(rig.pool), 4 * MIB);
    }
    tear_down(&rig);
}
END_TEST

/* pytorch #189504: out of memory, though the same call succeeds when repeated. */
START_TEST(what_comes_back_while_climbing_is_found)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 10 * MIB});
    take_and_free(&rig, 9 * MIB, A);
    kolk_block *pin = take(&rig, 2 * MIB, A);
    kolk_block *block = take(&rig, 6 * MIB, A);
    const uint64_t before = taken(rig.pool);
    order(rig.streams[B], rig.streams[A]);
    use(block, rig.streams[B]);
    ck_assert_ok(kolk_block_record(block, rig.streams[B]));
    kolk_block_free(&block);
    take_and_free(&rig, 6 * MIB, A);
    ck_assert_uint_eq(taken(rig.pool), before);
    kolk_block_free(&pin);
    tear_down(&rig);
}
END_TEST

/* pytorch #19222, rmm #1245: pending blocks were not waited for. */
START_TEST(pending_blocks_are_waited_for_before_failing)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 20 * MIB});
    for (int i = 0; i < 100; i++) {
        kolk_block *block = take(&rig, 4 * MIB, A);
        order(rig.streams[B], rig.streams[A]);
        use(block, rig.streams[B]);
        ck_assert_ok(kolk_block_record(block, rig.streams[B]));
        kolk_block_free(&block);
    }
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).ooms, 0);
    tear_down(&rig);
}
END_TEST

/* pytorch #31252: recovery after a caught out-of-memory. */
START_TEST(after_a_failure_the_pool_goes_on)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_block *live = take(&rig, 4 * MIB, A);
    for (int i = 0; i < 20; i++) {
        const kolk_pool_stats before = kolk_pool_stats_of(rig.pool);
        refuse(&rig, 5 * MIB);
        assert_unmoved(rig.pool, &before);
        take_and_free(&rig, KIB, i % STREAMS);
        ck_assert_ok(kolk_pool_check(rig.pool));
    }
    kolk_block_free(&live);
    take_and_free(&rig, 8 * MIB, A);
    tear_down(&rig);
}
END_TEST

/* ORT #6145: back-off without end when the driver always refuses. */
START_TEST(a_device_that_is_full_is_asked_few_times)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    const uint64_t before = kolk_pool_driver_calls(rig.pool);
    refuse(&rig, ROW_CAPACITY + 2 * MIB);
    ck_assert_uint_le(kolk_pool_driver_calls(rig.pool) - before, 192U);
    ck_assert_int_ne(kolk_last_oom()->native, 0);
    tear_down(&rig);
}
END_TEST

/* rmm #2039: storms on many streams left the pool in pieces. */
START_TEST(after_a_storm_on_all_streams_the_whole_pool_is_one_piece_again)
{
    struct rig rig;
    enum { COUNT = 90 };
    kolk_block *blocks[COUNT];
    set_up(&rig, _i, (kolk_pool_config){.limit = 32 * MIB});
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = take(&rig, (i * 7919) % (300 * KIB) + 1, (int)i % STREAMS);
    for (size_t i = 0; i < COUNT; i++)
        kolk_block_free(&blocks[(i * 7) % COUNT]);
    take_and_free(&rig, 32 * MIB, B);
    tear_down(&rig);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_pool_with_room_grows_and_retries_nothing,
        a_full_pool_orders_a_stream_behind_another,
        idle_pages_are_moved_to_where_they_are_needed,
        the_host_waits_for_no_more_than_it_needs,
        a_failure_has_taken_every_rung,
        preferring_memory_reuses_before_it_grows,
        the_callback_may_free_trim_and_allocate,
        the_callback_is_asked_8_times_at_most,
        what_a_callback_asks_for_does_not_ask_it_again,
        nor_is_it_asked_more_often_while_other_threads_change_the_pool,
        a_callback_that_says_no_is_asked_once,
        a_small_block_in_a_big_gap_does_not_make_the_next_big_one_fail,
        the_order_of_sizes_hardly_matters,
        a_request_that_shrinks_reserves_no_more,
        what_comes_back_while_climbing_is_found,
        pending_blocks_are_waited_for_before_failing,
        after_a_failure_the_pool_goes_on,
        a_device_that_is_full_is_asked_few_times,
        after_a_storm_on_all_streams_the_whole_pool_is_one_piece_again,
    };
    return rows_run(variants_suite("pool ladder", tests, sizeof tests / sizeof *tests));
}
