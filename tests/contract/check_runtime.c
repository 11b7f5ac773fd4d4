/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* What every device must do: describe itself, give memory, map pages. */

#include "rows.h"
#include "work.h"
#include <runtime/stream.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 10000 };

static size_t page_of(kolk_device device)
{
    kolk_device_info info;
    ck_assert_ok(kolk_device_describe(device, &info));
    ck_assert_uint_gt(info.page_size, 0);
    return info.page_size;
}

/* ---- devices ---- */

START_TEST(a_device_says_what_it_is)
{
    kolk_device_info info = {.total = 0};
    size_t available;
    size_t total;
    ck_assert_ok(kolk_device_describe(row_device(_i), &info));
    ck_assert_uint_gt(strlen(info.name), 0);
    ck_assert_uint_gt(info.total, 0);
    ck_assert_uint_eq(info.page_size & (info.page_size - 1), 0);
    ck_assert_ok(kolk_device_memory(row_device(_i), &available, &total));
    ck_assert_uint_le(available, total);
    ck_assert_int_eq(kolk_device_reason(row_device(_i).kind)->status, KOLK_OK);
    ck_assert_ok(kolk_device_synchronize(row_device(_i)));
}
END_TEST

/* Every way in, tried on a device that is not there. */
static void assert_out_of_range(kolk_device device)
{
    kolk_device_info info;
    size_t size = 0;
    void *data = NULL;
    uint64_t page = 0;
    kolk_stream *stream = NULL;
    kolk_event *event = NULL;
    char text[64];
    ck_assert_fails(kolk_device_describe(device, &info), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_device_memory(device, &size, &size), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_device_synchronize(device), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_memory_alloc(device, 1, &data), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_memory_free(device, &size), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_range_reserve(device, ROW_CAPACITY, &data), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_range_free(device, &size, ROW_CAPACITY), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_page_create(device, ROW_CAPACITY, &page), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_page_release(device, 1, ROW_CAPACITY), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_page_map(device, &size, ROW_CAPACITY, 1), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_page_unmap(device, &size, ROW_CAPACITY), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_stream_create(device, &stream), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_stream_create_default(device, &stream), KOLK_OUT_OF_RANGE);
    ck_assert_fails(kolk_event_create(device, &event), KOLK_OUT_OF_RANGE);
    snprintf(text, sizeof text, ":%d is out of range: the count of", device.ordinal);
    ck_assert_message(text);
    ck_assert(size == 0 && data == NULL && page == 0 && stream == NULL &&
              event == NULL);
}

START_TEST(a_device_that_is_not_there_is_out_of_range)
{
    const kolk_device_kind kind = row_device(_i).kind;
    assert_out_of_range((kolk_device){kind, kolk_device_count(kind)});
    assert_out_of_range((kolk_device){kind, -1});
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_is_aligned_and_keeps_what_is_written)
{
    const kolk_device device = row_device(_i);
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = new_stream(device);
    void *a;
    void *b;
    ck_assert_ok(kolk_memory_alloc(device, SIZE, &a));
    ck_assert_ok(kolk_memory_alloc(device, SIZE, &b));
    ck_assert_uint_eq((uintptr_t)a % 256, 0);
    ck_assert_ok(kolk_fill_queue(stream, a, 0x5a, SIZE));
    ck_assert_ok(kolk_fill_queue(stream, b, 0xa5, SIZE));
    assert_bytes(stream, a, 0x5a, SIZE);
    ck_assert_ok(kolk_copy_queue(stream, (char *)a + 100, b, 50));
    assert_bytes(stream, (char *)a + 50, 0x5a, 50);
    assert_bytes(stream, (char *)a + 100, 0xa5, 50);
    assert_bytes(stream, (char *)a + 150, 0x5a, SIZE - 150);
    ck_assert_ok(kolk_memory_free(device, a));
    ck_assert_ok(kolk_memory_free(device, b));
}
END_TEST

START_TEST(too_much_memory_is_refused_with_the_drivers_code)
{
    const kolk_device device = row_device(_i);
    size_t available;
    size_t total;
    char untouched;
    void *data = &untouched;
    uint64_t page = 77;
    ck_assert_ok(kolk_device_memory(device, &available, &total));
    ck_assert_fails(kolk_memory_alloc(device, total + 1, &data), KOLK_OUT_OF_MEMORY);
    ck_assert_int_ne(kolk_last_error()->native, 0);
    const size_t pages = total / page_of(device) + 1;
    ck_assert_fails(kolk_page_create(device, pages * page_of(device), &page),
                    KOLK_OUT_OF_MEMORY);
    ck_assert_int_ne(kolk_last_error()->native, 0);
    ck_assert_ptr_eq(data, &untouched);
    ck_assert_uint_eq(page, 77);
}
END_TEST

START_TEST(memory_of_no_bytes_is_refused)
{
    void *data = NULL;
    ck_assert_fails(kolk_memory_alloc(row_device(_i), 0, &data), KOLK_INVALID_ARGUMENT);
    ck_assert_message("0 bytes");
    ck_assert_ptr_null(data);
}
END_TEST

/* ---- pages ---- */

