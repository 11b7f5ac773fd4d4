/* SPDX-License-Identifier: MIT */

/* Streams that free for each other, that come and go, and what all of it costs.
 * On the emulator, held streams show that nothing waits for them on the host,
 * and the oracle sees every touch that is not ordered. */

#include "pool_rig.h"
#ifdef KOLK_TESTS_EMULATED
#include <kolk/cuda.h>
#endif

static kolk_pool *pool;
static kolk_stream *a, *b, *c;

static void begin(int variant, kolk_pool_config config)
{
    pool = new_pool(variant, config);
    a = new_stream(kolk_pool_device(pool));
    b = new_stream(kolk_pool_device(pool));
    c = new_stream(kolk_pool_device(pool));
}

static void end(void)
{
    drop_pool(&pool);
    kolk_stream_destroy(&a);
    kolk_stream_destroy(&b);
    kolk_stream_destroy(&c);
}

static void *take_used(size_t size, kolk_stream *stream, kolk_block **block)
{
    *block = new_block(pool, size, stream);
    use(*block, stream);
    return kolk_block_data(*block);
}

/* Address of `size` bytes that were used and freed on the stream. */
static void *leave(size_t size, kolk_stream *stream)
{
    kolk_block *block;
    void *const data = take_used(size, stream, &block);
    kolk_block_free(&block);
    return data;
}

static uint64_t waits(void)
{
    return kolk_pool_stats_of(pool).cross_stream_waits;
}

/* One wait puts a stream behind everything freed before it. */
START_TEST(a_stream_does_not_wait_twice_for_the_same_work)
{
    begin(_i, (kolk_pool_config){.limit = 16 * MIB});
    kolk_block *blocks[4];
    hold(a, true);
    for (int i = 0; i < 4; i++)
        take_used(4 * MIB, a, &blocks[i]);
    for (int i = 0; i < 4; i++)
        kolk_block_free(&blocks[i]);
    for (int i = 0; i < 4; i++)
        take_used(4 * MIB, b, &blocks[i]);
    ck_assert_uint_eq(waits(), is_lazy(_i));
    for (int i = 0; i < 4; i++)
        kolk_block_free(&blocks[i]);
    hold(a, false);
    end();
}
END_TEST

static void free_handle_on(kolk_block *block, kolk_stream *stream)
{
    kolk_block_free_on(&block, stream);
    ck_assert_ptr_null(block);
}

static void free_pointer_on(kolk_block *block, kolk_stream *stream)
{
    ck_assert_ok(kolk_free(pool, kolk_block_data(block), stream));
}

/* CUB, a free that names no stream: 996 of 1,000 steps raced. */
static void free_elsewhere(int variant, void (*give)(kolk_block *, kolk_stream *))
{
    begin(variant, (kolk_pool_config){.limit = 8 * MIB});
    for (int i = 0; i < 50; i++) {
        kolk_block *block;
        take_used(8 * MIB, a, &block);
        order(b, a);
        use(block, b);
        give(block, b);
        take_used(8 * MIB, i % 2 ? a : c, &block);
        kolk_block_free(&block);
    }
    end();
}

START_TEST(a_block_handle_freed_on_another_stream_comes_back_after_its_work)
{
    free_elsewhere(_i, free_handle_on);
}
END_TEST

START_TEST(a_pointer_freed_on_another_stream_comes_back_after_its_work)
{
    free_elsewhere(_i, free_pointer_on);
}
END_TEST

START_TEST(memory_of_a_destroyed_stream_comes_after_its_work)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    for (int i = 0; i < 20; i++) {
        kolk_block *block;
        take_used(8 * MIB, a, &block);
        if (i % 2)
            kolk_block_free(&block);
        const uint64_t id = kolk_stream_id(a);
        kolk_stream_destroy(&a);
        a = new_stream(kolk_pool_device(pool)); /* with the same handle */
        ck_assert_uint_ne(kolk_stream_id(a), id);
        kolk_block_free(&block);
        leave(8 * MIB, a);
        leave(8 * MIB, b);
    }
    end();
}
END_TEST

START_TEST(a_block_recorded_on_a_destroyed_stream_comes_after_its_work)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    for (int i = 0; i < 20; i++) {
        kolk_block *block;
        take_used(8 * MIB, a, &block);
        order(b, a);
        use(block, b);
        ck_assert_ok(kolk_block_record(block, b));
        if (i % 2)
            kolk_block_free(&block);
        kolk_stream_destroy(&b);
        b = new_stream(kolk_pool_device(pool));
        kolk_block_free(&block);
        leave(8 * MIB, i % 3 ? a : b);
    }
    end();
}
END_TEST

/* A step of a program that makes its streams anew. */
static void step_with_a_new_stream(size_t step)
{
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_block *block;
    take_used(64 * KIB + step % 7, stream, &block);
    ck_assert_ok(kolk_block_record(block, a));
    kolk_block_free(&block);
    take_used(1 * KIB, a, &block);
    kolk_block_free_on(&block, stream);
    ck_assert_ok(kolk_stream_synchronize(stream));
    ck_assert_ok(kolk_stream_synchronize(a));
    kolk_stream_destroy(&stream);
}

