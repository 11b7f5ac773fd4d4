/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Eight threads on two pools and four streams: blocks are freed by whoever finds
 * them, while others trim, check and read statistics. For ThreadSanitizer, and
 * for the identities afterwards. */

#include "rows.h"
#include "work.h"
#include <kolk/stats.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, OPERATIONS = 100000, POOLS = 2, STREAMS = 4, SHELF = 256 };

/* Blocks on their way from the thread that took them to one that frees them. */
struct shared {
    kolk_pool *pools[POOLS];
    kolk_stream *streams[STREAMS];
    _Atomic(kolk_block *) shelf[SHELF];
    int row;
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    uint64_t seed;
};

static uint64_t draw(struct worker *worker, uint64_t below)
{
    worker->seed = worker->seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (worker->seed >> 33) % below;
}

static kolk_stream *any_stream(struct worker *worker)
{
    return worker->shared->streams[draw(worker, STREAMS)];
}

static void take(struct worker *worker, kolk_block **out)
{
    kolk_pool *const pool = worker->shared->pools[draw(worker, POOLS)];
    const size_t size = (size_t)draw(worker, UINT64_C(1) << (9 + draw(worker, 10))) + 1;
    const kolk_status status = kolk_block_alloc(pool, size, any_stream(worker), out);
    ck_assert(status == KOLK_OK || status == KOLK_OUT_OF_MEMORY);
}

static void give(struct worker *worker, kolk_block *block)
{
    const uint64_t how = draw(worker, 16);
    if (how == 0)
        ck_assert_ok(kolk_block_record(block, any_stream(worker)));
    if (how == 1)
        kolk_block_free_on(&block, any_stream(worker));
    kolk_block_free(&block);
}

/* Puts what it has on the shelf, and frees what lay there. */
static void swap_one(struct worker *worker)
{
    kolk_block *block = NULL;
    if (draw(worker, 4))
        take(worker, &block);
    block = atomic_exchange(&worker->shared->shelf[draw(worker, SHELF)], block);
    if (block)
        give(worker, block);
}

static void look_around(struct worker *worker)
{
    kolk_pool *const pool = worker->shared->pools[draw(worker, POOLS)];
    switch (draw(worker, 4)) {
    case 0:
        kolk_pool_trim(pool, (size_t)draw(worker, 16) << 20);
        break;
    case 1:
        ck_assert_ok(kolk_pool_check(pool));
        break;
    case 2:
        ck_assert_uint_le(kolk_pool_stats_of(pool).reserved.current, 24 << 20);
        break;
    default:
        ck_assert_ok(kolk_stream_synchronize(any_stream(worker)));
        break;
    }
}

static void *work(void *argument)
{
    struct worker *const worker = argument;
    for (int i = 0; i < OPERATIONS; i++)
        if (draw(worker, 2000) == 0)
            look_around(worker);
        else
            swap_one(worker);
    return NULL;
}

static void set_up(struct shared *shared, int row)
{
    const kolk_pool_config configs[POOLS] = {
        {.limit = 24 << 20}, {.limit = 24 << 20, .policy = KOLK_PREFER_MEMORY}};
    *shared = (struct shared){.row = row};
    for (int i = 0; i < POOLS; i++)
        ck_assert_ok(kolk_pool_create(row_device(row), &configs[i], &shared->pools[i]));
    for (int i = 0; i < STREAMS; i++)
        shared->streams[i] = new_stream(row_device(row));
}

