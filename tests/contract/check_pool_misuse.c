/* SPDX-License-Identifier: MIT */

/* What callers do wrong: each fault has its own status, and moves nothing. */

#include "pool_rig.h"

/* Refused, with the status, and the misuse counted and nothing else. */
#define refused(pool, call, status)                                               \
    do {                                                                          \
        const kolk_pool_stats before_ = kolk_pool_stats_of(pool);                 \
        ck_assert_fails(call, status);                                            \
        assert_unmoved(pool, &before_);                                           \
        ck_assert_uint_eq(kolk_pool_stats_of(pool).misuses, before_.misuses + 1); \
        ck_assert_ok(kolk_pool_check(pool));                                      \
    } while (0)

static const size_t sizes[] = {1, 256, 5000, MIB, MIB + 1, 5 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* TF #25474: a double free aborted the process. */
START_TEST(a_pointer_freed_twice_is_a_double_free)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        void *const data = kolk_malloc(pool, sizes[i], NULL);
        ck_assert_ok(kolk_free(pool, data, NULL));
        refused(pool, kolk_free(pool, data, NULL), KOLK_DOUBLE_FREE);
        refused(pool, kolk_free_sized(pool, data, sizes[i], NULL), KOLK_DOUBLE_FREE);
        refused(pool, kolk_record(pool, data, NULL), KOLK_DOUBLE_FREE);
    }
    drop_pool(&pool);
}
END_TEST

START_TEST(a_handle_is_empty_after_it_was_freed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_block *block = new_block(pool, 100, NULL);
    kolk_block *copy = block;
    kolk_block_free(&block);
    ck_assert_ptr_null(block);
    kolk_block_free(&block);
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    kolk_block_free(&copy); /* a copied handle: refused, never an abort */
    assert_unmoved(pool, &before);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).misuses, before.misuses + 1);
    drop_pool(&pool);
}
END_TEST

START_TEST(the_middle_of_a_block_cannot_be_freed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t i = 1; i < SIZES; i++) {
        char *const data = kolk_malloc(pool, sizes[i], NULL);
        const size_t offsets[] = {1, 8, 255, sizes[i] / 2, sizes[i] - 1};
        for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++)
            refused(pool, kolk_free(pool, data + offsets[k], NULL),
                    KOLK_INTERIOR_POINTER);
        ck_assert_ok(kolk_free(pool, data, NULL));
    }
    drop_pool(&pool);
}
END_TEST

/* UMF #1161: freeing another pool's pointer. */
START_TEST(another_pools_block_cannot_be_freed)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_pool *other = new_pool(_i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        void *const data = kolk_malloc(other, sizes[i], NULL);
        const kolk_pool_stats before = kolk_pool_stats_of(other);
        refused(pool, kolk_free(pool, data, NULL), KOLK_WRONG_POOL);
        refused(pool, kolk_record(pool, data, NULL), KOLK_WRONG_POOL);
        assert_unmoved(other, &before);
        ck_assert_uint_eq(kolk_pool_stats_of(other).misuses, 0);
        ck_assert_ok(kolk_free(other, data, NULL));
    }
    drop_pool(&pool);
    drop_pool(&other);
}
END_TEST

/* cub #329: a foreign pointer was passed on to the driver. */
START_TEST(what_never_came_from_a_pool_is_foreign)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    void *const foreign[] = {&pool, (void *)1, (void *)256, (void *)~(uintptr_t)0,
                             (void *)((uintptr_t)1 << 47)};
    const uint64_t before = kolk_pool_driver_calls(pool);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        refused(pool, kolk_free(pool, foreign[i], NULL), KOLK_FOREIGN_POINTER);
        refused(pool, kolk_free_sized(pool, foreign[i], 1, NULL), KOLK_FOREIGN_POINTER);
    }
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), before);
    drop_pool(&pool);
}
END_TEST

/* TensorSharp #104, pytorch #153109: the caller's size was believed. */
START_TEST(a_wrong_size_is_refused_and_the_right_one_taken)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        void *const data = kolk_malloc(pool, sizes[i], NULL);
        refused(pool, kolk_free_sized(pool, data, sizes[i] + 1, NULL), KOLK_WRONG_SIZE);
        refused(pool, kolk_free_sized(pool, data, sizes[i] - 1, NULL), KOLK_WRONG_SIZE);
        refused(pool, kolk_free_sized(pool, data, 0, NULL), KOLK_WRONG_SIZE);
        ck_assert_ok(kolk_free_sized(pool, data, sizes[i], NULL));
    }
    drop_pool(&pool);
}
END_TEST

START_TEST(a_stream_of_another_device_is_refused)
{
    if (rows_end() < 2)
        return;
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_stream *stream = new_stream(row_device((_i / 2 + 1) % rows_end()));
    kolk_block *none = NULL;
    void *const data = kolk_malloc(pool, 100, NULL);
    const kolk_pool_stats before = kolk_pool_stats_of(pool);
    ck_assert_fails(kolk_block_alloc(pool, 100, stream, &none), KOLK_DEVICE_MISMATCH);
    ck_assert_ptr_null(none);
    ck_assert_ptr_null(kolk_malloc(pool, 100, stream));
    ck_assert_fails(kolk_free(pool, data, stream), KOLK_DEVICE_MISMATCH);
    ck_assert_fails(kolk_record(pool, data, stream), KOLK_DEVICE_MISMATCH);
    assert_unmoved(pool, &before);
    ck_assert_ok(kolk_free(pool, data, NULL));
    kolk_stream_destroy(&stream);
    drop_pool(&pool);
}
END_TEST

/* Live pages may be given back: the address is then nobody's block. */
START_TEST(a_pointer_freed_and_trimmed_is_still_refused)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    void *const data = kolk_malloc(pool, 3 * MIB, NULL);
    ck_assert_ok(kolk_free(pool, data, NULL));
    kolk_pool_trim(pool, 0);
    refused(pool, kolk_free(pool, data, NULL),
            is_plain(_i) ? KOLK_FOREIGN_POINTER : KOLK_DOUBLE_FREE);
    drop_pool(&pool);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_pointer_freed_twice_is_a_double_free,
        a_handle_is_empty_after_it_was_freed,
        the_middle_of_a_block_cannot_be_freed,
        another_pools_block_cannot_be_freed,
        what_never_came_from_a_pool_is_foreign,
        a_wrong_size_is_refused_and_the_right_one_taken,
        a_stream_of_another_device_is_refused,
        a_pointer_freed_and_trimmed_is_still_refused,
    };
    return rows_run(variants_suite("pool misuse", tests, sizeof tests / sizeof *tests));
}