START_TEST(a_thousand_streams_leave_no_bookkeeping_behind)
{
    begin(_i, (kolk_pool_config){0});
    for (size_t i = 0; i < 200; i++)
        step_with_a_new_stream(i);
    const uint64_t before = kolk_pool_stats_of(pool).bookkeeping;
    const uint64_t bytes = reserved(pool);
    for (size_t i = 0; i < 1000; i++)
        step_with_a_new_stream(i);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).bookkeeping, before);
    ck_assert_uint_eq(reserved(pool), bytes);
    end();
}
END_TEST

/* The owner's order counts as well as the user's, whichever is found first. */
static void hold_for_another(int variant, bool user_is_first)
{
    begin(variant, (kolk_pool_config){.limit = (user_is_first ? 20 : 16) * MIB});
    kolk_block *held[2], *other;
    if (user_is_first)
        leave(1, b);
    for (int i = 0; i < 2; i++)
        take_used(8 * MIB - 512, a, &held[i]);
    order(b, a);
    hold(a, true);
    hold(b, true);
    for (int i = 0; i < 2; i++) {
        use(held[i], b);
        ck_assert_ok(kolk_block_record(held[i], b));
        kolk_block_free(&held[i]);
    }
    take_used(8 * MIB - 512, c, &other);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_EVENT_SYNCHRONIZE), 0);
    kolk_block_free(&other);
    hold(a, false);
    hold(b, false);
    end();
}

START_TEST(a_third_stream_gets_what_its_owner_freed_and_another_uses)
{
    hold_for_another(_i, false);
}
END_TEST

START_TEST(so_it_does_if_the_user_was_known_before_the_owner)
{
    hold_for_another(_i, true);
}
END_TEST

/* Its own use needs no event: it comes before whatever it asks memory for. */
START_TEST(a_stream_waits_only_for_the_owner_of_what_it_used_itself)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_block *block;
    hold(a, true);
    hold(b, true);
    void *const first = take_used(8 * MIB, a, &block);
    order(b, a);
    use(block, b);
    kolk_block_free_on(&block, b);
    ck_assert_ptr_eq(take_used(8 * MIB, b, &block), first);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_EVENT_SYNCHRONIZE), 0);
    ck_assert_uint_eq(waits(), is_lazy(_i));
    kolk_block_free(&block);
    hold(a, false);
    hold(b, false);
    end();
}
END_TEST

/* The caches of streams that are gone serve new ones, without a miss too. */
START_TEST(a_thousand_streams_that_always_hit_leave_no_bookkeeping_behind)
{
    begin(_i, (kolk_pool_config){0});
    leave(32 * MIB, a);
    ck_assert_ok(kolk_stream_synchronize(a));
    kolk_pool_trim(pool, 32 * MIB);
    uint64_t before = 0;
    for (int i = 0; i < 1000; i++) {
        kolk_stream *stream = new_stream(kolk_pool_device(pool));
        leave(KIB, stream);
        ck_assert_ok(kolk_stream_synchronize(stream));
        kolk_stream_destroy(&stream);
        if (i == 20)
            before = kolk_pool_stats_of(pool).bookkeeping;
    }
    ck_assert_uint_eq(kolk_pool_stats_of(pool).bookkeeping, before);
    ck_assert_uint_eq(reserved(pool), 32 * MIB);
    end();
}
END_TEST

static void step_of_a_loop(kolk_stream *const *streams, size_t count)
{
    kolk_block *blocks[24];
    for (size_t i = 0; i < 24; i++)
        take_used((i * i * i + 1) * 200, streams[i % count], &blocks[i]);
    for (size_t i = 0; i < 24; i++)
        kolk_block_free(&blocks[i * 5 % 24]);
}

static void loop_on(int variant, size_t count)
{
    begin(variant, (kolk_pool_config){0});
    kolk_stream *const streams[] = {a, b, c};
    step_of_a_loop(streams, count);
    step_of_a_loop(streams, count);
    const uint64_t before = kolk_pool_driver_calls(pool);
    for (int i = 0; i < 100; i++)
        step_of_a_loop(streams, count);
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), before);
    end();
}

START_TEST(a_steady_loop_on_one_stream_makes_no_driver_call)
{
    loop_on(_i, 1);
}
END_TEST

START_TEST(a_steady_loop_on_three_streams_makes_no_driver_call)
{
    loop_on(_i, 3);
}
END_TEST

