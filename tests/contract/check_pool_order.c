/* SPDX-License-Identifier: MIT */

/* Stream order: who may reuse freed memory, and when. On emulated devices the
 * oracle aborts at work on the same bytes with no order between. */

#include "pool_rig.h"
#ifdef KOLK_TESTS_EMULATED
#include <kolk/cuda.h>
#endif

enum { A, B, C, STREAMS };

struct rig {
    kolk_pool *pool;
    kolk_stream *streams[STREAMS];
};

static void set_up(struct rig *rig, int variant, kolk_pool_config config)
{
    rig->pool = new_pool(variant, config);
    for (int i = 0; i < STREAMS; i++)
        rig->streams[i] = new_stream(kolk_pool_device(rig->pool));
}

static void tear_down(struct rig *rig)
{
    drop_pool(&rig->pool);
    for (int i = 0; i < STREAMS; i++)
        kolk_stream_destroy(&rig->streams[i]);
}

static kolk_block *take(struct rig *rig, size_t size, int stream)
{
    kolk_block *const block = new_block(rig->pool, size, rig->streams[stream]);
    use(block, rig->streams[stream]);
    return block;
}

static void *address_of(struct rig *rig, size_t size, int stream)
{
    kolk_block *block = take(rig, size, stream);
    void *const address = kolk_block_data(block);
    kolk_block_free(&block);
    return address;
}

static uint64_t waits_for_the_host(const kolk_pool *pool)
{
    return calls(pool, KOLK_CALL_EVENT_SYNCHRONIZE) +
           calls(pool, KOLK_CALL_DEVICE_SYNCHRONIZE);
}

static const size_t sizes[] = {1, 4 * KIB, 100 * KIB, MIB, MIB + 1, 3 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(the_same_stream_reuses_at_once_without_a_driver_call)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        void *const first = address_of(&rig, sizes[i], A);
        const uint64_t before = kolk_pool_driver_calls(rig.pool);
        for (int k = 0; k < 10; k++)
            ck_assert_ptr_eq(address_of(&rig, sizes[i], A), first);
        ck_assert_uint_eq(kolk_pool_driver_calls(rig.pool), before);
    }
    tear_down(&rig);
}
END_TEST

/* DALI #2983, rmm #1655: reused before the work was done. */
START_TEST(another_stream_gets_other_memory_while_the_work_is_pending)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES && is_lazy(_i); i++) {
        void *const first = address_of(&rig, sizes[i], A);
        ck_assert_ptr_ne(address_of(&rig, sizes[i], B), first);
    }
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).cross_stream_waits, 0);
    ck_assert_uint_eq(waits_for_the_host(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

/* pytorch #186232: idle segments under one stream were of no use to another. */
START_TEST(a_block_whose_work_is_complete_belongs_to_no_stream)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        address_of(&rig, sizes[i], A);
        ck_assert_ok(kolk_stream_synchronize(rig.streams[A]));
        const uint64_t before = reserved(rig.pool);
        address_of(&rig, sizes[i], B);
        ck_assert_uint_eq(reserved(rig.pool), before);
        ck_assert_ok(kolk_stream_synchronize(rig.streams[B]));
    }
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).cross_stream_waits, 0);
    ck_assert_uint_eq(waits_for_the_host(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

START_TEST(another_stream_may_be_made_to_wait_on_the_device)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 2 * MIB});
    void *const first = address_of(&rig, 2 * MIB, A);
    ck_assert_ptr_eq(address_of(&rig, 2 * MIB, B), first);
    ck_assert_ptr_eq(address_of(&rig, 2 * MIB, C), first);
    ck_assert_ptr_eq(address_of(&rig, 2 * MIB, A), first);
    ck_assert_uint_eq(waits_for_the_host(rig.pool), 0);
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).cross_stream_waits,
                      is_lazy(_i) ? 3 : 0);
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).ooms, 0);
    tear_down(&rig);
}
END_TEST

/* H3: a free that names no stream lets A take what B still uses. */
static void free_on_the_user(struct rig *rig, bool by_pointer)
{
    kolk_block *block = NULL;
    void *data = kolk_malloc(rig->pool, 2 * MIB, rig->streams[A]);
    if (!by_pointer) {
        ck_assert_ok(kolk_free(rig->pool, data, rig->streams[A]));
        block = new_block(rig->pool, 2 * MIB, rig->streams[A]);
        data = kolk_block_data(block);
    }
    order(rig->streams[B], rig->streams[A]);
    ck_assert_ok(kolk_fill_queue(rig->streams[B], data, 2, 2 * MIB));
    if (by_pointer)
        ck_assert_ok(kolk_free(rig->pool, data, rig->streams[B]));
    else
        kolk_block_free_on(&block, rig->streams[B]);
}

