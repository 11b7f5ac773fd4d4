/* SPDX-License-Identifier: MIT */

/* The emulated machine's rules of stream capture. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <pthread.h>

static cudaStream_t stream, other;
static cudaEvent_t event;
static void *data;

static void boot(void)
{
    emu_reset(&(emu_config){.devices = 2});
    ck_assert_int_eq(cudaMalloc(&data, 4096), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), 0);
}

static void halt(void)
{
    ck_assert_uint_eq(emu_violations(), 0);
}

static void begin(enum cudaStreamCaptureMode mode)
{
    ck_assert_int_eq(cudaStreamBeginCapture(stream, mode), 0);
}

static void begin_global(void)
{
    begin(cudaStreamCaptureModeGlobal);
}

static cudaError_t end(void)
{
    cudaGraph_t graph = NULL;
    const cudaError_t code = cudaStreamEndCapture(stream, &graph);
    if (code == cudaSuccess)
        ck_assert_int_eq(cudaGraphDestroy(graph), 0);
    return code;
}

static enum cudaStreamCaptureStatus status(cudaStream_t of)
{
    enum cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    ck_assert_int_eq(cudaStreamIsCapturing(of, &found), 0);
    return found;
}

static void exchange(enum cudaStreamCaptureMode mode)
{
    ck_assert_int_eq(cudaThreadExchangeStreamCaptureMode(&mode), 0);
}

/* ---- what becomes part of a capture ---- */

START_TEST(captured_work_does_not_run)
{
    begin_global();
    ck_assert_int_eq(status(stream), cudaStreamCaptureStatusActive);
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, stream), 0);
    ck_assert_uint_eq(emu_pending_all(), 0);
    ck_assert_uint_eq(emu_objects_now().captures, 1);
    ck_assert_int_eq(end(), cudaSuccess);
    ck_assert_int_eq(status(stream), cudaStreamCaptureStatusNone);
    ck_assert_int_eq(*(char *)data, 0);
    ck_assert_uint_eq(emu_objects_now().captures, 0);
}
END_TEST

START_TEST(a_stream_joins_by_waiting_for_a_captured_event)
{
    begin_global();
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(other, event, 0), 0);
    ck_assert_int_eq(status(other), cudaStreamCaptureStatusActive);
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, other), 0);
    ck_assert_int_eq(cudaEventRecord(event, other), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(stream, event, 0), 0);
    ck_assert_int_eq(end(), cudaSuccess);
    ck_assert_int_eq(status(other), cudaStreamCaptureStatusNone);
}
END_TEST

START_TEST(work_that_does_not_come_back_is_unjoined)
{
    begin_global();
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(other, event, 0), 0);
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, other), 0);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureUnjoined);
    ck_assert_int_eq(status(other), cudaStreamCaptureStatusNone);
}
END_TEST

/* ---- what cannot begin or end ---- */

START_TEST(a_default_stream_cannot_be_captured)
{
    ck_assert_int_eq(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
                     cudaErrorStreamCaptureUnsupported);
}
END_TEST

START_TEST(a_capture_begins_and_ends_once)
{
    ck_assert_int_eq(end(), cudaErrorIllegalState);
    begin_global();
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                     cudaErrorIllegalState);
    ck_assert_int_eq(end(), cudaSuccess);
}
END_TEST

START_TEST(a_capture_ends_in_the_stream_where_it_began)
{
    cudaGraph_t graph = NULL;
    begin_global();
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(other, event, 0), 0);
    ck_assert_int_eq(cudaStreamEndCapture(other, &graph),
                     cudaErrorStreamCaptureUnmatched);
    ck_assert_int_eq(end(), cudaSuccess);
}
END_TEST

static void *end_elsewhere(void *out)
{
    *(cudaError_t *)out = end();
    return NULL;
}

static cudaError_t end_in_a_thread(void)
{
    pthread_t thread;
    cudaError_t code = cudaSuccess;
    pthread_create(&thread, NULL, end_elsewhere, &code);
    pthread_join(thread, NULL);
    return code;
}

