/* SPDX-License-Identifier: MIT */

/* Every call to the backend refused in turn, in everything a pool does. After
 * each refusal the pool is whole, works, and gives every object back. */

#include "fault.h"
#include "pool_rig.h"

enum { A, B, STREAMS, MOST_CALLS = 400 };

struct rig {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
    kolk_block *blocks[4];
};

/* A scenario makes ready, and then does what is watched. What it takes it leaves
 * in `blocks`. */
struct scenario {
    const char *name;
    size_t limit;
    void (*ready)(struct rig *rig);
    void (*act)(struct rig *rig);
};

/* Into a slot that is empty; on failure it stays so. */
static void take(struct rig *rig, size_t size, int stream)
{
    int slot = 0;
    while (rig->blocks[slot])
        slot++;
    const kolk_status status =
        kolk_block_alloc(rig->pool, size, rig->streams[stream], &rig->blocks[slot]);
    ck_assert((status == KOLK_OK) == (rig->blocks[slot] != NULL));
}

static void have(struct rig *rig, int slot, size_t size, int stream)
{
    rig->blocks[slot] = new_block(rig->pool, size, rig->streams[stream]);
    use(rig->blocks[slot], rig->streams[stream]);
}

static void nothing(struct rig *rig)
{
    (void)rig;
}

static void take_small(struct rig *rig)
{
    take(rig, 300, A);
}

static void take_large(struct rig *rig)
{
    take(rig, 7 * MIB, A);
}

static void have_one(struct rig *rig)
{
    have(rig, 0, 2 * MIB, A);
}

static void free_one(struct rig *rig)
{
    kolk_block_free(&rig->blocks[0]);
}

static void free_on_another(struct rig *rig)
{
    kolk_block_free_on(&rig->blocks[0], rig->streams[B]);
}

static void record_and_free(struct rig *rig)
{
    if (kolk_block_record(rig->blocks[0], rig->streams[B]) != KOLK_OK)
        ck_assert_int_ne(kolk_last_error()->status, KOLK_OK);
    kolk_block_free(&rig->blocks[0]);
    take(rig, 2 * MIB, A);
}

static void freed_on_a(struct rig *rig)
{
    have_one(rig);
    free_one(rig);
}

static void take_on_b(struct rig *rig)
{
    take(rig, 2 * MIB, B);
}

static void have_pieces(struct rig *rig)
{
    for (int i = 0; i < 4; i++)
        have(rig, i, 2 * MIB, i % 2);
    kolk_block_free(&rig->blocks[0]);
    kolk_block_free(&rig->blocks[2]);
}

static void have_run(struct rig *rig)
{
    have(rig, 0, 7 * MIB, A);
    kolk_block_free(&rig->blocks[0]);
}

static void take_joined(struct rig *rig)
{
    take(rig, 4 * MIB, A);
}

static void trim(struct rig *rig)
{
    kolk_pool_trim(rig->pool, 0);
}

static void lower_limit(struct rig *rig)
{
    const kolk_status status = kolk_pool_set_limit(rig->pool, 4 * MIB);
    ck_assert(status == KOLK_OK || status == KOLK_OUT_OF_RANGE);
}

static void lose_stream(struct rig *rig)
{
    have(rig, 0, 2 * MIB, A);
    have(rig, 1, 100, A);
    kolk_block_free(&rig->blocks[0]);
}

static void destroy_stream(struct rig *rig)
{
    kolk_stream_destroy(&rig->streams[A]);
    kolk_block_free(&rig->blocks[1]);
    take(rig, 2 * MIB, B);
}

static const struct scenario scenarios[] = {
    {"small", 0, nothing, take_small},
    {"large", 0, nothing, take_large},
    {"free", 0, have_one, free_one},
    {"free on another", 0, have_one, free_on_another},
    {"record", 0, have_one, record_and_free},
    {"record at the limit", 2 * MIB, have_one, record_and_free},
    {"grow", 0, have_one, take_large},
    {"cross-stream", 2 * MIB, freed_on_a, take_on_b},
    {"remap", 8 * MIB, have_pieces, take_joined},
    {"trim", 0, have_pieces, trim},
    {"trim of many pages", 0, have_run, trim},
    {"limit", 0, have_pieces, lower_limit},
    {"stream destroyed", 2 * 4 * MIB, lose_stream, destroy_stream},
};