START_TEST(what_b_freed_is_ordered_after_b_when_a_takes_it_again)
{
    for (int by_pointer = 0; by_pointer < 2; by_pointer++) {
        struct rig rig;
        set_up(&rig, _i, (kolk_pool_config){.limit = 2 * MIB});
        for (int i = 0; i < 50; i++) {
            free_on_the_user(&rig, by_pointer);
            address_of(&rig, 2 * MIB, A); /* the oracle watches */
        }
        tear_down(&rig);
    }
}
END_TEST

/* H1: after free lists are merged, a third stream must wait for both. */
START_TEST(merged_memory_is_ordered_after_all_its_former_users)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 4 * MIB});
    for (int turn = 0; turn < 6; turn++) {
        kolk_block *a = take(&rig, 2 * MIB, (A + turn) % STREAMS);
        kolk_block *b = take(&rig, 2 * MIB, (B + turn) % STREAMS);
        kolk_block_free(&a);
        kolk_block_free(&b);
        address_of(&rig, 4 * MIB, (C + turn) % STREAMS);
        address_of(&rig, 4 * MIB, (A + turn) % STREAMS);
    }
    tear_down(&rig);
}
END_TEST

START_TEST(small_neighbours_of_three_streams_are_merged_in_order)
{
    struct rig rig;
    kolk_block *blocks[60];
    set_up(&rig, _i, (kolk_pool_config){.limit = is_plain(_i) ? 4 * MIB : 2 * MIB});
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 60; i++)
            blocks[i] = take(&rig, 32 * KIB, i % STREAMS);
        for (int i = 0; i < 60; i++)
            kolk_block_free(&blocks[i]);
        address_of(&rig, MIB, turn % STREAMS);
    }
    tear_down(&rig);
}
END_TEST

/* pytorch #36990: what active means. */
START_TEST(a_recorded_block_waits_for_the_work_recorded)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (size_t i = 0; i < SIZES; i++) {
        kolk_block *block = take(&rig, sizes[i], A);
        void *const first = kolk_block_data(block);
        order(rig.streams[B], rig.streams[A]);
        use(block, rig.streams[B]);
        ck_assert_ok(kolk_block_record(block, rig.streams[B]));
        kolk_block_free(&block);
        ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).allocated.current, 0);
        if (is_lazy(_i)) {
            ck_assert_uint_ge(kolk_pool_stats_of(rig.pool).active.current, sizes[i]);
            ck_assert_ptr_ne(address_of(&rig, sizes[i], A), first);
        }
        ck_assert_ok(kolk_stream_synchronize(rig.streams[B]));
        kolk_pool_trim(rig.pool, SIZE_MAX);
        ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).active.current, 0);
    }
    tear_down(&rig);
}
END_TEST

/* pytorch #27366: use of a shifted view must hold the whole block. */
START_TEST(a_record_may_name_any_address_inside_a_block)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (size_t i = 1; i < SIZES; i++) {
        char *const data = kolk_malloc(rig.pool, sizes[i], rig.streams[A]);
        order(rig.streams[B], rig.streams[A]);
        ck_assert_ok(kolk_fill_queue(rig.streams[B], data, 3, sizes[i]));
        ck_assert_ok(
            kolk_record(rig.pool, data + i * sizes[i] / SIZES, rig.streams[B]));
        ck_assert_ok(kolk_free(rig.pool, data, rig.streams[A]));
        if (is_lazy(_i))
            ck_assert_ptr_ne(address_of(&rig, sizes[i], A), data);
    }
    tear_down(&rig);
}
END_TEST

/* pytorch #155889, #104925: a record on the block's own stream is harmless. */
START_TEST(a_record_on_its_own_stream_costs_nothing)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    kolk_block *block = take(&rig, 4 * KIB, A);
    void *const first = kolk_block_data(block);
    const uint64_t before = kolk_pool_driver_calls(rig.pool);
    for (int i = 0; i < 100; i++)
        ck_assert_ok(kolk_block_record(block, rig.streams[A]));
    kolk_block_free(&block);
    ck_assert_ptr_eq(address_of(&rig, 4 * KIB, A), first);
    ck_assert_uint_eq(kolk_pool_driver_calls(rig.pool), before);
    tear_down(&rig);
}
END_TEST

/* pytorch #147168: memory held while the host runs ahead. */
START_TEST(a_loop_that_records_stays_in_a_window_when_memory_is_preferred)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.policy = KOLK_PREFER_MEMORY});
    for (int i = 0; i < 100; i++) {
        kolk_block *block = take(&rig, 2 * MIB, A);
        order(rig.streams[B], rig.streams[A]);
        use(block, rig.streams[B]);
        ck_assert_ok(kolk_block_record(block, rig.streams[B]));
        kolk_block_free(&block);
    }
    ck_assert_uint_le(reserved(rig.pool), 8 * MIB);
    ck_assert_uint_eq(waits_for_the_host(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

/* cub #373: in the cache before its event was recorded. The fence of a record
 * comes before the block is anybody's. */
START_TEST(the_fence_is_taken_before_the_block_is_visible)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 2 * MIB});
    for (int i = 0; i < 20; i++) {
        kolk_block *block = take(&rig, 2 * MIB, A);
        order(rig.streams[B], rig.streams[A]);
        use(block, rig.streams[B]);
        ck_assert_ok(kolk_block_record(block, rig.streams[B]));
        kolk_block_free(&block);
        address_of(&rig, 2 * MIB, i % STREAMS);
    }
    tear_down(&rig);
}
END_TEST