START_TEST(a_capture_ends_in_the_thread_where_it_began)
{
    begin(cudaStreamCaptureModeThreadLocal);
    ck_assert_int_eq(end_in_a_thread(), cudaErrorStreamCaptureWrongThread);
    ck_assert_int_eq(end(), cudaSuccess);
    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(end_in_a_thread(), cudaSuccess);
}
END_TEST

START_TEST(destroying_the_stream_ends_its_capture)
{
    begin_global();
    ck_assert_int_eq(cudaStreamDestroy(stream), 0);
    ck_assert_uint_eq(emu_objects_now().captures, 0);
}
END_TEST

/* ---- what breaks a capture ---- */

static cudaError_t allocate(void)
{
    void *more = NULL;
    return cudaMalloc(&more, 1);
}

static cudaError_t release(void)
{
    return cudaFree(NULL);
}

static cudaError_t create_stream(void)
{
    cudaStream_t made = NULL;
    return cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
}

static cudaError_t create_event(void)
{
    cudaEvent_t made = NULL;
    return cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
}

static cudaError_t query_event(void)
{
    return cudaEventQuery(event);
}

static cudaError_t synchronize_event(void)
{
    return cudaEventSynchronize(event);
}

static cudaError_t query_stream(void)
{
    return cudaStreamQuery(other);
}

static cudaError_t synchronize_stream(void)
{
    return cudaStreamSynchronize(other);
}

static cudaError_t (*const unsafe[])(void) = {
    allocate,    release,           create_stream, create_event,
    query_event, synchronize_event, query_stream,  synchronize_stream,
};

enum { UNSAFE = sizeof unsafe / sizeof unsafe[0] };

START_TEST(an_unsafe_call_breaks_the_capture_of_its_thread)
{
    for (int mode = 0; mode < 2; mode++) {
        begin((enum cudaStreamCaptureMode)mode);
        ck_assert_int_eq(unsafe[_i](), cudaErrorStreamCaptureUnsupported);
        ck_assert_int_eq(status(stream), cudaStreamCaptureStatusInvalidated);
        ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, stream),
                         cudaErrorStreamCaptureInvalidated);
        ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
    }
}
END_TEST

START_TEST(an_unsafe_call_is_allowed_in_relaxed_mode)
{
    begin_global();
    exchange(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(unsafe[_i](), cudaSuccess);
    exchange(cudaStreamCaptureModeGlobal);
    ck_assert_int_eq(end(), cudaSuccess);
}
END_TEST

START_TEST(an_unsafe_call_does_no_harm_to_a_relaxed_capture)
{
    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(unsafe[_i](), cudaSuccess);
    ck_assert_int_eq(end(), cudaSuccess);
}
END_TEST

static void *allocate_elsewhere(void *out)
{
    *(cudaError_t *)out = allocate();
    return NULL;
}

static cudaError_t allocate_in_a_thread(void)
{
    pthread_t thread;
    cudaError_t code = cudaSuccess;
    pthread_create(&thread, NULL, allocate_elsewhere, &code);
    pthread_join(thread, NULL);
    return code;
}

START_TEST(only_a_global_capture_concerns_other_threads)
{
    begin(cudaStreamCaptureModeThreadLocal);
    ck_assert_int_eq(allocate_in_a_thread(), cudaSuccess);
    ck_assert_int_eq(end(), cudaSuccess);
    begin_global();
    ck_assert_int_eq(allocate_in_a_thread(), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(waiting_for_a_capturing_stream_breaks_it)
{
    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(waiting_for_a_device_breaks_its_captures)
{
    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(cudaSetDevice(1), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    ck_assert_int_eq(cudaSetDevice(0), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
}
END_TEST

/* ---- events ---- */

START_TEST(a_captured_event_cannot_be_waited_for_by_the_host)
{
    begin_global();
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    exchange(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorCapturedEvent);
    ck_assert_int_eq(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    ck_assert_int_eq(end(), cudaSuccess);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorCapturedEvent);
    ck_assert_int_eq(cudaStreamWaitEvent(other, event, 0), cudaErrorCapturedEvent);
    ck_assert_int_eq(cudaEventRecord(event, other), 0);
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
}
END_TEST

START_TEST(a_captured_stream_cannot_wait_for_work_outside)
{
    ck_assert_int_eq(cudaEventRecord(event, other), 0);
    begin_global();
    ck_assert_int_eq(cudaStreamWaitEvent(stream, event, 0),
                     cudaErrorStreamCaptureIsolation);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(two_captures_cannot_be_merged)
{
    cudaGraph_t graph = NULL;
    begin_global();
    ck_assert_int_eq(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), 0);
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(other, event, 0), cudaErrorStreamCaptureMerge);
    ck_assert_int_eq(end(), cudaErrorStreamCaptureInvalidated);
    ck_assert_int_eq(cudaStreamEndCapture(other, &graph),
                     cudaErrorStreamCaptureInvalidated);
    ck_assert_ptr_null(graph);
}
END_TEST

/* ---- the legacy stream ---- */

static cudaStream_t begin_blocking(void)
{
    cudaStream_t blocking = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), 0);
    ck_assert_int_eq(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), 0);
    return blocking;
}

START_TEST(work_on_the_legacy_stream_breaks_a_blocking_capture)
{
    cudaGraph_t graph = NULL;
    const cudaStream_t blocking = begin_blocking();
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, NULL), cudaErrorStreamCaptureImplicit);
    ck_assert_int_eq(cudaStreamEndCapture(blocking, &graph),
                     cudaErrorStreamCaptureInvalidated);
}
END_TEST