START_TEST(frees_of_recorded_blocks_make_one_event_for_64)
{
    enum { BLOCKS = 640 };
    begin(_i, (kolk_pool_config){0});
    static kolk_block *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = new_block(pool, KIB, a);
        ck_assert_ok(kolk_block_record(blocks[i], b));
    }
    const uint64_t before = kolk_pool_driver_calls(pool);
    for (int i = 0; i < 63; i++)
        kolk_block_free(&blocks[i]);
    ck_assert_uint_eq(kolk_pool_driver_calls(pool), before);
    for (int i = 63; i < BLOCKS; i++)
        kolk_block_free(&blocks[i]);
    ck_assert_uint_eq(calls(pool, KOLK_CALL_EVENT_RECORD), BLOCKS / 64);
    ck_assert_uint_le(calls(pool, KOLK_CALL_EVENT_CREATE), BLOCKS / 64);
    end();
}
END_TEST

START_TEST(so_they_do_on_each_of_two_recorded_streams)
{
    enum { BLOCKS = 640 };
    begin(_i, (kolk_pool_config){0});
    static kolk_block *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = new_block(pool, KIB, a);
        ck_assert_ok(kolk_block_record(blocks[i], b));
        ck_assert_ok(kolk_block_record(blocks[i], c));
    }
    for (int i = 0; i < BLOCKS; i++)
        kolk_block_free(&blocks[i]);
    ck_assert_uint_ge(calls(pool, KOLK_CALL_EVENT_RECORD), 2 * BLOCKS / 64 - 1);
    ck_assert_uint_le(calls(pool, KOLK_CALL_EVENT_RECORD), 2 * BLOCKS / 64);
    end();
}
END_TEST

#ifdef KOLK_TESTS_EMULATED
/* A cudaStream_t of the caller's, and a wrapper of it. */
static cudaStream_t wrap_new(kolk_stream **out)
{
    cudaStream_t raw;
    const int device = kolk_pool_device(pool).ordinal;
    ck_assert_int_eq(cudaSetDevice(device), cudaSuccess);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking),
                     cudaSuccess);
    ck_assert_ok(kolk_stream_wrap(device, raw, out));
    return raw;
}

/* Its handle names another stream at once: nothing recorded there would speak
 * for the work of the one that is gone. */
START_TEST(a_stream_destroyed_behind_its_wrapper_is_not_taken_for_its_successor)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    for (int i = 0; is_lazy(_i) && i < 10; i++) {
        kolk_stream *stale, *fresh;
        kolk_block *block;
        cudaStream_t const raw = wrap_new(&stale);
        take_used(8 * MIB, stale, &block);
        if (i % 2)
            kolk_block_free(&block);
        ck_assert_int_eq(cudaStreamDestroy(raw), cudaSuccess);
        cudaStream_t const same = wrap_new(&fresh);
        ck_assert_ptr_eq(same, raw);
        ck_assert_uint_ne(kolk_stream_id(fresh), kolk_stream_id(stale));
        kolk_block_free(&block);
        kolk_stream_destroy(&stale);
        take_used(8 * MIB, i % 3 ? fresh : a, &block);
        kolk_block_free(&block);
        kolk_stream_destroy(&fresh);
        ck_assert_int_eq(cudaStreamDestroy(same), cudaSuccess);
    }
    end();
}
END_TEST

START_TEST(two_wrappers_of_one_stream_are_one_stream)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    if (is_lazy(_i)) {
        kolk_stream *one, *two = NULL;
        cudaStream_t const raw = wrap_new(&one);
        ck_assert_ok(kolk_stream_wrap(kolk_pool_device(pool).ordinal, raw, &two));
        void *const first = leave(8 * MIB, one);
        ck_assert_ptr_eq(leave(8 * MIB, two), first);
        kolk_stream_destroy(&one);
        ck_assert_ptr_eq(leave(8 * MIB, two), first);
        leave(8 * MIB, a);
        kolk_stream_destroy(&two);
        ck_assert_int_eq(cudaStreamDestroy(raw), cudaSuccess);
    }
    end();
}
END_TEST
#endif

int main(void)
{
    const TTest *const tests[] = {
        a_stream_does_not_wait_twice_for_the_same_work,
        a_third_stream_gets_what_its_owner_freed_and_another_uses,
        so_it_does_if_the_user_was_known_before_the_owner,
        a_stream_waits_only_for_the_owner_of_what_it_used_itself,
        a_thousand_streams_that_always_hit_leave_no_bookkeeping_behind,
        a_block_handle_freed_on_another_stream_comes_back_after_its_work,
        a_pointer_freed_on_another_stream_comes_back_after_its_work,
        memory_of_a_destroyed_stream_comes_after_its_work,
        a_block_recorded_on_a_destroyed_stream_comes_after_its_work,
        a_thousand_streams_leave_no_bookkeeping_behind,
        a_steady_loop_on_one_stream_makes_no_driver_call,
        a_steady_loop_on_three_streams_makes_no_driver_call,
        frees_of_recorded_blocks_make_one_event_for_64,
        so_they_do_on_each_of_two_recorded_streams,
#ifdef KOLK_TESTS_EMULATED
        a_stream_destroyed_behind_its_wrapper_is_not_taken_for_its_successor,
        two_wrappers_of_one_stream_are_one_stream,
#endif
    };
    return rows_run(variants_suite("pool stream", tests, sizeof tests / sizeof *tests));
}
