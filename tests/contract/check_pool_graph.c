/* SPDX-License-Identifier: MIT */

/* Memory of graphs: nobody else gets it, it takes no more than it needs, and all
 * comes back; whatever goes on beside a capture, no call breaks it. */

#include "pool_rig.h"
#ifdef KOLK_TESTS_EMULATED
#include <kolk/cuda.h>
#endif

static kolk_pool *pool;
static kolk_stream *stream, *other;

static void begin(int variant, kolk_pool_config config)
{
    pool = new_pool(variant, config);
    stream = new_stream(kolk_pool_device(pool));
    other = new_stream(kolk_pool_device(pool));
}

static void end(void)
{
    drop_pool(&pool);
    kolk_stream_destroy(&stream);
    kolk_stream_destroy(&other);
}

static kolk_capture *announce(kolk_stream *captured)
{
    kolk_capture *capture = NULL;
    ck_assert_ok(kolk_capture_begin(pool, captured, &capture));
    return capture;
}

static void *address(size_t size, kolk_stream *user)
{
    kolk_block *block = new_block(pool, size, user);
    void *const data = kolk_block_data(block);
    kolk_block_free(&block);
    return data;
}

static void assert_full(kolk_stream *user)
{
    kolk_block *block = NULL;
    ck_assert_fails(kolk_block_alloc(pool, 8 * MIB, user, &block), KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_null(block);
}

START_TEST(neither_need_nor_trim_takes_memory_from_a_graph)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_capture *capture = announce(stream);
    void *const first = address(8 * MIB, stream);
    assert_full(other);
    kolk_capture_end(capture);
    assert_full(stream);
    assert_full(other);
    ck_assert_uint_eq(kolk_pool_trim(pool, 0), 0);
    ck_assert_uint_eq(reserved(pool), 8 * MIB);
    ck_assert_ok(kolk_pool_check(pool));
    kolk_capture_destroy(&capture);
    ck_assert_ptr_eq(address(8 * MIB, stream), first);
    ck_assert_ptr_eq(address(8 * MIB, other), first);
    end();
}
END_TEST

START_TEST(a_block_may_outlive_its_capture)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_capture *capture = announce(stream);
    kolk_block *block = new_block(pool, 8 * MIB, stream);
    kolk_capture_end(capture);
    use(block, stream);
    kolk_capture_destroy(&capture);
    ck_assert_ok(kolk_pool_check(pool));
    assert_full(other);
    kolk_block_free(&block);
    block = new_block(pool, 8 * MIB, other);
    use(block, other);
    kolk_block_free(&block);
    end();
}
END_TEST

START_TEST(a_stream_has_one_capture_at_a_time)
{
    begin(_i, (kolk_pool_config){0});
    kolk_capture *first = announce(stream), *second = NULL;
    ck_assert_fails(kolk_capture_begin(pool, stream, &second), KOLK_INVALID_ARGUMENT);
    ck_assert_ptr_null(second);
    second = announce(other);
    kolk_capture_end(first);
    kolk_capture_destroy(&first);
    first = announce(stream);
    kolk_capture_end(second);
    kolk_capture_end(first);
    kolk_capture_destroy(&first);
    kolk_capture_destroy(&second);
    end();
}
END_TEST

START_TEST(two_captures_share_nothing)
{
    begin(_i, (kolk_pool_config){0});
    kolk_capture *first = announce(stream);
    void *const address_of_first = address(MIB, stream);
    kolk_capture_end(first);
    kolk_capture *second = announce(stream);
    ck_assert_ptr_ne(address(MIB, stream), address_of_first);
    kolk_capture_end(second);
    kolk_capture_destroy(&second);
    kolk_capture_destroy(&first);
    end();
}
END_TEST

START_TEST(a_thousand_captures_leave_no_bookkeeping_behind)
{
    begin(_i, (kolk_pool_config){0});
    uint64_t before = 0;
    for (int i = 0; i < 1000; i++) {
        kolk_capture *capture = announce(stream);
        address(3 * MIB, stream);
        address(KIB, stream);
        kolk_capture_end(capture);
        kolk_capture_destroy(&capture);
        if (i == 5)
            before = kolk_pool_stats_of(pool).bookkeeping + reserved(pool);
    }
    ck_assert_uint_eq(kolk_pool_stats_of(pool).bookkeeping + reserved(pool), before);
    end();
}
END_TEST

#ifdef KOLK_TESTS_EMULATED

static void cuda_ok(cudaError_t code)
{
    ck_assert_msg(code == cudaSuccess, "%s", cudaGetErrorName(code));
}

