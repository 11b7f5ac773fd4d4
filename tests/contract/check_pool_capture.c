/* SPDX-License-Identifier: MIT */

/* Streams that are being captured into graphs. The emulator refuses, and counts
 * as a broken capture, every call that real hardware forbids meanwhile. */

#include "pool_rig.h"
#ifdef KOLK_TESTS_EMULATED
#include <kolk/cuda.h>
#endif

START_TEST(what_is_freed_in_a_capture_is_reused_only_there)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_stream *other = new_stream(kolk_pool_device(pool));
    kolk_capture *capture = NULL;
    kolk_capture *second = NULL;
    ck_assert_ok(kolk_capture_begin(pool, stream, &capture));
    ck_assert_fails(kolk_capture_begin(pool, stream, &second), KOLK_INVALID_ARGUMENT);
    ck_assert_ptr_null(second);
    kolk_block *block = new_block(pool, 2 * MIB, stream);
    void *const data = kolk_block_data(block);
    kolk_block_free(&block);
    block = new_block(pool, 2 * MIB, stream); /* inside: at once the same */
    ck_assert_ptr_eq(kolk_block_data(block), data);
    kolk_block_free(&block);
    block = new_block(pool, 2 * MIB, other); /* outside: never */
    ck_assert_ptr_ne(kolk_block_data(block), data);
    kolk_block_free(&block);
    kolk_capture_end(capture);
    block = new_block(pool, 2 * MIB, stream);
    ck_assert_ptr_ne(kolk_block_data(block), data);
    kolk_block_free(&block);
    kolk_pool_trim(pool, 0);
    ck_assert_uint_ge(reserved(pool), 2 * MIB); /* it stays with the capture */
    kolk_capture_destroy(&capture);
    ck_assert_ptr_null(capture);
    kolk_capture_destroy(&capture);
    kolk_stream_destroy(&stream);
    kolk_stream_destroy(&other);
    drop_pool(&pool);
}
END_TEST

START_TEST(a_capture_may_be_left_to_the_pool)
{
    kolk_pool *pool = new_pool(_i, (kolk_pool_config){0});
    kolk_capture *capture = NULL;
    ck_assert_ok(kolk_capture_begin(pool, NULL, &capture));
    kolk_block *block = new_block(pool, 100, NULL);
    kolk_block_free(&block);
    kolk_capture_end(capture);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_pool_destroy(&pool);
}
END_TEST

#ifdef KOLK_TESTS_EMULATED
static void begin(kolk_stream *stream)
{
    ck_assert_int_eq(
        cudaStreamBeginCapture(kolk_stream_cuda(stream), cudaStreamCaptureModeGlobal),
        0);
}

/* The capture was not broken, and the graph runs. */
static void end(kolk_stream *stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    ck_assert_int_eq(cudaStreamEndCapture(kolk_stream_cuda(stream), &graph), 0);
    ck_assert_int_eq(cudaGraphInstantiate(&ready, graph, 0), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(cudaGraphLaunch(ready, kolk_stream_cuda(stream)), 0);
    ck_assert_ok(kolk_stream_synchronize(stream));
    ck_assert_int_eq(cudaGraphExecDestroy(ready), 0);
    ck_assert_int_eq(cudaGraphDestroy(graph), 0);
}

/* Everything a program might do with the pool meanwhile. */
static void work_captured(kolk_pool *pool, kolk_stream *stream, size_t most)
{
    for (size_t size = 100; size <= most; size *= 7) {
        kolk_block *block = new_block(pool, size, stream);
        use(block, stream);
        ck_assert_ok(kolk_block_record(block, stream));
        kolk_block_free(&block);
        ck_assert_ok(kolk_pool_check(pool));
    }
}

static void capture(int variant, bool announced)
{
    kolk_pool *pool = new_pool(
        variant, (kolk_pool_config){.capture_safe = !announced, .limit = 32 * MIB});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_capture *made = NULL;
    kolk_block *before = new_block(pool, 2 * MIB, stream);
    use(before, stream);
    if (announced)
        ck_assert_ok(kolk_capture_begin(pool, stream, &made));
    begin(stream);
    kolk_block_free(&before);
    work_captured(pool, stream, 3 * MIB);
    kolk_block *refused = NULL;
    ck_assert_fails(kolk_block_alloc(pool, 40 * MIB, stream, &refused),
                    KOLK_OUT_OF_MEMORY);
    end(stream);
    if (announced)
        kolk_capture_end(made);
    kolk_capture_destroy(&made);
    ck_assert_ok(kolk_pool_check(pool));
    ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.current, 0);
    kolk_pool_destroy(&pool);
    kolk_stream_destroy(&stream);
}

/* Paddle #37821, cuopt #1748: events queried, memory allocated in a capture. */
START_TEST(an_announced_capture_is_never_broken)
{
    capture(_i, true);
}
END_TEST

START_TEST(an_unannounced_capture_is_found_by_a_safe_pool)
{
    capture(_i, false);
}
END_TEST

/* pytorch #159594: memory given back to the driver while a capture runs. */
START_TEST(others_go_on_while_a_stream_is_captured)
{
    kolk_pool *pool =
        new_pool(_i, (kolk_pool_config){.capture_safe = true, .limit = 16 * MIB});
    kolk_stream *stream = new_stream(kolk_pool_device(pool));
    kolk_stream *other = new_stream(kolk_pool_device(pool));
    kolk_block *block = new_block(pool, 4 * MIB, other);
    kolk_block_free(&block);
    begin(stream);
    for (size_t size = MIB; size <= 12 * MIB; size += MIB) {
        block = NULL;
        if (kolk_block_alloc(pool, size, other, &block) != KOLK_OK)
            ck_assert_ptr_null(block);
        kolk_block_free(&block);
    }
    work_captured(pool, stream, 1000);
    end(stream);
    kolk_pool_destroy(&pool);
    kolk_stream_destroy(&stream);
    kolk_stream_destroy(&other);
}
END_TEST
#endif

int main(void)
{
    const TTest *const tests[] = {
        what_is_freed_in_a_capture_is_reused_only_there,
        a_capture_may_be_left_to_the_pool,
    };
    Suite *const suite =
        variants_suite("pool capture", tests, sizeof tests / sizeof *tests);
#ifdef KOLK_TESTS_EMULATED
    TCase *const tcase = tcase_create("graphs");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    tcase_add_loop_test(tcase, an_announced_capture_is_never_broken, 2, variants_end());
    tcase_add_loop_test(tcase, an_unannounced_capture_is_found_by_a_safe_pool, 2,
                        variants_end());
    tcase_add_loop_test(tcase, others_go_on_while_a_stream_is_captured, 2,
                        variants_end());
    suite_add_tcase(suite, tcase);
#endif
    return rows_run(suite);
}
