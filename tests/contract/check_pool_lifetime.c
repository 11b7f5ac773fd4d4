/* SPDX-License-Identifier: MIT */

/* The end of things: pools before their blocks, processes before their pools,
 * children of a fork, and a driver that has gone. */

#include "child.h"
#include "pool_rig.h"
#include <pthread.h>

/* UMF, rmm's life-cycle test: a block that outlives its pool. */
START_TEST(blocks_outlive_the_owners_hold_on_the_pool)
{
    kolk_stream *stream = new_stream(row_device(_i / 2));
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *blocks[20];
    for (size_t i = 0; i < 20; i++)
        blocks[i] = new_block(pool, 1 + i * 200 * KIB, stream);
    kolk_pool_destroy(&pool);
    ck_assert_ptr_null(pool);
    for (size_t i = 0; i < 20; i++) {
        use(blocks[i], stream);
        ck_assert_uint_eq(kolk_block_size(blocks[i]), 1 + i * 200 * KIB);
    }
    for (size_t i = 0; i < 20; i++)
        kolk_block_free(&blocks[(i * 7) % 20]);
    kolk_stream_destroy(&stream);
}
END_TEST

/* vllm #46050: teardown in every order. */
START_TEST(pool_block_and_stream_may_end_in_any_order)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
        kolk_stream *stream = new_stream(kolk_pool_device(pool));
        kolk_block *block = new_block(pool, 3 * MIB, stream);
        use(block, stream);
        for (int k = 0; k < 3; k++)
            if (orders[i][k] == 0)
                kolk_pool_destroy(&pool);
            else if (orders[i][k] == 1)
                kolk_block_free(&block);
            else
                kolk_stream_destroy(&stream);
    }
}
END_TEST

START_TEST(a_hundred_streams_come_work_and_go)
{
    enum { COUNT = 100 };
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 16 * MIB});
    kolk_stream *streams[COUNT];
    for (int i = 0; i < COUNT; i++)
        streams[i] = new_stream(kolk_pool_device(pool));
    for (int i = 0; i < 3 * COUNT; i++) {
        kolk_block *block = new_block(pool, i % 4 ? 3000 : 2 * MIB, streams[i % COUNT]);
        use(block, streams[i % COUNT]);
        kolk_block_free_on(&block, streams[i % COUNT]);
        if (i % 50 == 0)
            ck_assert_ok(kolk_pool_check(pool));
    }
    for (int i = 0; i < COUNT; i++)
        kolk_stream_destroy(&streams[i]);
    ck_assert_ok(kolk_pool_check(pool));
    drop_pool(&pool);
}
END_TEST

/* rmm #757: native objects that were never destroyed. */
START_TEST(a_thousand_pools_leave_nothing)
{
    const size_t before = kolk_bookkeeping_size();
    for (int i = 0; i < 1000; i++) {
        kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
        kolk_block *block = new_block(pool, 100 * KIB, NULL);
        kolk_block_free(&block);
        kolk_pool_destroy(&pool);
    }
    ck_assert_uint_le(kolk_bookkeeping_size(), before + 4 * MIB);
}
END_TEST

/* pytorch #25752: a call for one device touched another. B4, B5, F6. */
#ifdef KOLK_TESTS_EMULATED
START_TEST(the_current_device_is_the_same_after_every_call)
{
    const int other = 2 - _i / 2;
    int now = -1;
    ck_assert_int_eq(cudaSetDevice(other), 0);
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 4 * MIB});
    kolk_stream *streams[2] = {new_stream(kolk_pool_device(pool)),
                               new_stream(kolk_pool_device(pool))};
    kolk_block *refused = NULL;
    for (int i = 0; i < 6; i++) {
        kolk_block *block = new_block(pool, 3 * MIB, streams[i % 2]);
        use(block, streams[i % 2]);
        ck_assert_ok(kolk_block_record(block, streams[(i + 1) % 2]));
        kolk_block_free(&block);
        ck_assert_fails(kolk_block_alloc(pool, 9 * MIB, NULL, &refused),
                        KOLK_OUT_OF_MEMORY);
        ck_assert_int_eq(cudaPeekAtLastError(), 0); /* no sticky error is left */
        ck_assert_int_eq(cudaGetDevice(&now), 0);
        ck_assert_int_eq(now, other);
    }
    kolk_pool_trim(pool, 0);
    ck_assert_uint_eq(emu_memory_used(other), 0);
    for (int i = 0; i < 2; i++)
        kolk_stream_destroy(&streams[i]);
    drop_pool(&pool);
    ck_assert_int_eq(cudaGetDevice(&now), 0);
    ck_assert_int_eq(now, other);
}
END_TEST

