/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/fault.h"
#include "../support/suite.h"
#include <runtime/fail.h>
#include <runtime/host_memory.h>
#include <runtime/stream.h>
#include <string.h>

/* ---- the linker sends the runtime's kolk_host_alloc() here ---- */

void *__real_kolk_host_alloc(size_t size);
void *__wrap_kolk_host_alloc(size_t size);

static bool host_is_full;

void *__wrap_kolk_host_alloc(size_t size)
{
    return host_is_full ? NULL : __real_kolk_host_alloc(size);
}

static void watch(void)
{
    fault_install(KOLK_HOST);
}

static void unwatch(void)
{
    host_is_full = false;
    ck_assert(fault_nothing_lives());
    fault_remove();
}

/* ---- streams ---- */

START_TEST(a_stream_knows_its_device_and_goes_once)
{
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert(kolk_device_equal(kolk_stream_device(stream), kolk_host()));
    ck_assert_int_eq(fault_objects_now().streams, 1);
    kolk_stream_destroy(&stream);
    ck_assert_ptr_null(stream);
    kolk_stream_destroy(&stream);
    ck_assert_uint_eq(fault_calls(FAULT_stream_destroy), 1);
}
END_TEST

START_TEST(taking_a_stream_leaves_null)
{
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    kolk_stream *const before = stream;
    kolk_stream *moved KOLK_AUTO(kolk_stream_destroy) = kolk_stream_take(&stream);
    ck_assert_ptr_null(stream);
    ck_assert_ptr_eq(moved, before);
}
END_TEST

START_TEST(a_wrapped_stream_stays_its_owners)
{
    kolk_stream *owner = NULL;
    kolk_stream *wrapper = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &owner));
    ck_assert_ok(kolk_stream_wrap_native(kolk_host(), owner->native, &wrapper));
    ck_assert_uint_eq(kolk_stream_id(wrapper), kolk_stream_id(owner));
    kolk_stream_destroy(&wrapper);
    ck_assert_uint_eq(fault_calls(FAULT_stream_destroy), 0);
    kolk_stream_destroy(&owner);
}
END_TEST

START_TEST(a_wrapper_is_itself_while_its_handle_keeps_the_id)
{
    kolk_stream *owner KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_stream *wrapper KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_stream *standard KOLK_AUTO(kolk_stream_destroy) = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &owner));
    ck_assert_ok(kolk_stream_wrap_native(kolk_host(), owner->native, &wrapper));
    ck_assert_ok(kolk_stream_create_default(kolk_host(), &standard));
    const size_t asked = fault_calls(FAULT_stream_id);
    ck_assert(kolk_stream_is_itself(owner));
    ck_assert(kolk_stream_is_itself(standard));
    ck_assert_uint_eq(fault_calls(FAULT_stream_id), asked);
    ck_assert(kolk_stream_is_itself(wrapper));
    fault_at(FAULT_stream_id, 1);
    ck_assert(!kolk_stream_is_itself(wrapper));
    wrapper->id++; /* as if the handle had gone to another stream */
    ck_assert(!kolk_stream_is_itself(wrapper));
}
END_TEST

START_TEST(a_stream_without_an_id_is_not_made)
{
    kolk_stream *stream = NULL;
    fault_at(FAULT_stream_id, 1);
    ck_assert_fails(kolk_stream_create(kolk_host(), &stream), KOLK_DEVICE);
    ck_assert_ptr_null(stream);
    fault_at(FAULT_stream_id, 1);
    ck_assert_fails(kolk_stream_create_default(kolk_host(), &stream), KOLK_DEVICE);
    ck_assert_ptr_null(stream);
}
END_TEST

START_TEST(a_full_host_makes_no_streams_or_events)
{
    kolk_stream *stream = NULL;
    kolk_event *event = NULL;
    host_is_full = true;
    ck_assert_fails(kolk_stream_create(kolk_host(), &stream), KOLK_OUT_OF_HOST_MEMORY);
    ck_assert_message("bytes for a stream");
    ck_assert_fails(kolk_event_create(kolk_host(), &event), KOLK_OUT_OF_HOST_MEMORY);
    ck_assert_message("bytes for an event");
    ck_assert_ptr_null(stream);
    ck_assert_ptr_null(event);
}
END_TEST

START_TEST(a_destructor_leaves_no_failure_on_the_record)
{
    kolk_stream *stream = NULL;
    kolk_event *event = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ok(kolk_event_create(kolk_host(), &event));
    ck_assert_int_eq(kolk_fail(KOLK_IO, "an old failure"), KOLK_IO);
    fault_at(FAULT_stream_destroy, 1);
    kolk_stream_destroy(&stream);
    ck_assert_int_eq(fault_refused(), FAULT_stream_destroy);
    fault_at(FAULT_event_destroy, 1);
    kolk_event_destroy(&event);
    ck_assert_int_eq(fault_refused(), FAULT_event_destroy);
    ck_assert_ptr_null(stream);
    ck_assert_ptr_null(event);
    ck_assert_str_eq(kolk_last_error()->message, "an old failure");
}
END_TEST

