/* SPDX-License-Identifier: MIT */

/* Peaks: those of the pool's life beside those of scopes, and starting anew. */

#include "pool_rig.h"

static void rise_to(kolk_pool *pool, size_t bytes)
{
    kolk_block *block = new_block(pool, bytes, NULL);
    kolk_block_free(&block);
}

START_TEST(an_open_scope_leaves_the_peaks_of_the_pools_life)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_peaks inner;
    rise_to(pool, 4 * MIB);
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    ck_assert_uint_eq(before.requested.peak, 4 * MIB);
    for (int depth = 0; depth < 2; depth++) {
        ck_assert_ok(kolk_pool_peak_begin(pool));
        rise_to(pool, (1 + (size_t)depth) * MIB);
        const kolk_pool_stats now = kolk_pool_stats_of(pool);
        ck_assert_uint_eq(now.requested.peak, before.requested.peak);
        ck_assert_uint_eq(now.allocated.peak, before.allocated.peak);
        ck_assert_uint_eq(now.active.peak, before.active.peak);
        ck_assert_uint_eq(now.reserved.peak, before.reserved.peak);
    }
    ck_assert_ok(kolk_pool_peak_end(pool, &inner));
    ck_assert_uint_eq(inner.requested, 2 * MIB);
    ck_assert_ok(kolk_pool_peak_end(pool, &inner));
    ck_assert_uint_eq(inner.requested, 2 * MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.peak, 4 * MIB);
    drop_pool(&pool);
}
END_TEST

START_TEST(peaks_that_start_anew_do_not_come_back_with_a_scopes_end)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_peaks inner;
    kolk_block *live = new_block(pool, MIB, NULL);
    rise_to(pool, 4 * MIB);
    ck_assert_ok(kolk_pool_peak_begin(pool));
    rise_to(pool, 3 * MIB);
    kolk_pool_reset_peaks(pool);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.peak, MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).blocks.peak, 1);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).tags[KOLK_TAG_OTHER].peak, MIB);
    ck_assert_ok(kolk_pool_peak_end(pool, &inner));
    ck_assert_uint_eq(inner.requested, MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.peak, MIB);
    kolk_block_free(&live);
    drop_pool(&pool);
}
END_TEST

START_TEST(a_request_that_fails_raises_no_peak)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_block *block = NULL;
    rise_to(pool, 2 * MIB);
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    ck_assert_fails(kolk_block_alloc(pool, 9 * MIB, NULL, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).reserved.peak, before.reserved.peak);
    assert_unmoved(pool, &before);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_open_scope_leaves_the_peaks_of_the_pools_life,
        peaks_that_start_anew_do_not_come_back_with_a_scopes_end,
        a_request_that_fails_raises_no_peak,
    };
    return rows_run(variants_suite("pool peaks", tests, sizeof tests / sizeof *tests));
}
