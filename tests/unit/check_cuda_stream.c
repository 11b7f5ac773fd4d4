/* SPDX-License-Identifier: MIT */

/* Streams and events of the CUDA backend on the emulated machine. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <kolk/cuda.h>
#include <pthread.h>
#include <runtime/cuda_driver.h>
#include <runtime/stream.h>

static const kolk_backend *const cuda = &kolk_backend_cuda;

static void boot(void)
{
    emu_reset(&(emu_config){.devices = 2});
    kolk_cuda_driver_forget();
    kolk_backend_install(KOLK_CUDA, NULL);
}

/* Nothing lives, nothing is left behind, and nothing bad happened. */
static void halt(void)
{
    kolk_cuda_event_drain();
    ck_assert(emu_objects_equal(emu_objects_now(), (emu_objects){0}));
    ck_assert_uint_eq(kolk_bookkeeping_size(), 0);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_uint_eq(emu_violations(), 0);
}

static void *stream_on(int device)
{
    void *stream = NULL;
    ck_assert_ok(cuda->stream_create(device, &stream));
    return stream;
}

static void *event_on(int device)
{
    void *event = NULL;
    ck_assert_ok(cuda->event_create(device, &event));
    return event;
}

static bool is_complete(int device, void *event)
{
    bool complete = false;
    ck_assert_ok(cuda->event_query(device, event, &complete));
    return complete;
}

/* ---- streams ---- */

START_TEST(a_stream_has_an_id_that_its_handle_has_not)
{
    uint64_t ids[2] = {0};
    void *streams[2];
    for (int i = 0; i < 2; i++) {
        streams[i] = stream_on(0);
        ck_assert_ok(cuda->stream_id(0, streams[i], &ids[i]));
        ck_assert_ok(cuda->stream_destroy(0, streams[i]));
    }
    ck_assert_ptr_eq(streams[0], streams[1]);
    ck_assert_uint_ne(ids[0], ids[1]);
}
END_TEST

START_TEST(default_streams_of_two_devices_are_two)
{
    uint64_t ids[3] = {0};
    ck_assert_ok(cuda->stream_id(0, NULL, &ids[0]));
    ck_assert_ok(cuda->stream_id(1, NULL, &ids[1]));
    ck_assert_ok(cuda->stream_id(0, NULL, &ids[2]));
    ck_assert_uint_ne(ids[0], ids[1]);
    ck_assert_uint_eq(ids[0], ids[2]);
}
END_TEST

START_TEST(streams_do_not_wait_for_the_default_stream)
{
    void *const stream = stream_on(0);
    void *data = NULL;
    ck_assert_ok(cuda->memory_alloc(0, 2, &data));
    ck_assert_ok(cuda->fill(0, data, 1, 1, NULL));
    ck_assert_ok(cuda->fill(0, (char *)data + 1, 1, 1, stream));
    ck_assert_uint_eq(emu_advance(stream, 1), 1);
    ck_assert_ok(cuda->device_synchronize(0));
    ck_assert_ok(cuda->memory_free(0, data));
    ck_assert_ok(cuda->stream_destroy(0, stream));
}
END_TEST

START_TEST(a_stream_waits_for_an_event)
{
    void *const first = stream_on(0);
    void *const second = stream_on(0);
    void *const event = event_on(0);
    void *data = NULL;
    ck_assert_ok(cuda->memory_alloc(0, 1, &data));
    ck_assert_ok(cuda->fill(0, data, 1, 1, first));
    ck_assert_ok(cuda->event_record(0, event, first));
    ck_assert_ok(cuda->stream_wait(0, second, event));
    ck_assert_ok(cuda->fill(0, data, 2, 1, second));
    ck_assert_uint_eq(emu_advance(second, 1), 0);
    ck_assert_ok(cuda->stream_synchronize(0, second));
    ck_assert_int_eq(*(char *)data, 2);
    ck_assert_ok(cuda->memory_free(0, data));
    ck_assert_ok(cuda->event_destroy(0, event));
    ck_assert_ok(cuda->stream_destroy(0, first));
    ck_assert_ok(cuda->stream_destroy(0, second));
}
END_TEST

