/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* What a pool says about itself: identities, peaks, scopes, tags, calls, and the
 * steady state of a loop. */

#include "pool_rig.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STREAMS = 3 };

static void assert_stat(const kolk_stat *stat)
{
    ck_assert_uint_eq(stat->current, stat->allocated - stat->freed);
    ck_assert_uint_ge(stat->peak, stat->current);
}

static void assert_identities(kolk_pool *pool)
{
    const kolk_pool_stats now = kolk_pool_stats_of(pool);
    const kolk_stat *const all[] = {&now.requested, &now.allocated, &now.active,
                                    &now.reserved,  &now.blocks,    &now.segments};
    uint64_t tagged = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_stat(all[i]);
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++) {
        assert_stat(&now.tags[tag]);
        tagged += now.tags[tag].current;
    }
    ck_assert_uint_eq(tagged, now.requested.current);
    ck_assert_uint_le(now.requested.current, now.allocated.current);
    ck_assert_uint_le(now.allocated.current, now.active.current);
    ck_assert_uint_le(now.active.current, now.reserved.current);
    ck_assert_uint_eq(now.blocks.current, now.allocs - now.frees);
    ck_assert_uint_le(now.largest_free, now.reserved.current - now.active.current);
    ck_assert_uint_ge(now.address_space, now.reserved.current - now.unmapped);
    ck_assert_uint_eq(now.retired, 0);
    ck_assert_ok(kolk_pool_check(pool));
}

/* Umpire #831, cupy c7392d135: numbers that drift. */
START_TEST(identities_hold_after_every_step)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 20 * MIB});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_block *blocks[32] = {NULL};
    for (size_t i = 0; i < 500; i++) {
        kolk_block **const block = &blocks[i * 13 % 32];
        kolk_block_free(block);
        if (kolk_block_alloc(pool, (i * 2654435761U) % (3 * MIB) + 1,
                             i % 3 ? stream : NULL, block) != KOLK_OK)
            ck_assert_ptr_null(*block);
        if (*block && i % 5 == 0)
            ck_assert_ok(kolk_block_record(*block, i % 2 ? stream : NULL));
        assert_identities(pool);
    }
    for (int i = 0; i < 32; i++)
        kolk_block_free(&blocks[i]);
    assert_identities(pool);
    drop_pool(&pool);
    kolk_stream_destroy(&stream);
}
END_TEST

/* pytorch's host statistics: a sum of peaks instead of the peak of the sum. */
START_TEST(a_peak_is_the_highest_sum)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t size = MIB; size <= 2 * MIB; size += MIB) {
        kolk_block *block = new_block(pool, size, NULL);
        kolk_block_free(&block);
    }
    ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.peak, 2 * MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.peak, 2 * MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).blocks.peak, 1);
    kolk_pool_reset_peaks(pool);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.peak, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).reserved.peak, reserved(pool));
    drop_pool(&pool);
}
END_TEST

START_TEST(peaks_nest_in_scopes)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_peaks outer, inner;
    kolk_block *live = new_block(pool, MIB, NULL);
    ck_assert_ok(kolk_pool_peak_begin(pool));
    kolk_block *block = new_block(pool, 4 * MIB, NULL);
    kolk_block_free(&block);
    ck_assert_ok(kolk_pool_peak_begin(pool));
    block = new_block(pool, 2 * MIB, NULL);
    kolk_block_free(&block);
    ck_assert_ok(kolk_pool_peak_end(pool, &inner));
    ck_assert_ok(kolk_pool_peak_end(pool, &outer));
    ck_assert_uint_eq(inner.requested, 3 * MIB);
    ck_assert_uint_eq(outer.requested, 5 * MIB);
    ck_assert_uint_eq(outer.allocated, 5 * MIB);
    ck_assert_uint_ge(outer.reserved, outer.active);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.peak, 5 * MIB);
    kolk_block_free(&live);
    drop_pool(&pool);
}
END_TEST

START_TEST(sixteen_scopes_are_the_most)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    ck_assert_fails(kolk_pool_peak_end(pool, NULL), KOLK_INVALID_ARGUMENT);
    for (int i = 0; i < 16; i++)
        ck_assert_ok(kolk_pool_peak_begin(pool));
    ck_assert_fails(kolk_pool_peak_begin(pool), KOLK_OUT_OF_RANGE);
    for (int i = 0; i < 16; i++)
        ck_assert_ok(kolk_pool_peak_end(pool, NULL));
    ck_assert_fails(kolk_pool_peak_end(pool, NULL), KOLK_INVALID_ARGUMENT);
    drop_pool(&pool);
}
END_TEST

