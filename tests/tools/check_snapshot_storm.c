/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Snapshots of pools in the midst of random work, on the host and on emulated
 * devices, where freed blocks really wait: each must read and hold together. */

#include "../../tools/kolk/check.h"
#include "../support/rows.h"
#include "../support/work.h"
#include "file.h"
#include <kolk/stats.h>
#include <string.h>

enum { SLOTS = 60, STREAMS = 4, STEPS = 1000, STEPS_A_SNAPSHOT = 50 };

typedef struct storm {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    kolk_block *blocks[SLOTS];
    uint64_t seed;
    uint64_t pending; /* most bytes seen waiting in a snapshot */
} storm;

static char *folder;

static void start(void)
{
    rows_start();
    folder = folder_make();
}

static void finish(void)
{
    folder_remove(&folder);
    rows_finish();
}

static size_t draw(storm *s, size_t below)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(s->seed >> 33) % below;
}

static void allocate(storm *s, kolk_block **block)
{
    kolk_stream *const stream = s->streams[draw(s, STREAMS)];
    const kolk_alloc_options options = {.tag = (kolk_tag)draw(s, KOLK_TAG_COUNT)};
    const size_t size = 1 + draw(s, (size_t)1 << (8 + draw(s, 13)));
    const kolk_status status =
        kolk_block_alloc_with(s->pool, size, &options, stream, block);
    if (status == KOLK_OK)
        ck_assert_ok(kolk_fill_queue(stream, kolk_block_data(*block), 1, size));
    else
        ck_assert_int_eq(status, KOLK_OUT_OF_MEMORY);
}

static void replace_stream(storm *s)
{
    kolk_stream **const stream = &s->streams[draw(s, STREAMS)];
    kolk_stream_destroy(stream);
    *stream = new_stream(kolk_pool_device(s->pool));
}

static void step(storm *s)
{
    kolk_block **const block = &s->blocks[draw(s, SLOTS)];
    if (*block == NULL)
        allocate(s, block);
    else if (draw(s, 2) == 0)
        ck_assert_ok(kolk_block_record(*block, s->streams[draw(s, STREAMS)]));
    else
        kolk_block_free(block);
    if (draw(s, 200) == 0)
        (void)kolk_pool_trim(s->pool, draw(s, 8) << 20);
    if (draw(s, 100) == 0)
        replace_stream(s);
#ifdef KOLK_TESTS_EMULATED
    emu_shuffle(draw(s, 3));
#endif
}

static kolk_snapshot *take_snapshot(storm *s)
{
    size_t size;
    kolk_complaint why;
    ck_assert_ok(kolk_pool_snapshot_write(s->pool, path_in(folder, "storm")));
    char *text KOLK_AUTO(text_free) = file_read(path_in(folder, "storm"), &size);
    kolk_snapshot *const snapshot = kolk_snapshot_parse(text, size, &why);
    ck_assert_msg(snapshot != NULL, "offset %zu: %s", why.offset, why.reason);
    return snapshot;
}

static void look(storm *s)
{
    kolk_findings findings;
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = take_snapshot(s);
    const kolk_pool_stats stats = kolk_pool_stats_of(s->pool);
    ck_assert_uint_eq(snapshot->requested.current, stats.requested.current);
    ck_assert_uint_eq(snapshot->reserved.peak, stats.reserved.peak);
    ck_assert(kolk_snapshot_check(snapshot, &findings));
    for (size_t i = 0; i < findings.count; i++)
        ck_assert_msg(findings.identities[i].violations == 0, "%s: %s",
                      findings.identities[i].name, findings.identities[i].detail);
    const uint64_t pending = snapshot->active.current - snapshot->allocated.current;
    s->pending = pending > s->pending ? pending : s->pending;
}

static const kolk_pool_config configs[] = {
    {.name = "default"},
    {.name = "short", .limit = 8 << 20},
    {.name = "thrifty", .limit = 8 << 20, .policy = KOLK_PREFER_MEMORY},
    {.name = "plain", .limit = 16 << 20, .no_pages = true},
    {.name = "wide", .limit = 24 << 20, .page_size = 6 << 20},
};

enum { CONFIGS = sizeof configs / sizeof configs[0] };

START_TEST(a_snapshot_holds_together_whatever_the_pool_is_doing)
{
    const kolk_device device = row_device(_i / CONFIGS);
    storm s = {.seed = (uint64_t)_i + 1};
    ck_assert_ok(kolk_pool_create(device, &configs[_i % CONFIGS], &s.pool));
    look(&s);
    for (int i = 0; i < STREAMS; i++)
        s.streams[i] = new_stream(device);
    for (int i = 0; i < STEPS; i++) {
        step(&s);
        if (i % STEPS_A_SNAPSHOT == 0)
            look(&s);
    }
    ck_assert(device.kind == KOLK_HOST || s.pending > 0);
    for (int i = 0; i < SLOTS; i++)
        kolk_block_free(&s.blocks[i]);
    look(&s);
    (void)kolk_pool_trim(s.pool, 0);
    look(&s);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&s.streams[i]);
    look(&s);
    kolk_pool_destroy(&s.pool);
}
END_TEST

/* Once nothing waits for a stream any more. */
START_TEST(what_a_snapshot_calls_returnable_is_what_a_trim_gives_back)
{
    const kolk_device device = row_device(_i / CONFIGS);
    storm s = {.seed = (uint64_t)_i + 100};
    ck_assert_ok(kolk_pool_create(device, &configs[_i % CONFIGS], &s.pool));
    for (int i = 0; i < STREAMS; i++)
        s.streams[i] = new_stream(device);
    for (int i = 0; i < STEPS; i++)
        step(&s);
    ck_assert_uint_eq(kolk_pool_trim(s.pool, SIZE_MAX), 0);
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = take_snapshot(&s);
    const uint64_t returnable = kolk_snapshot_returnable(snapshot);
    ck_assert_uint_eq(kolk_pool_trim(s.pool, 0), returnable);
    for (int i = 0; i < SLOTS; i++)
        kolk_block_free(&s.blocks[i]);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&s.streams[i]);
    kolk_pool_destroy(&s.pool);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("snapshot_storm");
    TCase *const tcase = tcase_create("storm");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_snapshot_holds_together_whatever_the_pool_is_doing,
                        rows_begin() * CONFIGS, rows_end() * CONFIGS);
    tcase_add_loop_test(tcase,
                        what_a_snapshot_calls_returnable_is_what_a_trim_gives_back,
                        rows_begin() * CONFIGS, rows_end() * CONFIGS);
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
