/* SPDX-License-Identifier: MIT */

/* Limits, trimming, and the record of a request that could not be served. */

#include "fault.h"
#include "pool_rig.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static kolk_device device_of(int variant)
{
    return row_device(variant / 2);
}

static void refuse(kolk_pool *pool, size_t size)
{
    kolk_block *block = NULL;
    ck_assert_fails(kolk_block_alloc(pool, size, NULL, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_null(block);
}

static void take_and_free(kolk_pool *pool, size_t size)
{
    kolk_block *block = new_block(pool, size, NULL);
    kolk_block_free(&block);
}

/* rmm #1664: k blocks of a kth, and not one more. rmm #1421: never over it. */
START_TEST(a_limit_can_be_used_to_the_last_page_and_not_passed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 10 * MIB});
    kolk_block *blocks[5];
    for (int i = 0; i < 5; i++)
        blocks[i] = new_block(pool, 2 * MIB, NULL);
    ck_assert_uint_eq(reserved(pool), 10 * MIB);
    refuse(pool, 2 * MIB);
    refuse(pool, 1);
    for (int i = 0; i < 5; i++)
        kolk_block_free(&blocks[i]);
    ck_assert_uint_le(kolk_pool_stats_of(pool).reserved.peak, 10 * MIB);
    drop_pool(&pool);
}
END_TEST

/* cupy #7678: 5 of 6 were cached, and 6 could not be had. rmm #1957, DALI #2951. */
START_TEST(what_is_cached_never_counts_against_a_request_that_would_fit)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 12 * MIB});
    for (size_t size = 2 * MIB; size <= 12 * MIB; size += 2 * MIB)
        take_and_free(pool, size);
    for (size_t size = 12 * MIB; size > MIB; size -= 2 * MIB)
        take_and_free(pool, size);
    ck_assert_uint_le(kolk_pool_stats_of(pool).reserved.peak, 12 * MIB);
    drop_pool(&pool);
}
END_TEST

/* rmm #496, #600: growth that overshoots, or will not ask for less. */
START_TEST(growth_never_takes_more_than_is_asked_for)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *a = new_block(pool, ROW_CAPACITY / 2, NULL);
    kolk_block *b = new_block(pool, ROW_CAPACITY / 2, NULL);
    ck_assert_uint_eq(reserved(pool), ROW_CAPACITY);
    kolk_block_free(&a);
    kolk_block_free(&b);
    drop_pool(&pool);
}
END_TEST

START_TEST(a_limit_may_be_a_fraction_of_the_device)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit_fraction = 0.25});
    ck_assert_uint_eq(kolk_pool_config_of(pool).limit, ROW_CAPACITY / 4);
    take_and_free(pool, ROW_CAPACITY / 4);
    refuse(pool, ROW_CAPACITY / 4 + 1);
    ck_assert_uint_eq(kolk_last_oom()->limit, ROW_CAPACITY / 4);
    drop_pool(&pool);
}
END_TEST

static void refuse_config(int variant, kolk_pool_config config, const char *field)
{
    kolk_pool *pool = (kolk_pool *)&config;
    ck_assert_fails(kolk_pool_create(device_of(variant), &config, &pool),
                    KOLK_INVALID_ARGUMENT);
    ck_assert_message(field);
    ck_assert_ptr_eq(pool, (kolk_pool *)&config);
}

/* UMF #905: parameters that make no sense were accepted. */
START_TEST(a_configuration_that_makes_no_sense_is_refused_by_its_field)
{
    refuse_config(_i, (kolk_pool_config){.limit_fraction = 1.01}, "limit_fraction");
    refuse_config(_i, (kolk_pool_config){.limit_fraction = -0.1}, "limit_fraction");
    refuse_config(_i, (kolk_pool_config){.limit_fraction = NAN}, "limit_fraction");
    refuse_config(_i, (kolk_pool_config){.limit = 1, .limit_fraction = 0.5}, "limit");
    refuse_config(_i, (kolk_pool_config){.page_size = 4097}, "page_size");
    refuse_config(_i, (kolk_pool_config){.page_size = SIZE_MAX}, "page_size");
    refuse_config(_i, (kolk_pool_config){.no_pages = true, .page_size = 2 * MIB},
                  "page_size");
    refuse_config(_i, (kolk_pool_config){.address_space = SIZE_MAX}, "address_space");
    refuse_config(_i, (kolk_pool_config){.policy = (kolk_policy)2}, "policy");
    kolk_pool_config endless = {0};
    memset(endless.name, 'x', sizeof endless.name);
    refuse_config(_i, endless, "name");
}
END_TEST