START_TEST(pages_can_be_mapped_anywhere_and_moved)
{
    const kolk_device device = row_device(_i);
    const size_t page = page_of(device);
    kolk_stream *stream KOLK_AUTO(kolk_stream_destroy) = new_stream(device);
    void *range;
    uint64_t a;
    uint64_t b;
    ck_assert_ok(kolk_range_reserve(device, 4 * page, &range));
    ck_assert_uint_eq((uintptr_t)range % page, 0);
    char *const base = range;
    ck_assert_ok(kolk_page_create(device, page, &a));
    ck_assert_ok(kolk_page_create(device, page, &b));
    ck_assert_ok(kolk_page_map(device, base + page, page, a));
    ck_assert_ok(kolk_page_map(device, base + 2 * page, page, b));
    ck_assert_ok(kolk_fill_queue(stream, base + page, 3, 2 * page)); /* across both */
    assert_bytes(stream, base + 2 * page - SIZE / 2, 3, SIZE);
    ck_assert_ok(kolk_page_unmap(device, base + page, page));
    ck_assert_ok(kolk_page_map(device, base + 3 * page, page, a));
    ck_assert_ok(kolk_fill_queue(stream, base + 3 * page, 4, page));
    assert_bytes(stream, base + 3 * page, 4, SIZE);
    assert_bytes(stream, base + 3 * page - SIZE, 3, SIZE);
    ck_assert_ok(kolk_page_unmap(device, base + 2 * page, page));
    ck_assert_ok(kolk_page_unmap(device, base + 3 * page, page));
    ck_assert_ok(kolk_page_release(device, a, page));
    ck_assert_ok(kolk_page_release(device, b, page));
    ck_assert_ok(kolk_range_free(device, range, 4 * page));
}
END_TEST

START_TEST(pages_count_against_the_device_and_come_back)
{
    const kolk_device device = row_device(_i);
    const size_t page = page_of(device);
    size_t before;
    size_t during;
    size_t after;
    size_t total;
    uint64_t handle;
    ck_assert_ok(kolk_device_memory(device, &before, &total));
    ck_assert_ok(kolk_page_create(device, 2 * page, &handle));
    ck_assert_ok(kolk_device_memory(device, &during, &total));
    ck_assert_uint_le(during, before - 2 * page);
    ck_assert_ok(kolk_page_release(device, handle, 2 * page));
    ck_assert_ok(kolk_device_memory(device, &after, &total));
    ck_assert_uint_ge(after, before);
}
END_TEST

static void assert_no_pages(kolk_device device, size_t size)
{
    void *base = NULL;
    uint64_t page = 0;
    void *const address = (void *)ROW_CAPACITY;
    ck_assert_fails(kolk_range_reserve(device, size, &base), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_range_free(device, address, size), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_create(device, size, &page), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_release(device, 1, size), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_map(device, address, size, 1), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_unmap(device, address, size), KOLK_INVALID_ARGUMENT);
    ck_assert_message("not a whole number of pages of");
    ck_assert(base == NULL && page == 0);
}

START_TEST(pages_are_whole_and_so_are_their_addresses)
{
    const kolk_device device = row_device(_i);
    const size_t page = page_of(device);
    void *const address = (void *)(ROW_CAPACITY + 1);
    assert_no_pages(device, 0);
    assert_no_pages(device, 1);
    assert_no_pages(device, page + 1);
    assert_no_pages(device, SIZE_MAX);
    ck_assert_fails(kolk_range_free(device, address, page), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_map(device, address, page, 1), KOLK_INVALID_ARGUMENT);
    ck_assert_fails(kolk_page_unmap(device, address, page), KOLK_INVALID_ARGUMENT);
    ck_assert_message("address 0x4000001 is not a multiple of the page");
    ck_assert_fails(kolk_page_unmap(device, NULL, page), KOLK_INVALID_ARGUMENT);
}
END_TEST

START_TEST(too_much_address_space_is_refused)
{
    char untouched;
    void *base = &untouched;
    const size_t size = SIZE_MAX / page_of(row_device(_i)) * page_of(row_device(_i));
    ck_assert_fails(kolk_range_reserve(row_device(_i), size, &base),
                    KOLK_OUT_OF_MEMORY);
    ck_assert_int_ne(kolk_last_error()->native, 0);
    ck_assert_ptr_eq(base, &untouched);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("runtime");
    TCase *const core = tcase_create("core");
    const int first = rows_begin();
    const int end = rows_end();
    tcase_add_checked_fixture(core, rows_start, rows_finish);
    tcase_add_loop_test(core, a_device_says_what_it_is, first, end);
    tcase_add_loop_test(core, a_device_that_is_not_there_is_out_of_range, first, end);
    tcase_add_loop_test(core, memory_is_aligned_and_keeps_what_is_written, first, end);
    tcase_add_loop_test(core, too_much_memory_is_refused_with_the_drivers_code, first,
                        end);
    tcase_add_loop_test(core, memory_of_no_bytes_is_refused, first, end);
    tcase_add_loop_test(core, pages_can_be_mapped_anywhere_and_moved, first, end);
    tcase_add_loop_test(core, pages_count_against_the_device_and_come_back, first, end);
    tcase_add_loop_test(core, pages_are_whole_and_so_are_their_addresses, first, end);
    tcase_add_loop_test(core, too_much_address_space_is_refused, first, end);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