START_TEST(bytes_carry_the_tag_they_were_asked_for_with)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *blocks[KOLK_TAG_COUNT] = {NULL};
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++)
        ck_assert_ok(kolk_block_alloc_with(pool, 1000 + (size_t)tag,
                                           &(kolk_alloc_options){.tag = (kolk_tag)tag},
                                           NULL, &blocks[tag]));
    for (int tag = 0; tag < KOLK_TAG_COUNT; tag++) {
        ck_assert_uint_eq(kolk_pool_stats_of(pool).tags[tag].current,
                          1000 + (size_t)tag);
        kolk_block_free(&blocks[tag]);
        ck_assert_uint_eq(kolk_pool_stats_of(pool).tags[tag].current, 0);
    }
    kolk_block *none = NULL;
    const kolk_alloc_options bad = {.tag = (kolk_tag)KOLK_TAG_COUNT};
    ck_assert_fails(kolk_block_alloc_with(pool, 10, &bad, NULL, &none),
                    KOLK_INVALID_ARGUMENT);
    ck_assert_ptr_null(none);
    drop_pool(&pool);
}
END_TEST

START_TEST(driver_calls_are_counted_by_kind)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = new_block(pool, 6 * MIB, NULL);
    kolk_block_free(&block);
    kolk_pool_trim(pool, 0);
    const kolk_pool_stats now = kolk_pool_stats_of(pool);
    uint64_t sum = 0;
    for (int call = 0; call < KOLK_CALL_COUNT; call++) {
        ck_assert_str_ne(kolk_call_name((kolk_call)call), "?");
        ck_assert_uint_eq(now.calls[call].failed, 0);
        sum += now.calls[call].count;
    }
    ck_assert_uint_eq(sum, kolk_pool_driver_calls(pool));
    const kolk_call pairs[][2] = {{KOLK_CALL_PAGE_CREATE, KOLK_CALL_PAGE_RELEASE},
                                  {KOLK_CALL_PAGE_MAP, KOLK_CALL_PAGE_UNMAP},
                                  {KOLK_CALL_MEMORY_ALLOC, KOLK_CALL_MEMORY_FREE}};
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(now.calls[pairs[i][0]].count, now.calls[pairs[i][1]].count);
    ck_assert_uint_ne(now.calls[KOLK_CALL_PAGE_MAP].count +
                          now.calls[KOLK_CALL_MEMORY_ALLOC].count,
                      0);
    drop_pool(&pool);
}
END_TEST

/* ---- the steady state ---- */

/* One turn of a training loop: sizes up and down, on `streams` streams, some
 * used by two. */
static void turn(kolk_pool *pool, kolk_stream **streams, int count)
{
    static const size_t sizes[] = {300,     70 * KIB,  3 * MIB, 5000,
                                   2 * MIB, 900 * KIB, MIB + 7, 64};
    kolk_block *blocks[8];
    for (size_t i = 0; i < 8; i++) {
        blocks[i] = new_block(pool, sizes[i], streams[i % (size_t)count]);
        use(blocks[i], streams[i % (size_t)count]);
    }
    for (size_t i = 0; i < 8; i++)
        kolk_block_free(&blocks[7 - i]);
}

static void loop(int variant, int count)
{
    kolk_pool *pool = new_pool(variant, (kolk_pool_config){0});
    kolk_stream *streams[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        streams[i] = new_stream(kolk_pool_device(pool));
    turn(pool, streams, count);
    turn(pool, streams, count);
    const uint64_t made = kolk_pool_driver_calls(pool);
    const uint64_t bytes = reserved(pool);
    for (int i = 2; i < 1000; i++) {
        turn(pool, streams, count);
        ck_assert_uint_eq(reserved(pool), bytes);
    }
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), made);
    ck_assert_uint_ge(kolk_pool_stats_of(pool).hits, 998 * 8);
    drop_pool(&pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&streams[i]);
}

/* dorado #1358: replayed a thousand times, it still grew. */
START_TEST(a_loop_on_one_stream_makes_no_driver_call)
{
    loop(_i, 1);
}
END_TEST

START_TEST(a_loop_on_three_streams_makes_no_driver_call)
{
    loop(_i, STREAMS);
}
END_TEST

START_TEST(a_snapshot_is_written_or_the_path_named)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    char path[] = "pool-stats-XXXXXX";
    ck_assert_int_ge(mkstemp(path), 0);
    kolk_block *block = new_block(pool, 5000, NULL);
    ck_assert_ok(kolk_pool_snapshot_write(pool, path));
    ck_assert_int_eq(remove(path), 0);
    ck_assert_fails(kolk_pool_snapshot_write(pool, "no/such/folder"), KOLK_IO);
    ck_assert_message("no/such/folder");
    kolk_block_free(&block);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        identities_hold_after_every_step,
        a_peak_is_the_highest_sum,
        peaks_nest_in_scopes,
        sixteen_scopes_are_the_most,
        bytes_carry_the_tag_they_were_asked_for_with,
        driver_calls_are_counted_by_kind,
        a_loop_on_one_stream_makes_no_driver_call,
        a_loop_on_three_streams_makes_no_driver_call,
        a_snapshot_is_written_or_the_path_named,
    };
    return rows_run(variants_suite("pool stats", tests, sizeof tests / sizeof *tests));
}