START_TEST(asking_about_the_legacy_stream_breaks_nothing)
{
    cudaGraph_t graph = NULL;
    enum cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    const cudaStream_t blocking = begin_blocking();
    ck_assert_int_eq(cudaStreamIsCapturing(NULL, &found),
                     cudaErrorStreamCaptureImplicit);
    ck_assert_int_eq(cudaStreamEndCapture(blocking, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
}
END_TEST

START_TEST(the_legacy_stream_does_not_mind_other_captures)
{
    begin(cudaStreamCaptureModeRelaxed);
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, NULL), cudaSuccess);
    ck_assert_int_eq(status(NULL), cudaStreamCaptureStatusNone);
    ck_assert_int_eq(end(), cudaSuccess);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("emulator_capture");
    TCase *const tests = tcase_create("capture");
    tcase_add_checked_fixture(tests, boot, halt);
    tcase_add_test(tests, captured_work_does_not_run);
    tcase_add_test(tests, a_stream_joins_by_waiting_for_a_captured_event);
    tcase_add_test(tests, work_that_does_not_come_back_is_unjoined);
    tcase_add_test(tests, a_default_stream_cannot_be_captured);
    tcase_add_test(tests, a_capture_begins_and_ends_once);
    tcase_add_test(tests, a_capture_ends_in_the_stream_where_it_began);
    tcase_add_test(tests, a_capture_ends_in_the_thread_where_it_began);
    tcase_add_test(tests, destroying_the_stream_ends_its_capture);
    tcase_add_loop_test(tests, an_unsafe_call_breaks_the_capture_of_its_thread, 0,
                        UNSAFE);
    tcase_add_loop_test(tests, an_unsafe_call_is_allowed_in_relaxed_mode, 0, UNSAFE);
    tcase_add_loop_test(tests, an_unsafe_call_does_no_harm_to_a_relaxed_capture, 0,
                        UNSAFE);
    tcase_add_test(tests, only_a_global_capture_concerns_other_threads);
    tcase_add_test(tests, waiting_for_a_capturing_stream_breaks_it);
    tcase_add_test(tests, waiting_for_a_device_breaks_its_captures);
    tcase_add_test(tests, a_captured_event_cannot_be_waited_for_by_the_host);
    tcase_add_test(tests, a_captured_stream_cannot_wait_for_work_outside);
    tcase_add_test(tests, two_captures_cannot_be_merged);
    tcase_add_test(tests, work_on_the_legacy_stream_breaks_a_blocking_capture);
    tcase_add_test(tests, asking_about_the_legacy_stream_breaks_nothing);
    tcase_add_test(tests, the_legacy_stream_does_not_mind_other_captures);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
