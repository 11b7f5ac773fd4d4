/* SPDX-License-Identifier: MIT */

/* The child of a fork: on the host every call works on, on a device every call
 * is refused with the driver's own code, and the pool ends without a sound. */

#include "child.h"
#include "pool_rig.h"

static kolk_pool *pool;
static kolk_stream *stream, *other;
static kolk_block *block, *empty;
static void *pointer;

static void start(int variant)
{
    pool = new_pool(variant, (kolk_pool_config){0});
    stream = new_stream(kolk_pool_device(pool));
    other = new_stream(kolk_pool_device(pool));
    block = new_block(pool, 5000, stream);
    empty = new_block(pool, 0, stream);
    pointer = kolk_malloc(pool, 3 * MIB, stream);
    ck_assert_ptr_nonnull(pointer);
}

static void finish(void)
{
    ck_assert_ok(kolk_free(pool, pointer, stream));
    kolk_block_free(&block);
    kolk_block_free(&empty);
    kolk_stream_destroy(&stream);
    kolk_stream_destroy(&other);
    drop_pool(&pool);
}

static bool is_refused(kolk_status status)
{
    return status == KOLK_DEVICE && kolk_last_error()->native == 3;
}

static bool every_call_is_refused(void)
{
    kolk_block *none = NULL;
    kolk_capture *capture = NULL;
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    const uint64_t calls_before = kolk_pool_driver_calls(pool);
    const bool refused = is_refused(kolk_block_alloc(pool, 100, stream, &none)) &&
                         is_refused(kolk_block_alloc(pool, 0, stream, &none)) &&
                         is_refused(kolk_block_record(block, other)) &&
                         is_refused(kolk_record(pool, pointer, other)) &&
                         is_refused(kolk_free_sized(pool, pointer, 3 * MIB, stream)) &&
                         is_refused(kolk_free(pool, pointer, other)) &&
                         is_refused(kolk_capture_begin(pool, stream, &capture)) &&
                         is_refused(kolk_pool_set_limit(pool, MIB)) &&
                         !kolk_malloc(pool, 100, stream) && !none && !capture;
    kolk_pool_trim(pool, 0);
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), calls_before);
    assert_unmoved(pool, &before);
    return refused && kolk_pool_check(pool) == KOLK_OK;
}

START_TEST(a_device_refuses_every_call_in_the_child)
{
    start(_i);
    ck_assert(child_succeeds(every_call_is_refused));
    finish();
}
END_TEST

static bool every_call_works(void)
{
    finish();
    return true;
}

START_TEST(the_host_does_what_it_did_in_the_child)
{
    start(_i);
    ck_assert(child_succeeds(every_call_works));
    finish();
}
END_TEST

static bool all_ends(void)
{
    kolk_block_free_on(&block, other);
    kolk_block_free(&empty);
    kolk_stream_destroy(&stream);
    kolk_pool_destroy(&pool);
    kolk_stream_destroy(&other);
    return !block && !pool;
}

START_TEST(a_pool_ends_in_the_child_and_lives_on_in_the_parent)
{
    start(_i);
    ck_assert(child_succeeds(all_ends));
    ck_assert_ok(kolk_pool_check(pool));
    use(block, stream);
    finish();
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("pool fork");
    TCase *const tcase = tcase_create("fork");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, the_host_does_what_it_did_in_the_child, 0, 2);
    tcase_add_loop_test(tcase, a_device_refuses_every_call_in_the_child, 2,
                        variants_end());
    tcase_add_loop_test(tcase, a_pool_ends_in_the_child_and_lives_on_in_the_parent, 0,
                        variants_end());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
