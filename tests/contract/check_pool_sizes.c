/* SPDX-License-Identifier: MIT */

/* Sizes and alignments: what a request may ask for, and what it gets. */

#include "pool_rig.h"
#include <stdint.h>
#include <stdio.h>

static kolk_status aligned(kolk_pool *pool, size_t size, size_t alignment,
                           kolk_block **out)
{
    const kolk_alloc_options options = {.alignment = alignment};
    return kolk_block_alloc_with(pool, size, &options, NULL, out);
}

static size_t largest_alignment(const kolk_pool *pool)
{
    const size_t page = kolk_pool_config_of(pool).page_size;
    return page ? page : 2 * MIB;
}

START_TEST(every_pointer_is_aligned_to_256_bytes)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *blocks[400];
    for (size_t i = 0; i < 400; i++) {
        blocks[i] = new_block(pool, 1 + i * i, NULL);
        ck_assert_uint_eq((uintptr_t)kolk_block_data(blocks[i]) % 256, 0);
        ck_assert_uint_eq(kolk_block_size(blocks[i]), 1 + i * i);
        ck_assert_uint_ge(kolk_block_capacity(blocks[i]), 1 + i * i);
    }
    for (size_t i = 0; i < 400; i++)
        kolk_block_free(&blocks[i]);
    drop_pool(&pool);
}
END_TEST

/* rmm #2336, #2002, #2116: ignored, wrapped, or the size aligned in its place. */
START_TEST(every_power_of_two_up_to_the_page_is_an_alignment)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_block *in_the_way = new_block(pool, 300, stream);
    for (size_t alignment = 1; alignment <= largest_alignment(pool); alignment *= 2)
        for (size_t size = 1; size <= 3 * MIB; size = size * 7 + 1) {
            kolk_block *block = NULL;
            ck_assert_ok(kolk_block_alloc_with(
                pool, size, &(kolk_alloc_options){.alignment = alignment}, stream,
                &block));
            ck_assert_uint_eq((uintptr_t)kolk_block_data(block) % alignment, 0);
            ck_assert_uint_eq((uintptr_t)kolk_block_data(block) % 256, 0);
            ck_assert_uint_ge(kolk_block_capacity(block), size);
            use(block, stream);
            ck_assert_ok(kolk_pool_check(pool));
            kolk_block_free(&block);
        }
    kolk_block_free(&in_the_way);
    kolk_stream_destroy(&stream);
    drop_pool(&pool);
}
END_TEST

START_TEST(any_other_alignment_is_refused_by_its_number)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    const size_t bad[] = {3,
                          5,
                          100,
                          255,
                          257,
                          768,
                          (MIB) + 1,
                          largest_alignment(pool) * 2,
                          SIZE_MAX,
                          SIZE_MAX / 2,
                          SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t size = 0; size <= 4096; size += 4096) {
            kolk_block *block = (kolk_block *)&pool;
            char number[32];
            const kolk_pool_stats before = kolk_pool_stats_of(pool);
            ck_assert_fails(aligned(pool, size, bad[i], &block), KOLK_INVALID_ARGUMENT);
            snprintf(number, sizeof number, "%zu", bad[i]);
            ck_assert_message(number);
            ck_assert_ptr_eq(block, (kolk_block *)&pool);
            assert_unmoved(pool, &before);
        }
    drop_pool(&pool);
}
END_TEST

/* UMF #481: a zero-size allocation leaked. */
START_TEST(size_0_succeeds_costs_nothing_and_is_null)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    for (int i = 0; i < 1000; i++) {
        kolk_block *block = new_block(pool, 0, NULL);
        ck_assert_ptr_nonnull(block);
        ck_assert_ptr_null(kolk_block_data(block));
        ck_assert_uint_eq(kolk_block_size(block), 0);
        ck_assert_uint_eq(kolk_block_capacity(block), 0);
        ck_assert_ok(kolk_block_record(block, NULL));
        if (i % 2)
            kolk_block_free(&block);
        else
            kolk_block_free_on(&block, NULL);
        ck_assert_ptr_null(block);
        ck_assert_ptr_null(kolk_malloc(pool, 0, NULL));
    }
    assert_unmoved(pool, &before);
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), 0);
    ck_assert_uint_eq(reserved(pool), 0);
    drop_pool(&pool);
}
END_TEST