START_TEST(a_stream_of_the_caller_is_borrowed)
{
    cudaStream_t native = NULL;
    kolk_stream *stream = NULL;
    unsigned long long id = 0;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaStreamGetId(native, &id), 0);
    ck_assert_ok(kolk_stream_wrap(0, native, &stream));
    ck_assert_ptr_eq(kolk_stream_cuda(stream), native);
    ck_assert_uint_eq(kolk_stream_id(stream), id);
    kolk_stream_destroy(&stream);
    ck_assert_uint_eq(emu_objects_now().streams, 1);
    ck_assert_int_eq(cudaStreamDestroy(native), 0);
}
END_TEST

START_TEST(the_default_stream_has_one_id_under_both_names)
{
    kolk_stream *one = NULL;
    kolk_stream *other = NULL;
    ck_assert_ok(kolk_stream_wrap(1, NULL, &one));
    ck_assert_ok(kolk_stream_wrap(1, cudaStreamLegacy, &other));
    ck_assert_uint_eq(kolk_stream_id(one), kolk_stream_id(other));
    ck_assert_ptr_null(kolk_stream_cuda(other));
    kolk_stream_destroy(&one);
    kolk_stream_destroy(&other);
}
END_TEST

START_TEST(the_per_thread_stream_is_another)
{
    kolk_stream *one = NULL;
    kolk_stream *other = NULL;
    ck_assert_ok(kolk_stream_wrap(0, NULL, &one));
    ck_assert_ok(kolk_stream_wrap(0, cudaStreamPerThread, &other));
    ck_assert_uint_ne(kolk_stream_id(one), kolk_stream_id(other));
    ck_assert_ptr_eq(kolk_stream_cuda(other), cudaStreamPerThread);
    kolk_stream_destroy(&one);
    kolk_stream_destroy(&other);
}
END_TEST

START_TEST(a_host_stream_is_no_cuda_stream)
{
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ptr_null(kolk_stream_cuda(stream));
    kolk_stream_destroy(&stream);
}
END_TEST

START_TEST(wrapping_for_a_device_that_is_not_there_fails)
{
    kolk_stream *stream = NULL;
    ck_assert_fails(kolk_stream_wrap(2, NULL, &stream), KOLK_OUT_OF_RANGE);
    ck_assert_ptr_null(stream);
}
END_TEST

/* ---- events ---- */

START_TEST(an_event_tells_when_its_work_is_done)
{
    void *const stream = stream_on(1);
    void *const event = event_on(1);
    void *data = NULL;
    ck_assert(is_complete(1, event));
    ck_assert_ok(cuda->memory_alloc(1, 1, &data));
    ck_assert_ok(cuda->fill(1, data, 1, 1, stream));
    ck_assert_ok(cuda->event_record(1, event, stream));
    ck_assert(!is_complete(1, event));
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_ok(cuda->event_synchronize(1, event));
    ck_assert(is_complete(1, event));
    ck_assert_ok(cuda->memory_free(1, data));
    ck_assert_ok(cuda->event_destroy(1, event));
    ck_assert_ok(cuda->stream_destroy(1, stream));
}
END_TEST

START_TEST(a_complete_event_is_used_again)
{
    void *const event = event_on(0);
    ck_assert_ok(cuda->event_record(0, event, NULL));
    ck_assert(is_complete(0, event));
    ck_assert_ok(cuda->event_destroy(0, event));
    ck_assert_ptr_eq(event_on(0), event);
    ck_assert_uint_eq(emu_calls(EMU_cudaEventCreateWithFlags), 1);
    ck_assert_ok(cuda->event_destroy(0, event));
}
END_TEST

START_TEST(an_event_that_may_be_pending_is_not_used_again)
{
    void *const event = event_on(0);
    ck_assert_ok(cuda->event_record(0, event, NULL));
    ck_assert_ok(cuda->event_destroy(0, event));
    ck_assert_uint_eq(emu_objects_now().events, 0);
    ck_assert_uint_eq(emu_calls(EMU_cudaEventDestroy), 1);
}
END_TEST