static void tear_down(struct shared *shared)
{
    for (int i = 0; i < SHELF; i++) {
        kolk_block *block = shared->shelf[i];
        kolk_block_free(&block);
    }
    for (int i = 0; i < POOLS; i++) {
        ck_assert_ok(kolk_pool_check(shared->pools[i]));
        ck_assert_uint_eq(kolk_pool_stats_of(shared->pools[i]).allocated.current, 0);
        kolk_pool_trim(shared->pools[i], 0);
        ck_assert_uint_eq(kolk_pool_stats_of(shared->pools[i]).reserved.current, 0);
        kolk_pool_destroy(&shared->pools[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&shared->streams[i]);
}

START_TEST(eight_threads_share_two_pools_and_four_streams)
{
    struct shared shared;
    struct worker workers[THREADS];
    set_up(&shared, _i);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = &shared, .seed = (uint64_t)i + 1};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    tear_down(&shared);
}
END_TEST

/* A stream of its own a step; half of its blocks outlive it on the shelf. */
static void step_on_a_new_stream(struct worker *worker)
{
    kolk_pool *const pool = worker->shared->pools[draw(worker, POOLS)];
    kolk_stream *stream = new_stream(row_device(worker->shared->row));
    for (int i = 0; i < 8; i++) {
        kolk_block *block = NULL;
        const size_t size = (size_t)draw(worker, UINT64_C(1) << (9 + draw(worker, 12)));
        const kolk_status status = kolk_block_alloc(pool, size + 1, stream, &block);
        ck_assert(status == KOLK_OK || status == KOLK_OUT_OF_MEMORY);
        if (status == KOLK_OK)
            ck_assert_ok(kolk_fill_queue(stream, kolk_block_data(block), i, size + 1));
        if (i % 2)
            block = atomic_exchange(&worker->shared->shelf[draw(worker, SHELF)], block);
        if (block)
            give(worker, block);
    }
    kolk_stream_destroy(&stream);
}

static void *work_on_new_streams(void *argument)
{
    struct worker *const worker = argument;
    for (int i = 0; i < OPERATIONS / 200; i++)
        if (draw(worker, 50) == 0)
            look_around(worker);
        else
            step_on_a_new_stream(worker);
    return NULL;
}

START_TEST(eight_threads_make_and_destroy_streams_on_two_pools)
{
    struct shared shared;
    struct worker workers[THREADS];
    set_up(&shared, _i);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shared = &shared, .seed = (uint64_t)i + 100};
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work_on_new_streams, &workers[i]),
            0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
    tear_down(&shared);
}
END_TEST

struct contest {
    kolk_pool *pool;
    pthread_barrier_t barrier;
    atomic_int won;
    _Atomic(kolk_block *) blocks[16];
};

static void *compete(void *argument)
{
    struct contest *const contest = argument;
    kolk_block *block = NULL;
    pthread_barrier_wait(&contest->barrier);
    if (kolk_block_alloc(contest->pool, 2 << 20, NULL, &block) == KOLK_OK)
        contest->blocks[atomic_fetch_add(&contest->won, 1)] = block;
    return NULL;
}

/* rmm #868: check-then-act let two threads together pass the limit. */
START_TEST(sixteen_threads_cannot_pass_the_limit_together)
{
    pthread_t threads[16];
    struct contest contest = {.won = 0};
    ck_assert_ok(kolk_pool_create(
        row_device(_i), &(kolk_pool_config){.limit = 20 << 20}, &contest.pool));
    pthread_barrier_init(&contest.barrier, NULL, 16);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, compete, &contest), 0);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(contest.won, 10);
    ck_assert_uint_eq(kolk_pool_stats_of(contest.pool).reserved.peak, 20 << 20);
    for (int i = 0; i < contest.won; i++) {
        kolk_block *block = contest.blocks[i];
        kolk_block_free(&block);
    }
    pthread_barrier_destroy(&contest.barrier);
    kolk_pool_destroy(&contest.pool);
}
END_TEST

/* One device of a kind: a second emulated one has the same code to race in. */
static int last_row(void)
{
    return rows_end() < 2 ? rows_end() : 2;
}

int main(void)
{
    Suite *const suite = suite_create("pool threads");
    TCase *const tcase = tcase_create("threads");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, eight_threads_share_two_pools_and_four_streams,
                        rows_begin(), last_row());
    tcase_add_loop_test(tcase, eight_threads_make_and_destroy_streams_on_two_pools,
                        rows_begin(), last_row());
    tcase_add_loop_test(tcase, sixteen_threads_cannot_pass_the_limit_together,
                        rows_begin(), last_row());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