START_TEST(freeing_null_is_a_no_op)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = NULL;
    kolk_pool *none = NULL;
    kolk_block_free(&block);
    kolk_block_free_on(&block, NULL);
    kolk_pool_destroy(&none);
    ck_assert_ok(kolk_free(pool, NULL, NULL));
    ck_assert_ok(kolk_free_sized(pool, NULL, 17, NULL));
    ck_assert_ok(kolk_record(pool, NULL, NULL));
    ck_assert_uint_eq(kolk_pool_stats_of(pool).misuses, 0);
    drop_pool(&pool);
}
END_TEST

static void refuse(kolk_pool *pool, size_t size)
{
    kolk_block *block = (kolk_block *)&pool;
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    ck_assert_fails(kolk_block_alloc(pool, size, NULL, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_eq(block, (kolk_block *)&pool);
    ck_assert_uint_eq(kolk_last_oom()->requested, size);
    ck_assert_fails(aligned(pool, size, 4096, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_null(kolk_malloc(pool, size, NULL));
    ck_assert_int_eq(kolk_last_error()->status, KOLK_OUT_OF_MEMORY);
    assert_unmoved(pool, &before);
    ck_assert_uint_eq(reserved(pool), before.reserved.current);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).ooms, before.ooms + 3);
}

/* pytorch #57571, cub #58: near 2^64 sizes wrapped to 0, or looped for ever. */
START_TEST(sizes_too_big_are_out_of_memory_with_nothing_changed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *live = new_block(pool, 5000, NULL);
    for (int k = 30; k < 64; k++)
        for (size_t around = 0; around < 3; around++)
            refuse(pool, ((size_t)1 << k) + around - 1);
    for (size_t less = 0; less < 1024; less += 73)
        refuse(pool, SIZE_MAX - less);
    refuse(pool, (size_t)0x9fffffffffffffff);
    refuse(pool, ROW_CAPACITY + 1);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_block_free(&live);
    drop_pool(&pool);
}
END_TEST

/* An absurd size is known to be absurd before anybody is asked. */
START_TEST(an_absurd_size_makes_no_driver_call_that_allocates)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = NULL;
    ck_assert_fails(kolk_block_alloc(pool, SIZE_MAX, NULL, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_PAGE_CREATE), 0);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_MEMORY_ALLOC), 0);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_RANGE_RESERVE), 0);
    drop_pool(&pool);
}
END_TEST

START_TEST(blocks_of_every_size_waste_what_is_promised_at_most)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t size = 1; size < 8 * MIB; size += 1 + size / 37) {
        kolk_block *block = new_block(pool, size, NULL);
        const size_t waste = kolk_block_capacity(block) - size;
        if (size > MIB)
            ck_assert_uint_le(waste, 512);
        else if (size > 2048)
            ck_assert_uint_le(8 * waste, size);
        else
            ck_assert_uint_le(waste, 511);
        ck_assert_uint_eq(kolk_pool_stats_of(pool).requested.current, size);
        ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.current, size + waste);
        kolk_block_free(&block);
    }
    drop_pool(&pool);
}
END_TEST

/* cupy #1165: the index of bins grew without end. */
START_TEST(ten_thousand_distinct_sizes_leave_nothing_behind)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t i = 1; i <= 10000; i++) {
        kolk_block *block = new_block(pool, i * 257, NULL);
        kolk_block_free(&block);
    }
    ck_assert_uint_le(reserved(pool), 32 * MIB);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_pointer_is_aligned_to_256_bytes,
        every_power_of_two_up_to_the_page_is_an_alignment,
        any_other_alignment_is_refused_by_its_number,
        size_0_succeeds_costs_nothing_and_is_null,
        freeing_null_is_a_no_op,
        sizes_too_big_are_out_of_memory_with_nothing_changed,
        an_absurd_size_makes_no_driver_call_that_allocates,
        blocks_of_every_size_waste_what_is_promised_at_most,
        ten_thousand_distinct_sizes_leave_nothing_behind,
    };
    return rows_run(variants_suite("pool sizes", tests, sizeof tests / sizeof *tests));
}