START_TEST(a_limit_can_be_changed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    take_and_free(pool, 8 * MIB);
    kolk_block *live = new_block(pool, 4 * MIB, NULL);
    ck_assert_fails(kolk_pool_set_limit(pool, 2 * MIB), KOLK_OUT_OF_RANGE);
    ck_assert_message("2097152");
    ck_assert_uint_eq(kolk_pool_config_of(pool).limit, 0);
    kolk_block_free(&live);
    ck_assert_ok(kolk_pool_set_limit(pool, 4 * MIB));
    ck_assert_uint_le(reserved(pool), 4 * MIB);
    ck_assert_uint_eq(kolk_pool_config_of(pool).limit, 4 * MIB);
    refuse(pool, 5 * MIB);
    ck_assert_ok(kolk_pool_set_limit(pool, 0));
    take_and_free(pool, 9 * MIB);
    drop_pool(&pool);
}
END_TEST

/* cupy #4866: a limit is its pool's. */
START_TEST(a_limit_is_of_one_pool_alone)
{
    kolk_pool *one = new_pool(_i, (kolk_pool_config){.limit = 2 * MIB});
    kolk_pool *other = new_pool(_i, (kolk_pool_config){0});
    refuse(one, 3 * MIB);
    take_and_free(other, 30 * MIB);
    drop_pool(&one);
    drop_pool(&other);
}
END_TEST

/* TF #30827, cupy c7392d135: idle memory never returned, or not subtracted. */
START_TEST(trim_gives_back_all_but_what_is_to_be_kept)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *blocks[8];
    ck_assert_uint_eq(kolk_pool_trim(pool, 0), 0); /* of an empty pool */
    for (int i = 0; i < 8; i++)
        blocks[i] = new_block(pool, 2 * MIB, NULL);
    ck_assert_uint_eq(kolk_pool_trim(pool, 0), 0); /* all is live */
    for (int i = 1; i < 8; i++)
        kolk_block_free(&blocks[i]);
    ck_assert_uint_eq(kolk_pool_trim(pool, 10 * MIB), 6 * MIB);
    ck_assert_uint_eq(reserved(pool), 10 * MIB);
    ck_assert_uint_eq(kolk_pool_trim(pool, SIZE_MAX), 0);
    ck_assert_uint_eq(kolk_pool_trim(pool, 0), 8 * MIB);
    ck_assert_uint_eq(reserved(pool), 2 * MIB);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_block_free(&blocks[0]);
    drop_pool(&pool);
}
END_TEST

/* ---- the record ---- */

/* pytorch #126766, #111363, rmm: 20 MiB named for a request of 1.5. */
START_TEST(a_failure_is_a_record_of_numbers)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 10 * MIB});
    kolk_block *live = new_block(pool, 4 * MIB - 300, NULL);
    take_and_free(pool, 4 * MIB);
    refuse(pool, 9 * MIB + 1);
    const kolk_oom *const oom = kolk_last_oom();
    ck_assert_uint_eq(oom->requested, 9 * MIB + 1);
    ck_assert_uint_eq(oom->rounded, 9 * MIB + 256);
    ck_assert_uint_eq(oom->limit, 10 * MIB);
    ck_assert_uint_eq(oom->reserved, reserved(pool));
    ck_assert_uint_eq(oom->allocated, kolk_block_capacity(live));
    ck_assert_uint_eq(oom->active, oom->allocated);
    ck_assert_uint_eq(oom->free, oom->reserved - oom->active);
    ck_assert_uint_le(oom->largest_free, oom->free);
    ck_assert(oom->has_device);
    ck_assert_uint_eq(oom->device_total, ROW_CAPACITY);
    ck_assert_uint_eq(oom->device_free, ROW_CAPACITY - oom->reserved);
    const size_t told[] = {oom->requested, oom->rounded,   oom->limit,
                           oom->reserved,  oom->allocated, oom->device_free};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", told[i]);
        ck_assert_message(number);
    }
    kolk_block_free(&live);
    drop_pool(&pool);
}
END_TEST

/* cudf #4045: half of the memory free, and none of it in one piece. */
START_TEST(a_record_shows_fragmentation)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 2 * MIB});
    kolk_block *blocks[16];
    if (is_plain(_i)) /* a plain segment need not begin at a multiple of 2 MiB */
        ck_assert_ok(kolk_pool_set_limit(pool, 4 * MIB));
    for (int i = 0; i < 16; i++)
        blocks[i] = new_block(pool, 128 * KIB, NULL);
    for (int i = 0; i < 16; i += 2)
        kolk_block_free(&blocks[i]);
    refuse(pool, 3 * MIB);
    const kolk_oom *const oom = kolk_last_oom();
    ck_assert_uint_lt(oom->largest_free, oom->free);
    ck_assert_uint_eq(oom->allocated, MIB);
    for (int i = 1; i < 16; i += 2)
        kolk_block_free(&blocks[i]);
    drop_pool(&pool);
}
END_TEST

