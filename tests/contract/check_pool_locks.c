/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* No driver call is made, and no user code runs, while a pool lock is held: a
 * backend that looks at every lock of the pool before it does anything, under
 * work that takes the pool through all its ways to the driver. */

#include "fault.h"
#include "rows.h"
#include "work.h"
#include <kolk/stats.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../pool/core.h"

enum { BLOCKS = 24, STREAMS = 3, STEPS = 400 };

static kolk_pool *watched; /* NULL: nothing to look at yet */
static const kolk_backend *inner;
static size_t looks;

static bool is_free(kolk_lock *lock)
{
    if (!kolk_lock_try(lock))
        return false;
    kolk_lock_release(lock);
    return true;
}

static void assert_unlocked(const char *who)
{
    if (!watched)
        return;
    looks++;
    ck_assert_msg(is_free(&watched->heap.lock), "%s under the heap's lock", who);
    ck_assert_msg(is_free(&watched->scope_lock), "%s under the scopes' lock", who);
    for (size_t i = 0; i < watched->cache_count; i++)
        ck_assert_msg(is_free(&watched->caches[i]->lock),
                      "%s under the lock of stream %zu", who, i);
}

/* clang-format off */
#define X(name, parameters, arguments)         \
    static kolk_status watch_##name parameters \
    {                                          \
        assert_unlocked(#name);                \
        return inner->name arguments;          \
    }
FAULT_CALL_LIST(X)
#undef X
/* clang-format on */

static const kolk_backend watching = {.name = "watching",
#define X(name, parameters, arguments) .name = watch_##name,
                                      FAULT_CALL_LIST(X)
#undef X
};

static kolk_block *blocks[BLOCKS];
static kolk_stream *streams[STREAMS];
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (seed >> 33) % below;
}

static bool free_one(kolk_pool *pool, const kolk_oom *oom, void *argument)
{
    (void)pool;
    (void)oom;
    (void)argument;
    assert_unlocked("the callback");
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i]) {
            kolk_block_free(&blocks[i]);
            return true;
        }
    return false;
}

static void step(kolk_pool *pool)
{
    kolk_block **const block = &blocks[draw(BLOCKS)];
    kolk_stream *const stream = streams[draw(STREAMS)];
    if (!*block) {
        const kolk_status status =
            kolk_block_alloc(pool, (size_t)draw(3 << 20) + 1, stream, block);
        ck_assert(status == KOLK_OK || status == KOLK_OUT_OF_MEMORY);
    } else if (draw(3)) {
        kolk_block_free(block);
    } else {
        kolk_block_free_on(block, stream);
    }
    if (draw(40) == 0)
        kolk_pool_trim(pool, (size_t)draw(8) << 20);
}

static void write_snapshot(kolk_pool *pool)
{
    char path[] = "pool-locks-XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_ok(kolk_pool_snapshot_write(pool, path));
    unlink(path);
}

static void run(int row, bool no_pages)
{
    const kolk_device device = row_device(row);
    const kolk_pool_config config = {
        .limit = 16 << 20, .no_pages = no_pages, .on_oom = free_one};
    inner = kolk_backend_of(device.kind);
    kolk_backend_install(device.kind, &watching);
    kolk_pool *pool;
    ck_assert_ok(kolk_pool_create(device, &config, &pool));
    watched = pool;
    for (int i = 0; i < STREAMS; i++)
        streams[i] = new_stream(device);
    for (int i = 0; i < STEPS; i++)
        step(pool);
    write_snapshot(pool);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_stream_destroy(&streams[0]);
    ck_assert_ok(kolk_pool_set_limit(pool, 64 << 20));
    for (int i = 0; i < BLOCKS; i++)
        kolk_block_free(&blocks[i]);
    kolk_pool_trim(pool, 0);
    ck_assert_uint_gt(looks, 100);
    watched = NULL;
    kolk_pool_destroy(&pool);
    for (int i = 1; i < STREAMS; i++)
        kolk_stream_destroy(&streams[i]);
    kolk_backend_install(device.kind, NULL);
}

START_TEST(no_driver_call_and_no_user_code_runs_under_a_lock)
{
    run(_i, false);
}
END_TEST

START_TEST(nor_with_plain_segments)
{
    run(_i, true);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("pool locks");
    TCase *const tcase = tcase_create("locks");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, no_driver_call_and_no_user_code_runs_under_a_lock,
                        rows_begin(), rows_end());
    tcase_add_loop_test(tcase, nor_with_plain_segments, rows_begin(), rows_end());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