static void set_up(struct rig *rig, int variant, size_t limit)
{
    *rig = (struct rig){.pool = NULL};
    rig->pool = new_pool(variant, (kolk_pool_config){.limit = limit});
    for (int i = 0; i < STREAMS; i++)
        rig->streams[i] = new_stream(row_device(variant / 2));
}

static void assert_whole(struct rig *rig, size_t size)
{
    kolk_block *block = NULL;
    ck_assert_ok(kolk_pool_check(rig->pool));
    for (int i = 0; i < 4; i++)
        kolk_block_free(&rig->blocks[i]);
    ck_assert_ok(kolk_block_alloc(rig->pool, size, rig->streams[B], &block));
    use(block, rig->streams[B]);
    kolk_block_free(&block);
    ck_assert_uint_eq(kolk_pool_stats_of(rig->pool).allocated.current, 0);
    ck_assert_ok(kolk_pool_check(rig->pool));
}

/* Work that is queued must be done before the memory under it goes. */
static void tear_down(struct rig *rig, const char *name, fault_call which, size_t k)
{
    kolk_pool_destroy(&rig->pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&rig->streams[i]);
    const fault_objects now = fault_objects_now();
    ck_assert_msg(fault_nothing_lives(),
                  "%s: call %zu, %s, left memories %ld, ranges %ld, pages %ld, "
                  "mappings %ld, streams %ld, events %ld",
                  name, k, fault_call_name(which), now.memories, now.ranges, now.pages,
                  now.mappings, now.streams, now.events);
}

/* True while there is a k-th call to refuse. */
static bool refused(const struct scenario *scenario, int variant, size_t k, bool onward)
{
    struct rig rig;
    fault_install(row_device(variant / 2).kind);
    set_up(&rig, variant, scenario->limit);
    scenario->ready(&rig);
    (onward ? fault_from : fault_at)(FAULT_ANY, k);
    scenario->act(&rig);
    const fault_call which = fault_refused();
    fault_at(FAULT_ANY, 0);
    assert_whole(&rig, scenario->limit == 2 * MIB ? 2 * MIB : 100);
    tear_down(&rig, scenario->name, which, k);
    fault_remove();
    return which != FAULT_ANY;
}

static void refuse_each(int variant, bool onward)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        size_t k = 1;
        while (refused(&scenarios[i], variant, k, onward))
            k++;
        ck_assert_msg(k < MOST_CALLS, "%s makes %zu calls", scenarios[i].name, k);
    }
}

START_TEST(nothing_is_lost_when_one_call_is_refused)
{
    refuse_each(_i, false);
}
END_TEST

START_TEST(nothing_is_lost_when_a_call_and_all_after_it_are_refused)
{
    refuse_each(_i, true);
}
END_TEST

/* Nobody can ask again for what is refused then; all else must be given back. */
static bool destroyed(int variant, size_t k)
{
    struct rig rig;
    fault_install(row_device(variant / 2).kind);
    set_up(&rig, variant, 0);
    have_pieces(&rig);
    kolk_block_free(&rig.blocks[1]);
    kolk_block_free(&rig.blocks[3]);
    fault_at(FAULT_ANY, k);
    kolk_pool_destroy(&rig.pool);
    const bool any = fault_refused() != FAULT_ANY;
    fault_at(FAULT_ANY, 0);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&rig.streams[i]);
    const fault_objects now = fault_objects_now();
    ck_assert_int_le(now.memories + now.ranges + now.pages, 2);
    ck_assert_int_eq(now.streams + now.events, 0);
    fault_remove();
    return any;
}

START_TEST(destroying_a_pool_goes_on_after_a_refusal)
{
    for (size_t k = 1; destroyed(_i, k); k++)
        ck_assert_uint_lt(k, MOST_CALLS);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_lost_when_one_call_is_refused,
        nothing_is_lost_when_a_call_and_all_after_it_are_refused,
    };
    Suite *const suite =
        variants_suite("pool faults", tests, sizeof tests / sizeof *tests);
    TCase *const tcase = tcase_create("the end");
    tcase_add_checked_fixture(tcase, rows_start, fault_remove);
    tcase_add_loop_test(tcase, destroying_a_pool_goes_on_after_a_refusal,
                        variants_begin(), variants_end());
    suite_add_tcase(suite, tcase);
    return rows_run(suite);
}