/* pytorch #112377: a probe without permission became a fatal error. */
START_TEST(a_probe_that_fails_only_leaves_its_line_out)
{
    fault_install(device_of(_i).kind);
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 4 * MIB});
    fault_from(FAULT_memory_info, 1);
    refuse(pool, 5 * MIB);
    ck_assert_int_eq(fault_refused(), FAULT_memory_info);
    ck_assert(!kolk_last_oom()->has_device);
    ck_assert_uint_eq(kolk_last_oom()->device_total, 0);
    ck_assert_ptr_null(strstr(kolk_last_error()->message, "the device has"));
    ck_assert_message("5242880");
    fault_at(FAULT_ANY, 0);
    drop_pool(&pool);
    fault_remove();
}
END_TEST

/* pytorch #40002: the driver refuses although much is free. */
START_TEST(a_refusal_of_the_driver_is_told_with_its_code)
{
    fault_install(device_of(_i).kind);
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    fault_from(is_plain(_i) ? FAULT_memory_alloc : FAULT_page_create, 1);
    refuse(pool, 5 * MIB);
    ck_assert_int_eq(kolk_last_oom()->native, 2);
    ck_assert_int_eq(kolk_last_error()->native, 2);
    ck_assert_uint_eq(kolk_last_oom()->device_free, ROW_CAPACITY);
    fault_at(FAULT_ANY, 0);
    take_and_free(pool, 5 * MIB);
    drop_pool(&pool);
    fault_remove();
}
END_TEST

/* pytorch #193195: a refusal that is recovered from is not a failure. */
/* Half of what is needed lies idle in pieces, and the device has the other. */
static void use_up(int variant, size_t limit)
{
    enum { COUNT = 24 };
    kolk_pool *pool = new_pool(variant, (kolk_pool_config){.limit = limit});
    kolk_block *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = new_block(pool, 2 * MIB, NULL);
    for (int i = 0; i < COUNT; i += 2)
        kolk_block_free(&blocks[i]);
    take_and_free(pool, ROW_CAPACITY - COUNT * MIB);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).ooms, 0);
    for (int i = 1; i < COUNT; i += 2)
        kolk_block_free(&blocks[i]);
    drop_pool(&pool);
}

START_TEST(idle_pages_and_those_the_device_has_left_serve_together)
{
    use_up(_i, 0);
    use_up(_i, ROW_CAPACITY);
    use_up(_i, 2 * ROW_CAPACITY);
}
END_TEST

START_TEST(a_refusal_that_is_recovered_from_is_no_failure)
{
    fault_install(device_of(_i).kind);
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *a = new_block(pool, 2 * MIB, NULL);
    kolk_block *b = new_block(pool, 2 * MIB, NULL);
    kolk_block *c = new_block(pool, 2 * MIB, NULL);
    kolk_block_free(&a);
    kolk_block_free(&c);
    fault_at(is_plain(_i) ? FAULT_memory_alloc : FAULT_page_create, 1);
    take_and_free(pool, 4 * MIB);
    ck_assert_int_ne(fault_refused(), FAULT_ANY);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).ooms, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).retries, 1);
    kolk_block_free(&b);
    drop_pool(&pool);
    fault_remove();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_limit_can_be_used_to_the_last_page_and_not_passed,
        what_is_cached_never_counts_against_a_request_that_would_fit,
        growth_never_takes_more_than_is_asked_for,
        a_limit_may_be_a_fraction_of_the_device,
        a_configuration_that_makes_no_sense_is_refused_by_its_field,
        a_limit_can_be_changed,
        a_limit_is_of_one_pool_alone,
        trim_gives_back_all_but_what_is_to_be_kept,
        a_failure_is_a_record_of_numbers,
        a_record_shows_fragmentation,
        a_probe_that_fails_only_leaves_its_line_out,
        a_refusal_of_the_driver_is_told_with_its_code,
        idle_pages_and_those_the_device_has_left_serve_together,
        a_refusal_that_is_recovered_from_is_no_failure,
    };
    return rows_run(variants_suite("pool limits", tests, sizeof tests / sizeof *tests));
}
