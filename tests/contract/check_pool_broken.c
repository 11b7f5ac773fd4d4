/* SPDX-License-Identifier: MIT */

/* A device that breaks under a pool: every call ends, says why, and leaves the
 * books in order, and the pool can be let go. */

#include "pool_rig.h"

#ifdef KOLK_TESTS_EMULATED

static void every_call_ends(kolk_pool *pool, kolk_stream **streams, int code)
{
    kolk_block *block = NULL;
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    ck_assert_fails(kolk_block_alloc(pool, 20 * MIB, streams[0], &block), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, code);
    ck_assert_ptr_null(block);
    ck_assert_ptr_null(kolk_malloc(pool, 20 * MIB, streams[1]));
    assert_unmoved(pool, &before);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_pool_trim(pool, 0);
    ck_assert_ok(kolk_pool_check(pool));
}

static void break_with(int variant, int code)
{
    kolk_pool *pool = new_pool(variant, (kolk_pool_config){.limit = 40 * MIB});
    kolk_stream *streams[2] = {new_stream(kolk_pool_device(pool)),
                               new_stream(kolk_pool_device(pool))};
    kolk_block *blocks[6];
    for (int i = 0; i < 6; i++) {
        blocks[i] = new_block(pool, 2 * MIB, streams[i % 2]);
        use(blocks[i], streams[i % 2]);
    }
    ck_assert_ok(kolk_block_record(blocks[0], streams[1]));
    kolk_block_free(&blocks[1]);
    emu_break(code);
    kolk_block_free(&blocks[0]);
    kolk_block_free_on(&blocks[2], streams[1]);
    every_call_ends(pool, streams, code);
    kolk_block_free(&blocks[3]);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).blocks.current, 2);
    kolk_pool_destroy(&pool);
    kolk_block_free(&blocks[4]);
    kolk_stream_destroy(&streams[1]);
    kolk_block_free_on(&blocks[5], streams[0]);
    kolk_stream_destroy(&streams[0]);
    emu_break(0);
    rows_start(); /* what the device took along */
}

START_TEST(an_unloading_driver_ends_every_call)
{
    break_with(_i, 4);
}
END_TEST

START_TEST(a_broken_context_ends_every_call)
{
    break_with(_i, 700);
}
END_TEST

START_TEST(a_destroyed_context_ends_every_call)
{
    break_with(_i, 709);
}
END_TEST

#endif

int main(void)
{
    Suite *const suite = suite_create("pool broken");
#ifdef KOLK_TESTS_EMULATED
    TCase *const tcase = tcase_create("device");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, an_unloading_driver_ends_every_call, 2, variants_end());
    tcase_add_loop_test(tcase, a_broken_context_ends_every_call, 2, variants_end());
    tcase_add_loop_test(tcase, a_destroyed_context_ends_every_call, 2, variants_end());
    suite_add_tcase(suite, tcase);
#endif
    return rows_run(suite);
}