/* rmm #850: cycling over streams inserted needless waits. */
START_TEST(streams_with_memory_of_their_own_never_wait)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){0});
    for (int i = 0; i < 300; i++)
        address_of(&rig, sizes[i % SIZES], i % STREAMS);
    ck_assert_uint_eq(kolk_pool_stats_of(rig.pool).cross_stream_waits, 0);
    ck_assert_uint_eq(waits_for_the_host(rig.pool), 0);
    tear_down(&rig);
}
END_TEST

/* rmm #510: stealing from a destroyed stream's list. */
START_TEST(memory_of_a_destroyed_stream_serves_others_in_order)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = is_plain(_i) ? 12 * MIB : 4 * MIB});
    for (int i = 0; i < 8; i++) {
        kolk_block *late = take(&rig, MIB, A);
        address_of(&rig, 2 * MIB, A);
        kolk_stream_destroy(&rig.streams[A]);
        kolk_block_free(&late); /* its stream is gone */
        address_of(&rig, 3 * MIB, B);
        address_of(&rig, MIB, C);
        rig.streams[A] = new_stream(kolk_pool_device(rig.pool));
        ck_assert_ok(kolk_pool_check(rig.pool));
    }
    tear_down(&rig);
}
END_TEST

/* pytorch P30, rmm #649: the new stream has the old one's handle, not its memory. */
START_TEST(a_reused_handle_is_another_stream)
{
    struct rig rig;
    set_up(&rig, _i, (kolk_pool_config){.limit = 6 * MIB});
    for (int i = 0; i < 20; i++) {
        void *const first = address_of(&rig, 2 * MIB, A);
        const uint64_t id = kolk_stream_id(rig.streams[A]);
        kolk_stream_destroy(&rig.streams[A]);
        rig.streams[A] = new_stream(kolk_pool_device(rig.pool));
        ck_assert_uint_ne(kolk_stream_id(rig.streams[A]), id);
        if (is_lazy(_i) && i == 0)
            ck_assert_ptr_ne(address_of(&rig, 2 * MIB, A), first);
        else
            address_of(&rig, 2 * MIB, A);
    }
    tear_down(&rig);
}
END_TEST

#ifdef KOLK_TESTS_EMULATED
static kolk_stream *wrap(int variant, cudaStream_t *handle)
{
    kolk_stream *stream = NULL;
    ck_assert_int_eq(cudaSetDevice(variant / 2 - 1), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(handle, cudaStreamNonBlocking), 0);
    ck_assert_ok(kolk_stream_wrap(variant / 2 - 1, *handle, &stream));
    return stream;
}

START_TEST(a_wrapped_stream_may_be_destroyed_and_its_handle_reused)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){.limit = 6 * MIB});
    cudaStream_t handle;
    cudaStream_t former = NULL;
    for (int i = 0; i < 20; i++) {
        kolk_stream *stream = wrap(_i, &handle);
        ck_assert(!former || former == handle);
        former = handle;
        kolk_block *block = new_block(pool, 2 * MIB, stream);
        use(block, stream);
        if (i % 2)
            kolk_block_free(&block);
        kolk_stream_destroy(&stream);
        ck_assert_int_eq(cudaStreamDestroy(handle), 0);
        kolk_block_free(&block);
    }
    drop_pool(&pool);
}
END_TEST
#endif

int main(void)
{
    const TTest *const tests[] = {
        the_same_stream_reuses_at_once_without_a_driver_call,
        another_stream_gets_other_memory_while_the_work_is_pending,
        a_block_whose_work_is_complete_belongs_to_no_stream,
        another_stream_may_be_made_to_wait_on_the_device,
        what_b_freed_is_ordered_after_b_when_a_takes_it_again,
        merged_memory_is_ordered_after_all_its_former_users,
        small_neighbours_of_three_streams_are_merged_in_order,
        a_recorded_block_waits_for_the_work_recorded,
        a_record_may_name_any_address_inside_a_block,
        a_record_on_its_own_stream_costs_nothing,
        a_loop_that_records_stays_in_a_window_when_memory_is_preferred,
        the_fence_is_taken_before_the_block_is_visible,
        streams_with_memory_of_their_own_never_wait,
        memory_of_a_destroyed_stream_serves_others_in_order,
        a_reused_handle_is_another_stream,
    };
    Suite *const suite =
        variants_suite("pool order", tests, sizeof tests / sizeof *tests);
#ifdef KOLK_TESTS_EMULATED
    TCase *const tcase = tcase_create("wrapped");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, a_wrapped_stream_may_be_destroyed_and_its_handle_reused,
                        2, variants_end());
    suite_add_tcase(suite, tcase);
#endif
    return rows_run(suite);
}