static void capture_with(enum cudaStreamCaptureMode mode)
{
    cuda_ok(cudaSetDevice(kolk_pool_device(pool).ordinal));
    cuda_ok(cudaStreamBeginCapture(kolk_stream_cuda(stream), mode));
}

static void assert_capturing(void)
{
    enum cudaStreamCaptureStatus status;
    cuda_ok(cudaStreamIsCapturing(kolk_stream_cuda(stream), &status));
    ck_assert_int_eq(status, cudaStreamCaptureStatusActive);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
}

static cudaGraphExec_t finish_capture(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    assert_capturing();
    cuda_ok(cudaStreamEndCapture(kolk_stream_cuda(stream), &graph));
    cuda_ok(cudaGraphInstantiate(&launchable, graph, 0));
    cuda_ok(cudaGraphDestroy(graph));
    return launchable;
}

static void launch(cudaGraphExec_t graph, int times)
{
    for (int i = 0; i < times; i++)
        cuda_ok(cudaGraphLaunch(graph, kolk_stream_cuda(stream)));
}

/* Work that the graph repeats, on memory of its own. */
static void captured_step(void)
{
    kolk_block *blocks[4];
    for (size_t i = 0; i < 4; i++) {
        blocks[i] = new_block(pool, (i + 1) * 700 * KIB, stream);
        use(blocks[i], stream);
    }
    for (size_t i = 0; i < 4; i++)
        kolk_block_free(&blocks[i]);
}

/* What the rest of the program does meanwhile: every rung of the ladder. */
static void go_on_beside(kolk_stream *third)
{
    for (size_t size = KIB; size <= 24 * MIB; size *= 2) {
        kolk_block *block = NULL;
        kolk_stream *const user = size % 3 == 1 ? other : third;
        if (kolk_block_alloc(pool, size, user, &block) != KOLK_OK)
            continue;
        use(block, user);
        ck_assert_ok(kolk_block_record(block, user == other ? third : other));
        kolk_block_free(&block);
        assert_capturing();
    }
    kolk_pool_trim(pool, 4 * MIB);
    assert_capturing();
}

static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                   cudaStreamCaptureModeThreadLocal,
                                                   cudaStreamCaptureModeRelaxed};

static void capture_beside_everything(int variant, enum cudaStreamCaptureMode mode,
                                      bool announced)
{
    begin(variant, (kolk_pool_config){.limit = 40 * MIB, .capture_safe = !announced});
    kolk_stream *third = new_stream(kolk_pool_device(pool));
    kolk_block *before = new_block(pool, 3 * MIB, stream);
    use(before, stream);
    capture_with(mode);
    kolk_capture *capture = announced ? announce(stream) : NULL;
    captured_step();
    go_on_beside(third);
    kolk_block_free(&before);
    kolk_stream_destroy(&third);
    assert_capturing();
    third = new_stream(kolk_pool_device(pool));
    captured_step();
    go_on_beside(third);
    const cudaGraphExec_t graph = finish_capture();
    if (capture)
        kolk_capture_end(capture);
    launch(graph, 3);
    for (int i = 0; i < 20; i++) {
        kolk_block *block =
            new_block(pool, (size_t)(i + 1) * 200 * KIB, i % 2 ? other : stream);
        use(block, i % 2 ? other : stream);
        launch(graph, 1);
        kolk_block_free(&block);
    }
    cuda_ok(cudaGraphExecDestroy(graph));
    kolk_capture_destroy(&capture);
    kolk_stream_destroy(&third);
    ck_assert_ok(kolk_stream_synchronize(stream));
    ck_assert_ok(kolk_pool_check(pool));
}

START_TEST(nothing_that_a_pool_does_breaks_an_announced_capture)
{
    for (int i = 0; i < 3; i++) {
        capture_beside_everything(_i, modes[i], true);
        end();
    }
}
END_TEST

/* Without a word of the caller's the memory stays with the pool. */
START_TEST(nothing_that_a_pool_does_breaks_a_capture_it_finds)
{
    for (int i = 0; i < 3; i++) {
        capture_beside_everything(_i, modes[i], false);
        ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.current, 0);
        kolk_pool_trim(pool, 0);
        ck_assert_uint_gt(reserved(pool), 0);
        ck_assert_uint_le(reserved(pool), (is_plain(_i) ? 16 : 10) * MIB);
        kolk_pool_destroy(&pool);
        kolk_stream_destroy(&stream);
        kolk_stream_destroy(&other);
    }
}
END_TEST