/* rmm #2202, #2366: the driver unloads before the pools that are statics. */
START_TEST(a_driver_that_is_unloading_is_no_reason_to_crash)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = new_block(pool, 3 * MIB, NULL);
    kolk_block *live = new_block(pool, 300, NULL);
    kolk_block_free(&block);
    emu_break(4);
    kolk_pool_trim(pool, 0);
    kolk_pool_destroy(&pool);
    kolk_block_free(&live);
    emu_break(0);
    rows_start(); /* what the driver took along */
}
END_TEST
#endif

/* ---- forks and exits ---- */

static kolk_pool *static_pool;
static kolk_block *static_block;
static bool is_host;

static bool use_in_child(void)
{
    kolk_block *block = NULL;
    const kolk_status status = kolk_block_alloc(static_pool, 70000, NULL, &block);
    const kolk_status expected = is_host ? KOLK_OK : KOLK_DEVICE;
    kolk_block_free(&block);
    kolk_block_free(&static_block);
    kolk_pool_trim(static_pool, 0);
    kolk_pool_destroy(&static_pool);
    return status == expected;
}

static bool exit_with_live_pools(void)
{
    return true;
}

/* pytorch #190708: the child of a fork. The host works on, a device is refused. */
START_TEST(a_child_works_on_the_host_and_touches_no_device)
{
    is_host = !is_lazy(_i);
    static_pool = new_pool(_i, (kolk_pool_config){0});
    static_block = new_block(static_pool, 5000, NULL);
    ck_assert(child_succeeds(use_in_child));
    ck_assert(child_succeeds(exit_with_live_pools));
    ck_assert_ok(kolk_pool_check(static_pool));
    kolk_block_free(&static_block);
    drop_pool(&static_pool);
}
END_TEST

static bool make_pools_and_exit(void)
{
    rows_start();
    for (int i = 0; i < variants_end(); i++) {
        static_pool = new_pool(i, (kolk_pool_config){0});
        static_block = new_block(static_pool, 5000, NULL);
    }
    return true;
}

START_TEST(a_process_may_exit_with_live_pools_and_blocks)
{
    ck_assert(child_succeeds(make_pools_and_exit));
}
END_TEST

/* rmm 1d039ff4: events of a thread that has gone. */
static void *free_and_leave(void *argument)
{
    kolk_block *block = argument;
    kolk_block_free(&block);
    return NULL;
}

START_TEST(a_thread_may_end_with_its_frees_pending)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 4 * MIB});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        kolk_block *block = new_block(pool, 3 * MIB, i % 2 ? stream : NULL);
        if (i % 2)
            use(block, stream);
        ck_assert_int_eq(pthread_create(&thread, NULL, free_and_leave, block), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
    }
    kolk_stream_destroy(&stream);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        blocks_outlive_the_owners_hold_on_the_pool,
        pool_block_and_stream_may_end_in_any_order,
        a_hundred_streams_come_work_and_go,
        a_thousand_pools_leave_nothing,
        a_child_works_on_the_host_and_touches_no_device,
        a_process_may_exit_with_live_pools_and_blocks,
        a_thread_may_end_with_its_frees_pending,
    };
    Suite *const suite =
        variants_suite("pool lifetime", tests, sizeof tests / sizeof *tests);
#ifdef KOLK_TESTS_EMULATED
    TCase *const tcase = tcase_create("devices");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, the_current_device_is_the_same_after_every_call, 2,
                        variants_end());
    tcase_add_loop_test(tcase, a_driver_that_is_unloading_is_no_reason_to_crash, 2,
                        variants_end());
    suite_add_tcase(suite, tcase);
#endif
    return rows_run(suite);
}
