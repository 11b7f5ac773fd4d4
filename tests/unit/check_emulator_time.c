/* SPDX-License-Identifier: MIT */

/* The emulated machine's streams and events: what runs, when, and after what. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <signal.h>
#include <string.h>

enum { ROOM = 64 };

/* Work notes its letter here, in the order in which it runs. */
static char ran[ROOM];

static void boot(void)
{
    memset(ran, 0, sizeof ran);
    emu_reset(&(emu_config){.devices = 2});
}

static void halt(void)
{
    ck_assert_uint_eq(emu_violations(), 0);
}

static void note(void *letter)
{
    strncat(ran, letter, 1);
}

static void queue(cudaStream_t stream, char letter)
{
    ck_assert_int_eq(emu_launch(stream, note, &letter, 1, NULL, 0), 0);
}

static cudaStream_t create(unsigned kind)
{
    cudaStream_t stream = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, kind), 0);
    return stream;
}

static cudaStream_t create_free(void)
{
    return create(cudaStreamNonBlocking);
}

static cudaEvent_t create_event(void)
{
    cudaEvent_t event = NULL;
    ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), 0);
    return event;
}

static cudaEvent_t record(cudaStream_t stream)
{
    const cudaEvent_t event = create_event();
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    return event;
}

/* ---- queues ---- */

START_TEST(work_waits_until_it_is_told)
{
    const cudaStream_t stream = create_free();
    queue(stream, 'a');
    queue(stream, 'b');
    queue(stream, 'c');
    ck_assert_str_eq(ran, "");
    ck_assert_uint_eq(emu_pending(stream), 3);
    ck_assert_uint_eq(emu_advance(stream, 2), 2);
    ck_assert_str_eq(ran, "ab");
    ck_assert_uint_eq(emu_finish(stream), 1);
    ck_assert_str_eq(ran, "abc");
    ck_assert_uint_eq(emu_advance(stream, 1), 0);
}
END_TEST

START_TEST(arguments_are_copied_when_work_is_queued)
{
    char letter = 'a';
    ck_assert_int_eq(EMU_LAUNCH(NULL, note, &letter, EMU_READ(NULL, 0)), 0);
    letter = 'x';
    emu_run_all();
    ck_assert_str_eq(ran, "a");
}
END_TEST

START_TEST(streams_move_apart)
{
    const cudaStream_t a = create_free();
    const cudaStream_t b = create_free();
    queue(a, 'a');
    queue(b, 'b');
    ck_assert_uint_eq(emu_advance(b, 9), 1);
    ck_assert_int_eq(cudaStreamQuery(a), cudaErrorNotReady);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorNotReady);
    ck_assert_int_eq(cudaStreamQuery(b), cudaSuccess);
    ck_assert_int_eq(cudaStreamSynchronize(a), cudaSuccess);
    ck_assert_str_eq(ran, "ba");
}
END_TEST

START_TEST(waiting_runs_no_more_than_it_needs)
{
    const cudaStream_t a = create_free();
    const cudaStream_t b = create_free();
    queue(a, 'a');
    const cudaEvent_t event = record(a);
    queue(a, 'A');
    queue(b, 'b');
    ck_assert_int_eq(cudaEventSynchronize(event), cudaSuccess);
    ck_assert_str_eq(ran, "a");
    ck_assert_uint_eq(emu_pending_all(), 2);
}
END_TEST

START_TEST(a_device_is_waited_for_alone)
{
    queue(NULL, 'a');
    ck_assert_int_eq(cudaSetDevice(1), 0);
    queue(NULL, 'b');
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    ck_assert_str_eq(ran, "b");
}
END_TEST

static void shuffle(uint64_t seed, char *out)
{
    boot();
    emu_reset(&(emu_config){.seed = seed});
    const cudaStream_t streams[] = {create_free(), create_free(), create_free()};
    for (char i = 0; i < 12; i++)
        queue(streams[i % 3], (char)('a' + i));
    ck_assert_uint_eq(emu_shuffle(5), 5);
    ck_assert_uint_eq(emu_shuffle(99), 7);
    memcpy(out, ran, ROOM);
}

START_TEST(a_seed_gives_one_order)
{
    char first[ROOM], again[ROOM], other[ROOM];
    shuffle(42, first);
    shuffle(42, again);
    shuffle(43, other);
    ck_assert_str_eq(first, again);
    ck_assert_str_ne(first, other);
    ck_assert_uint_eq(strlen(first), 12);
}
END_TEST

START_TEST(waiting_for_a_held_stream_is_a_violation)
{
    const cudaStream_t stream = create_free();
    emu_tolerate(true);
    queue(stream, 'a');
    emu_hold(stream, true);
    ck_assert_uint_eq(emu_advance(stream, 1), 0);
    ck_assert_uint_eq(emu_run_all(), 0);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaErrorLaunchTimeout);
    ck_assert_uint_eq(emu_violations(), 1);
    emu_hold(stream, false);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
    ck_assert_str_eq(ran, "a");
    emu_reset(NULL);
}
END_TEST