/* ---- observers ---- */

typedef struct watcher {
    kolk_stream_observer observer;
    int told;
    int turn; /* the how-manieth to be told */
    bool could_record;
    bool was_listed;
} watcher;

static int turns;

static void closing(kolk_stream_observer *self, kolk_stream *stream)
{
    watcher *const me = (watcher *)self;
    kolk_event *event KOLK_AUTO(kolk_event_destroy) = NULL;
    me->told++;
    me->turn = ++turns;
    me->could_record = kolk_event_create(kolk_host(), &event) == KOLK_OK &&
                       kolk_event_record(event, stream) == KOLK_OK;
    me->was_listed = kolk_stream_unobserve(stream, self);
}

#define WATCHER                           \
    {                                     \
        .observer = {.closing = closing } \
    }

START_TEST(observers_are_told_once_newest_first_while_the_stream_works)
{
    watcher watchers[3] = {WATCHER, WATCHER, WATCHER};
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    for (int i = 0; i < 3; i++)
        kolk_stream_observe(stream, &watchers[i].observer);
    kolk_stream_destroy(&stream);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(watchers[i].told, 1);
        ck_assert_int_eq(watchers[i].turn, 3 - i);
        ck_assert(watchers[i].could_record);
        ck_assert(!watchers[i].was_listed);
    }
}
END_TEST

START_TEST(an_observer_that_left_is_not_told)
{
    for (int leaving = 0; leaving < 3; leaving++) {
        watcher watchers[3] = {WATCHER, WATCHER, WATCHER};
        kolk_stream *stream = NULL;
        ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
        for (int i = 0; i < 3; i++)
            kolk_stream_observe(stream, &watchers[i].observer);
        ck_assert(kolk_stream_unobserve(stream, &watchers[leaving].observer));
        ck_assert(!kolk_stream_unobserve(stream, &watchers[leaving].observer));
        kolk_stream_destroy(&stream);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(watchers[i].told, i != leaving);
    }
}
END_TEST

/* ---- work ---- */

START_TEST(work_of_no_bytes_asks_nothing_of_the_device)
{
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ok(kolk_copy_queue(stream, NULL, NULL, 0));
    ck_assert_ok(kolk_fill_queue(stream, NULL, 1, 0));
    ck_assert_uint_eq(fault_calls(FAULT_copy) + fault_calls(FAULT_fill), 0);
    kolk_stream_destroy(&stream);
}
END_TEST

START_TEST(overlapping_bytes_are_copied_whole)
{
    char text[] = "abcdef";
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ok(kolk_copy_queue(stream, text + 1, text, 5));
    ck_assert_str_eq(text, "aabcde");
    kolk_stream_destroy(&stream);
}
END_TEST

START_TEST(the_host_never_captures)
{
    uint64_t capture = 7;
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ok(kolk_stream_capture_id(stream, &capture));
    ck_assert_uint_eq(capture, 0);
    kolk_stream_destroy(&stream);
}
END_TEST

START_TEST(on_the_host_every_event_is_complete)
{
    bool done = false;
    kolk_stream *stream = NULL;
    kolk_event *event = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ok(kolk_event_create(kolk_host(), &event));
    ck_assert_ok(kolk_event_record(event, stream));
    ck_assert_ok(kolk_event_query(event, &done));
    ck_assert(done);
    kolk_event_destroy(&event);
    kolk_event_destroy(&event);
    kolk_stream_destroy(&stream);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("stream");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, watch, unwatch);
    tcase_add_test(core, a_stream_knows_its_device_and_goes_once);
    tcase_add_test(core, taking_a_stream_leaves_null);
    tcase_add_test(core, a_wrapped_stream_stays_its_owners);
    tcase_add_test(core, a_wrapper_is_itself_while_its_handle_keeps_the_id);
    tcase_add_test(core, a_stream_without_an_id_is_not_made);
    tcase_add_test(core, a_full_host_makes_no_streams_or_events);
    tcase_add_test(core, a_destructor_leaves_no_failure_on_the_record);
    tcase_add_test(core, observers_are_told_once_newest_first_while_the_stream_works);
    tcase_add_test(core, an_observer_that_left_is_not_told);
    tcase_add_test(core, work_of_no_bytes_asks_nothing_of_the_device);
    tcase_add_test(core, overlapping_bytes_are_copied_whole);
    tcase_add_test(core, the_host_never_captures);
    tcase_add_test(core, on_the_host_every_event_is_complete);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