START_TEST(events_of_two_devices_are_not_mixed)
{
    void *const first = event_on(0);
    ck_assert_ok(cuda->event_destroy(0, first));
    void *const second = event_on(1);
    ck_assert_ptr_ne(first, second);
    ck_assert_ok(cuda->event_record(1, second, NULL));
    ck_assert(is_complete(1, second));
    ck_assert_ok(cuda->event_destroy(1, second));
}
END_TEST

START_TEST(only_so_many_events_are_kept)
{
    enum { MANY = 300, KEPT = 256 };
    void *events[MANY];
    for (int i = 0; i < MANY; i++)
        events[i] = event_on(0);
    for (int i = 0; i < MANY; i++)
        ck_assert_ok(cuda->event_destroy(0, events[i]));
    ck_assert_uint_eq(emu_objects_now().events, KEPT);
}
END_TEST

START_TEST(an_event_of_another_device_is_not_recorded)
{
    void *const stream = stream_on(0);
    void *const event = event_on(1);
    ck_assert_fails(cuda->event_record(0, event, stream), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorInvalidResourceHandle);
    ck_assert_ok(cuda->event_destroy(1, event));
    ck_assert_ok(cuda->stream_destroy(0, stream));
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 200 };

/* Memory, an event and a stream of this thread's own; the events come from one
 * shelf for all. */
static void *live_a_while(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        void *const stream = stream_on(i % 2);
        void *const event = event_on(i % 2);
        void *data = NULL;
        ck_assert_ok(cuda->memory_alloc(i % 2, 512, &data));
        ck_assert_ok(cuda->fill(i % 2, data, i, 512, stream));
        ck_assert_ok(cuda->event_record(i % 2, event, stream));
        while (!is_complete(i % 2, event))
            emu_shuffle(1);
        ck_assert_ok(cuda->memory_free(i % 2, data));
        ck_assert_ok(cuda->event_destroy(i % 2, event));
        ck_assert_ok(cuda->stream_destroy(i % 2, stream));
    }
    return NULL;
}

START_TEST(threads_share_devices_and_events)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, live_a_while, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_le(emu_calls(EMU_cudaEventCreateWithFlags), 2 * THREADS);
}
END_TEST

static TCase *case_of(Suite *suite, const char *name)
{
    TCase *const tests = tcase_create(name);
    tcase_add_checked_fixture(tests, boot, halt);
    suite_add_tcase(suite, tests);
    return tests;
}

int main(void)
{
    Suite *const suite = suite_create("cuda_stream");
    TCase *tests = case_of(suite, "streams");
    tcase_add_test(tests, a_stream_has_an_id_that_its_handle_has_not);
    tcase_add_test(tests, default_streams_of_two_devices_are_two);
    tcase_add_test(tests, streams_do_not_wait_for_the_default_stream);
    tcase_add_test(tests, a_stream_waits_for_an_event);
    tcase_add_test(tests, a_stream_of_the_caller_is_borrowed);
    tcase_add_test(tests, the_default_stream_has_one_id_under_both_names);
    tcase_add_test(tests, the_per_thread_stream_is_another);
    tcase_add_test(tests, a_host_stream_is_no_cuda_stream);
    tcase_add_test(tests, wrapping_for_a_device_that_is_not_there_fails);
    tests = case_of(suite, "events");
    tcase_add_test(tests, an_event_tells_when_its_work_is_done);
    tcase_add_test(tests, a_complete_event_is_used_again);
    tcase_add_test(tests, an_event_that_may_be_pending_is_not_used_again);
    tcase_add_test(tests, events_of_two_devices_are_not_mixed);
    tcase_add_test(tests, only_so_many_events_are_kept);
    tcase_add_test(tests, an_event_of_another_device_is_not_recorded);
    tests = case_of(suite, "threads");
    tcase_add_test(tests, threads_share_devices_and_events);
    return kolk_run_suite(suite);
}
