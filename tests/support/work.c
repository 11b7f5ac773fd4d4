/* SPDX-License-Identifier: MIT */
#include "work.h"

enum { AT_ONCE = 4096 };

kolk_stream *new_stream(kolk_device device)
{
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(device, &stream));
    return stream;
}

kolk_event *new_event(kolk_device device)
{
    kolk_event *event = NULL;
    ck_assert_ok(kolk_event_create(device, &event));
    return event;
}

static void assert_few(kolk_stream *stream, const char *data, int byte, size_t size)
{
    unsigned char seen[AT_ONCE] = {0};
    ck_assert_ok(kolk_copy_queue(stream, seen, data, size));
    ck_assert_ok(kolk_stream_synchronize(stream));
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(seen[i], byte);
}

void assert_bytes(kolk_stream *stream, const void *data, int byte, size_t size)
{
    const char *const start = data;
    for (size_t done = 0; done < size; done += AT_ONCE)
        assert_few(stream, start + done, byte,
                   size - done < AT_ONCE ? size - done : AT_ONCE);
}