START_TEST(an_aborted_capture_gives_everything_back)
{
    begin(_i, (kolk_pool_config){.limit = 16 * MIB});
    void *raw;
    cudaGraph_t graph = NULL;
    capture_with(cudaStreamCaptureModeGlobal);
    kolk_capture *capture = announce(stream);
    captured_step();
    ck_assert_int_eq(cudaMalloc(&raw, 1), cudaErrorStreamCaptureUnsupported);
    kolk_block *block = new_block(pool, MIB, stream);
    address(2 * MIB, other);
    ck_assert_int_eq(cudaStreamEndCapture(kolk_stream_cuda(stream), &graph),
                     cudaErrorStreamCaptureInvalidated);
    (void)cudaGetLastError();
    kolk_capture_end(capture);
    kolk_capture_destroy(&capture);
    kolk_block_free(&block);
    block = new_block(pool, 16 * MIB, stream);
    use(block, stream);
    kolk_block_free(&block);
    ck_assert_ok(kolk_stream_synchronize(stream));
    end();
}
END_TEST

START_TEST(a_broken_capture_that_is_found_is_an_error_and_no_more)
{
    begin(_i, (kolk_pool_config){.capture_safe = true});
    void *raw;
    cudaGraph_t graph = NULL;
    kolk_block *block = NULL;
    capture_with(cudaStreamCaptureModeGlobal);
    ck_assert_int_eq(cudaMalloc(&raw, 1), cudaErrorStreamCaptureUnsupported);
    ck_assert_fails(kolk_block_alloc(pool, MIB, stream, &block), KOLK_DEVICE);
    ck_assert_ptr_null(block);
    address(MIB, other);
    ck_assert_int_eq(cudaStreamEndCapture(kolk_stream_cuda(stream), &graph),
                     cudaErrorStreamCaptureInvalidated);
    (void)cudaGetLastError();
    address(MIB, stream);
    end();
}
END_TEST

/* The last rung would have to wait for the whole device. */
START_TEST(a_request_fails_rather_than_break_a_capture)
{
    begin(_i, (kolk_pool_config){.limit = 8 * MIB});
    kolk_stream *wrapped;
    kolk_block *block;
    cudaStream_t raw;
    cuda_ok(cudaSetDevice(kolk_pool_device(pool).ordinal));
    cuda_ok(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking));
    ck_assert_ok(kolk_stream_wrap(kolk_pool_device(pool).ordinal, raw, &wrapped));
    block = new_block(pool, 8 * MIB, wrapped);
    use(block, wrapped);
    cuda_ok(cudaStreamDestroy(raw));
    kolk_stream *successor = new_stream(kolk_pool_device(pool));
    kolk_stream_destroy(&wrapped);
    kolk_block_free(&block);
    capture_with(cudaStreamCaptureModeGlobal);
    kolk_capture *capture = announce(stream);
    assert_full(stream);
    assert_full(other);
    const cudaGraphExec_t graph = finish_capture();
    kolk_capture_end(capture);
    block = new_block(pool, 8 * MIB, other);
    use(block, other);
    kolk_block_free(&block);
    cuda_ok(cudaGraphExecDestroy(graph));
    kolk_capture_destroy(&capture);
    kolk_stream_destroy(&successor);
    end();
}
END_TEST
#endif

int main(void)
{
    const TTest *const tests[] = {
        neither_need_nor_trim_takes_memory_from_a_graph,
        a_block_may_outlive_its_capture,
        a_stream_has_one_capture_at_a_time,
        two_captures_share_nothing,
        a_thousand_captures_leave_no_bookkeeping_behind,
    };
    Suite *const suite =
        variants_suite("pool graph", tests, sizeof tests / sizeof *tests);
#ifdef KOLK_TESTS_EMULATED
    TCase *const tcase = tcase_create("emulated");
    tcase_add_checked_fixture(tcase, rows_start, rows_finish);
    const TTest *const emulated[] = {
        nothing_that_a_pool_does_breaks_an_announced_capture,
        nothing_that_a_pool_does_breaks_a_capture_it_finds,
        an_aborted_capture_gives_everything_back,
        a_broken_capture_that_is_found_is_an_error_and_no_more,
        a_request_fails_rather_than_break_a_capture,
    };
    for (size_t i = 0; i < sizeof emulated / sizeof *emulated; i++)
        tcase_add_loop_test(tcase, emulated[i], 2, variants_end());
    suite_add_tcase(suite, tcase);
#endif
    return rows_run(suite);
}
