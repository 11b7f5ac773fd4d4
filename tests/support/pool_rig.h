/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_POOL_RIG_H
#define KOLK_TESTS_POOL_RIG_H

/* What tests of the pool share. They loop over variants: variant 2r is row r with
 * pages, variant 2r + 1 the same row with plain segments. */

#include "rows.h"
#include "work.h"
#include <kolk/cuda.h>
#include <kolk/stats.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static inline int variants_begin(void)
{
    return 2 * rows_begin();
}

static inline int variants_end(void)
{
    return 2 * rows_end();
}

static inline bool is_plain(int variant)
{
    return variant % 2 != 0;
}

/* Work stays queued there until it is waited for. */
static inline bool is_lazy(int variant)
{
    return variant >= 2;
}

static inline kolk_pool *new_pool(int variant, kolk_pool_config config)
{
    kolk_pool *pool = NULL;
    config.no_pages |= is_plain(variant);
    ck_assert_ok(kolk_pool_create(row_device(variant / 2), &config, &pool));
    return pool;
}

static inline kolk_block *new_block(kolk_pool *pool, size_t size, kolk_stream *stream)
{
    kolk_block *block = NULL;
    ck_assert_ok(kolk_block_alloc(pool, size, stream, &block));
    return block;
}

/* Queues work that writes all of the block. */
static inline void use(const kolk_block *block, kolk_stream *stream)
{
    ck_assert_ok(
        kolk_fill_queue(stream, kolk_block_data(block), 1, kolk_block_size(block)));
}

/* Work queued on `later` from now on comes after what is queued on `earlier`. */
static inline void order(kolk_stream *later, kolk_stream *earlier)
{
    kolk_event *event KOLK_AUTO(kolk_event_destroy) =
        new_event(kolk_stream_device(earlier));
    ck_assert_ok(kolk_event_record(event, earlier));
    ck_assert_ok(kolk_stream_wait(later, event));
}

/* Work of a held stream does not run: a call that waits for it on the host fails
 * the test. The host's own streams cannot be held. */
static inline void hold(kolk_stream *stream, bool held)
{
#ifdef KOLK_TESTS_EMULATED
    if (kolk_stream_device(stream).kind == KOLK_CUDA)
        emu_hold(kolk_stream_cuda(stream), held);
#else
    (void)stream, (void)held;
#endif
}

static inline uint64_t reserved(const kolk_pool *pool)
{
    return kolk_pool_stats_of(pool).reserved.current;
}

static inline uint64_t calls(const kolk_pool *pool, kolk_call call)
{
    return kolk_pool_stats_of(pool).calls[call].count;
}

/* The identities, and proof that all memory can be given back. */
static inline void drop_pool(kolk_pool **pool)
{
    ck_assert_ok(kolk_pool_check(*pool));
    ck_assert_uint_eq(kolk_pool_stats_of(*pool).allocated.current, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(*pool).requested.current, 0);
    kolk_pool_trim(*pool, 0);
    ck_assert_uint_eq(kolk_pool_stats_of(*pool).active.current, 0);
    ck_assert_uint_eq(reserved(*pool), 0);
    ck_assert_ok(kolk_pool_check(*pool));
    kolk_pool_destroy(pool);
    ck_assert_ptr_null(*pool);
}

/* The bytes and counts that a failed call must leave alone. */
static inline void assert_unmoved(const kolk_pool *pool, const kolk_pool_stats *before)
{
    const kolk_pool_stats now = kolk_pool_stats_of(pool);
    ck_assert_mem_eq(&now.requested, &before->requested, sizeof now.requested);
    ck_assert_mem_eq(&now.allocated, &before->allocated, sizeof now.allocated);
    ck_assert_mem_eq(&now.active, &before->active, sizeof now.active);
    ck_assert_mem_eq(&now.blocks, &before->blocks, sizeof now.blocks);
    ck_assert_mem_eq(now.tags, before->tags, sizeof now.tags);
    ck_assert_uint_eq(now.allocs, before->allocs);
    ck_assert_uint_eq(now.frees, before->frees);
}

/* A suite of one case: every test, on every variant. */
static inline Suite *variants_suite(const char *name, const TTest *const *tests,
                                    size_t count)
{
    Suite *const suite = suite_create(name);
    TCase *const tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_set_timeout(tcase, 20);
    for (size_t i = 0; i < count; i++)
        tcase_add_loop_test(tcase, tests[i], variants_begin(), variants_end());
    suite_add_tcase(suite, tcase);
    return suite;
}

#endif
