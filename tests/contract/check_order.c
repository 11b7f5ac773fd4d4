/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Streams and events, on every device. */

#include "rows.h"
#include "work.h"
#include <runtime/stream.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 10000 };

START_TEST(no_two_streams_ever_have_one_id)
{
    uint64_t last = 0;
    for (int i = 0; i < 50; i++) {
        kolk_stream *a KOLK_AUTO(kolk_stream_destroy) = new_stream(row_device(_i));
        kolk_stream *b KOLK_AUTO(kolk_stream_destroy) = new_stream(row_device(_i));
        ck_assert_uint_ne(kolk_stream_id(a), kolk_stream_id(b));
        ck_assert_uint_gt(kolk_stream_id(a), last);
        ck_assert_uint_gt(kolk_stream_id(b), last);
        last = kolk_stream_id(a) > kolk_stream_id(b) ? kolk_stream_id(a)
                                                     : kolk_stream_id(b);
    }
}
END_TEST

START_TEST(the_default_stream_has_one_id)
{
    kolk_stream *a KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_stream *b KOLK_AUTO(kolk_stream_destroy) = NULL;
    kolk_stream *other KOLK_AUTO(kolk_stream_destroy) = new_stream(row_device(_i));
    uint64_t capture = 7;
    ck_assert_ok(kolk_stream_create_default(row_device(_i), &a));
    ck_assert_ok(kolk_stream_create_default(row_device(_i), &b));
    ck_assert_uint_eq(kolk_stream_id(a), kolk_stream_id(b));
    ck_assert_uint_ne(kolk_stream_id(a), kolk_stream_id(other));
    ck_assert_ok(kolk_stream_capture_id(a, &capture));
    ck_assert_uint_eq(capture, 0);
    ck_assert_ok(kolk_stream_synchronize(a));
}
END_TEST

START_TEST(an_event_is_complete_until_it_marks_something)
{
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = new_stream(row_device(_i));
    kolk_event *event KOLK_AUTO(kolk_event_destroy) = new_event(row_device(_i));
    bool done = false;
    ck_assert_ok(kolk_event_query(event, &done));
    ck_assert(done);
    ck_assert_ok(kolk_event_record(event, stream));
    ck_assert_ok(kolk_event_synchronize(event));
    done = false;
    ck_assert_ok(kolk_event_query(event, &done));
    ck_assert(done);
}
END_TEST

START_TEST(a_stream_that_waits_sees_what_was_written_before)
{
    const kolk_device device = row_device(_i);
    kolk_stream *writer KOLK_AUTO(kolk_stream_destroy) = new_stream(device);
    kolk_stream *reader KOLK_AUTO(kolk_stream_destroy) = new_stream(device);
    kolk_event *event KOLK_AUTO(kolk_event_destroy) = new_event(device);
    void *data;
    ck_assert_ok(kolk_memory_alloc(device, SIZE, &data));
    ck_assert_ok(kolk_fill_queue(writer, data, 9, SIZE));
    ck_assert_ok(kolk_event_record(event, writer));
    ck_assert_ok(kolk_stream_wait(reader, event));
    assert_bytes(reader, data, 9, SIZE);
    ck_assert_ok(kolk_stream_synchronize(writer));
    ck_assert_ok(kolk_memory_free(device, data));
}
END_TEST

START_TEST(streams_and_events_of_two_devices_do_not_mix)
{
    const kolk_device device = row_device(_i);
    if (device.kind == KOLK_HOST)
        return; /* there is only one host */
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = new_stream(kolk_host());
    kolk_event *event KOLK_AUTO(kolk_event_destroy) = new_event(device);
    char text[32];
    snprintf(text, sizeof text, "cuda:%d is not host:0", device.ordinal);
    ck_assert_fails(kolk_event_record(event, stream), KOLK_DEVICE_MISMATCH);
    ck_assert_message(text);
    ck_assert_fails(kolk_stream_wait(stream, event), KOLK_DEVICE_MISMATCH);
    ck_assert_message(text);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("order");
    TCase *const core = tcase_create("core");
    const int first = rows_begin();
    const int end = rows_end();
    tcase_add_checked_fixture(core, rows_start, rows_finish);
    tcase_add_loop_test(core, no_two_streams_ever_have_one_id, first, end);
    tcase_add_loop_test(core, the_default_stream_has_one_id, first, end);
    tcase_add_loop_test(core, an_event_is_complete_until_it_marks_something, first,
                        end);
    tcase_add_loop_test(core, a_stream_that_waits_sees_what_was_written_before, first,
                        end);
    tcase_add_loop_test(core, streams_and_events_of_two_devices_do_not_mix, first, end);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
