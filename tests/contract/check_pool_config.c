/* SPDX-License-Identifier: MIT */

/* Configurations at their edges: each is refused by its field, or keeps every
 * promise that an ordinary one keeps. */

#include "pool_rig.h"
#include "size_class.h"
#include <stdio.h>
#include <string.h>

static void refuse(kolk_pool_config config, int row, const char *field)
{
    kolk_pool *pool = (kolk_pool *)&config;
    ck_assert_fails(kolk_pool_create(row_device(row), &config, &pool),
                    KOLK_INVALID_ARGUMENT);
    ck_assert_message(field);
    ck_assert_ptr_eq(pool, (kolk_pool *)&config);
}

/* As a limit of 0 it would be no limit at all. */
START_TEST(a_fraction_of_less_than_a_byte_is_refused)
{
    refuse((kolk_pool_config){.limit_fraction = 1e-12}, _i, "1e-12");
    refuse((kolk_pool_config){.limit_fraction = 5e-324}, _i, "limit_fraction");
}
END_TEST

START_TEST(a_limit_of_one_byte_is_a_limit)
{
    for (int plain = 0; plain < 2; plain++) {
        kolk_pool *pool = new_pool(2 * _i + plain, (kolk_pool_config){.limit = 1});
        kolk_block *block = NULL;
        ck_assert_fails(kolk_block_alloc(pool, 1, NULL, &block), KOLK_OUT_OF_MEMORY);
        ck_assert_uint_eq(kolk_last_oom()->limit, 1);
        ck_assert_uint_eq(reserved(pool), 0);
        drop_pool(&pool);
    }
}
END_TEST

START_TEST(the_whole_device_is_a_fraction)
{
    kolk_pool *pool = new_pool(2 * _i, (kolk_pool_config){.limit_fraction = 1.0});
    ck_assert_uint_eq(kolk_pool_config_of(pool).limit, ROW_CAPACITY);
    kolk_block *block = new_block(pool, ROW_CAPACITY, NULL);
    kolk_block_free(&block);
    drop_pool(&pool);
}
END_TEST

/* A page that no segment can hold. */
START_TEST(a_page_larger_than_any_block_is_refused)
{
    for (int shift = 40; shift < 64; shift++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", (size_t)1 << shift);
        refuse((kolk_pool_config){.page_size = (size_t)1 << shift}, _i, number);
    }
}
END_TEST

static void keep_the_promises(kolk_pool *pool)
{
    enum { COUNT = 40 };
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_block *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        const kolk_alloc_options options = {.alignment = (size_t)1 << i % 22};
        ck_assert_ok(
            kolk_block_alloc_with(pool, 1 + i * i * 300, &options, stream, &blocks[i]));
        ck_assert_uint_eq((uintptr_t)kolk_block_data(blocks[i]) % options.alignment, 0);
        use(blocks[i], stream);
        ck_assert_ok(kolk_pool_check(pool));
    }
    for (size_t i = 0; i < COUNT; i++)
        kolk_block_free(&blocks[i * 7 % COUNT]);
    kolk_block *all = new_block(pool, 12 * MIB, stream);
    kolk_block_free(&all);
    kolk_stream_destroy(&stream);
}

START_TEST(pages_of_any_multiple_serve)
{
    for (size_t times = 1; times <= 5; times++) {
        const size_t page = times * 2 * MIB;
        kolk_pool *pool = new_pool(2 * _i, (kolk_pool_config){.page_size = page});
        ck_assert_uint_eq(kolk_pool_config_of(pool).page_size, page);
        ck_assert_uint_eq(kolk_pool_config_of(pool).address_space % page, 0);
        keep_the_promises(pool);
        ck_assert_uint_eq(reserved(pool) % page, 0);
        drop_pool(&pool);
    }
}
END_TEST

/* Segments of the fewest addresses, and of more than there are. */
START_TEST(address_space_of_any_size_serves)
{
    const size_t sizes[] = {1,
                            2 * MIB,
                            3 * MIB,
                            100 * MIB,
                            (size_t)1 << 39,
                            KOLK_SIZE_MAX - 1,
                            KOLK_SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kolk_pool *pool =
            new_pool(2 * _i, (kolk_pool_config){.address_space = sizes[i]});
        ck_assert_uint_le(kolk_pool_config_of(pool).address_space, KOLK_SIZE_MAX);
        keep_the_promises(pool);
        drop_pool(&pool);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("pool config");
    TCase *const tcase = tcase_create("edges");
    const TTest *const tests[] = {
        a_fraction_of_less_than_a_byte_is_refused,
        a_limit_of_one_byte_is_a_limit,
        the_whole_device_is_a_fraction,
        a_page_larger_than_any_block_is_refused,
        pages_of_any_multiple_serve,
        address_space_of_any_size_serves,
    };
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_loop_test(tcase, tests[i], rows_begin(), rows_end());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