/* ---- the legacy stream ---- */

START_TEST(the_legacy_stream_waits_for_blocking_streams)
{
    const cudaStream_t blocking = create(cudaStreamDefault);
    queue(blocking, 'a');
    queue(NULL, 'b');
    ck_assert_uint_eq(emu_advance(NULL, 1), 0);
    ck_assert_int_eq(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    ck_assert_str_eq(ran, "ab");
}
END_TEST

START_TEST(blocking_streams_wait_for_the_legacy_stream)
{
    const cudaStream_t blocking = create(cudaStreamDefault);
    queue(NULL, 'a');
    queue(blocking, 'b');
    ck_assert_uint_eq(emu_advance(blocking, 1), 0);
    ck_assert_uint_eq(emu_finish(blocking), 2);
    ck_assert_str_eq(ran, "ab");
}
END_TEST

START_TEST(other_streams_do_not_wait_for_the_legacy_stream)
{
    const cudaStream_t stream = create_free();
    queue(NULL, 'a');
    queue(stream, 'b');
    ck_assert_uint_eq(emu_advance(stream, 1), 1);
    ck_assert_str_eq(ran, "b");
}
END_TEST

START_TEST(a_synchronous_copy_waits_for_the_legacy_stream)
{
    char data[2] = "x";
    void *device = NULL;
    ck_assert_int_eq(cudaMalloc(&device, 1), 0);
    queue(NULL, 'a');
    ck_assert_int_eq(cudaMemset(device, 'y', 1), 0);
    ck_assert_int_eq(cudaMemcpy(data, device, 1, cudaMemcpyDefault), 0);
    ck_assert_str_eq(data, "y");
    ck_assert_str_eq(ran, "a");
    ck_assert_int_eq(cudaFree(device), 0);
}
END_TEST

/* ---- handles ---- */

START_TEST(the_handle_destroyed_last_is_given_out_first)
{
    unsigned long long before = 0;
    unsigned long long after = 0;
    const cudaStream_t first = create_free();
    const cudaStream_t last = create_free();
    ck_assert_int_eq(cudaStreamGetId(last, &before), 0);
    ck_assert_int_eq(cudaStreamDestroy(first), 0);
    ck_assert_int_eq(cudaStreamDestroy(last), 0);
    ck_assert_ptr_eq(create_free(), last);
    ck_assert_ptr_eq(create_free(), first);
    ck_assert_int_eq(cudaStreamGetId(last, &after), 0);
    ck_assert_uint_ne(before, after);
}
END_TEST

START_TEST(work_outlives_its_stream)
{
    const cudaStream_t stream = create_free();
    queue(stream, 'a');
    const cudaEvent_t event = record(stream);
    ck_assert_int_eq(cudaStreamDestroy(stream), 0);
    ck_assert_uint_eq(emu_objects_now().streams, 0);
    ck_assert_uint_eq(emu_pending_all(), 1);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    ck_assert_int_eq(cudaDeviceSynchronize(), 0);
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
    ck_assert_str_eq(ran, "a");
}
END_TEST

START_TEST(a_destroyed_stream_must_not_be_used)
{
    const cudaStream_t stream = create_free();
    ck_assert_int_eq(cudaStreamDestroy(stream), 0);
    emu_tolerate(true);
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(emu_touch(stream, NULL, 0, false), cudaErrorInvalidResourceHandle);
    ck_assert_uint_eq(emu_violations(), 3);
    emu_reset(NULL);
}
END_TEST

START_TEST(a_violation_ends_the_program)
{
    const cudaStream_t stream = create_free();
    ck_assert_int_eq(cudaStreamDestroy(stream), 0);
    (void)cudaStreamQuery(stream);
}
END_TEST

START_TEST(a_default_stream_cannot_be_destroyed)
{
    ck_assert_int_eq(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamDestroy(cudaStreamLegacy),
                     cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamDestroy(cudaStreamPerThread),
                     cudaErrorInvalidResourceHandle);
}
END_TEST

/* ---- events ---- */

START_TEST(a_new_event_is_complete)
{
    const cudaEvent_t event = create_event();
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
    ck_assert_int_eq(cudaEventSynchronize(event), cudaSuccess);
    ck_assert_int_eq(cudaStreamWaitEvent(NULL, event, 0), cudaSuccess);
    queue(NULL, 'a');
    ck_assert_uint_eq(emu_advance(NULL, 1), 1);
}
END_TEST

START_TEST(an_event_marks_the_work_before_it)
{
    const cudaStream_t stream = create_free();
    queue(stream, 'a');
    const cudaEvent_t event = record(stream);
    queue(stream, 'b');
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    ck_assert_uint_eq(emu_advance(stream, 1), 1);
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
    ck_assert_uint_eq(emu_pending(stream), 1);
}
END_TEST

START_TEST(an_event_recorded_again_marks_the_new_point)
{
    const cudaStream_t stream = create_free();
    queue(stream, 'a');
    const cudaEvent_t event = record(stream);
    queue(stream, 'b');
    ck_assert_int_eq(cudaEventRecord(event, stream), 0);
    ck_assert_uint_eq(emu_advance(stream, 1), 1);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    ck_assert_uint_eq(emu_advance(stream, 1), 1);
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
}
END_TEST

START_TEST(a_wait_is_for_the_point_recorded_when_it_was_queued)
{
    const cudaStream_t a = create_free();
    const cudaStream_t b = create_free();
    queue(a, 'a');
    const cudaEvent_t event = record(a);
    ck_assert_int_eq(cudaStreamWaitEvent(b, event, 0), 0);
    queue(b, 'b');
    queue(a, 'A');
    ck_assert_int_eq(cudaEventRecord(event, a), 0);
    ck_assert_uint_eq(emu_advance(b, 1), 0);
    ck_assert_uint_eq(emu_advance(a, 1), 1);
    ck_assert_uint_eq(emu_advance(b, 1), 1);
    ck_assert_str_eq(ran, "ab");
}
END_TEST

START_TEST(waits_reach_through_streams_and_devices)
{
    const cudaStream_t a = create_free();
    const cudaStream_t b = create_free();
    ck_assert_int_eq(cudaSetDevice(1), 0);
    const cudaStream_t c = create_free();
    ck_assert_int_eq(cudaSetDevice(0), 0);
    queue(a, 'a');
    ck_assert_int_eq(cudaStreamWaitEvent(b, record(a), 0), 0);
    queue(b, 'b');
    ck_assert_int_eq(cudaStreamWaitEvent(c, record(b), 0), 0);
    queue(c, 'c');
    ck_assert_uint_eq(emu_finish(c), 3);
    ck_assert_str_eq(ran, "abc");
}
END_TEST

START_TEST(an_event_belongs_to_one_device)
{
    const cudaEvent_t event = create_event();
    ck_assert_int_eq(cudaSetDevice(1), 0);
    ck_assert_int_eq(cudaEventRecord(event, create_free()),
                     cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
}
END_TEST

START_TEST(no_event_is_an_error)
{
    ck_assert_int_eq(cudaEventDestroy(NULL), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaEventRecord(NULL, NULL), cudaErrorInvalidResourceHandle);
}
END_TEST

START_TEST(a_destroyed_event_must_not_be_used)
{
    const cudaEvent_t event = create_event();
    ck_assert_int_eq(cudaEventDestroy(event), 0);
    emu_tolerate(true);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
    ck_assert_uint_eq(emu_violations(), 2);
    ck_assert_ptr_eq(create_event(), event);
    emu_reset(NULL);
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
    Suite *const suite = suite_create("emulator_time");
    TCase *tests = case_of(suite, "queues");
    tcase_add_test(tests, work_waits_until_it_is_told);
    tcase_add_test(tests, arguments_are_copied_when_work_is_queued);
    tcase_add_test(tests, streams_move_apart);
    tcase_add_test(tests, waiting_runs_no_more_than_it_needs);
    tcase_add_test(tests, a_device_is_waited_for_alone);
    tcase_add_test(tests, a_seed_gives_one_order);
    tcase_add_test(tests, waiting_for_a_held_stream_is_a_violation);
    tests = case_of(suite, "legacy");
    tcase_add_test(tests, the_legacy_stream_waits_for_blocking_streams);
    tcase_add_test(tests, blocking_streams_wait_for_the_legacy_stream);
    tcase_add_test(tests, other_streams_do_not_wait_for_the_legacy_stream);
    tcase_add_test(tests, a_synchronous_copy_waits_for_the_legacy_stream);
    tests = case_of(suite, "handles");
    tcase_add_test(tests, the_handle_destroyed_last_is_given_out_first);
    tcase_add_test(tests, work_outlives_its_stream);
    tcase_add_test(tests, a_destroyed_stream_must_not_be_used);
    tcase_add_test_raise_signal(tests, a_violation_ends_the_program, SIGABRT);
    tcase_add_test(tests, a_default_stream_cannot_be_destroyed);
    tests = case_of(suite, "events");
    tcase_add_test(tests, a_new_event_is_complete);
    tcase_add_test(tests, an_event_marks_the_work_before_it);
    tcase_add_test(tests, an_event_recorded_again_marks_the_new_point);
    tcase_add_test(tests, a_wait_is_for_the_point_recorded_when_it_was_queued);
    tcase_add_test(tests, waits_reach_through_streams_and_devices);
    tcase_add_test(tests, an_event_belongs_to_one_device);
    tcase_add_test(tests, no_event_is_an_error);
    tcase_add_test(tests, a_destroyed_event_must_not_be_used);
    return kolk_run_suite(suite);
}
