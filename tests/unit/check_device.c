/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/child.h"
#include "../support/fault.h"
#include "../support/suite.h"
#include <runtime/fail.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)

/* Backends that are not what they should be; made from the host's. */
static kolk_backend odd;

static void install_odd(void)
{
    kolk_backend_install(KOLK_CUDA, &odd);
}

static void start_from_host(void)
{
    odd = kolk_backend_host;
    install_odd();
}

static void restore(void)
{
    fault_remove();
    kolk_backend_install(KOLK_CUDA, NULL);
}

/* ---- how many, and why none ---- */

static kolk_status no_driver(int *out)
{
    (void)out;
    return kolk_fail_at("driver", KOLK_DEVICE, 35, "the driver is too old");
}

START_TEST(the_host_is_one_device_without_a_reason)
{
    ck_assert_int_eq(kolk_device_count(KOLK_HOST), 1);
    ck_assert_int_eq(kolk_device_reason(KOLK_HOST)->status, KOLK_OK);
    ck_assert_str_eq(kolk_device_kind_name(KOLK_HOST), "host");
    ck_assert_str_eq(kolk_device_kind_name(KOLK_CUDA), "cuda");
}
END_TEST

START_TEST(no_device_has_its_reason_and_it_is_the_error)
{
    kolk_device_info info = {.total = 77};
    odd.device_count = no_driver;
    install_odd();
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->status, KOLK_DEVICE);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->native, 35);
    ck_assert_fails(kolk_device_describe(kolk_cuda(0), &info), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, 35);
    ck_assert_message("the driver is too old");
    ck_assert_str_eq(kolk_last_error()->where, "kolk_device_describe");
    ck_assert_uint_eq(info.total, 77);
}
END_TEST

START_TEST(a_build_without_cuda_says_so)
{
#ifndef KOLK_HAVE_CUDA
    kolk_stream *stream = NULL;
    kolk_backend_install(KOLK_CUDA, NULL);
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->status, KOLK_UNSUPPORTED);
    ck_assert_fails(kolk_stream_create(kolk_cuda(0), &stream), KOLK_UNSUPPORTED);
    ck_assert_message("built without CUDA");
    ck_assert_ptr_null(stream);
#endif
}
END_TEST

START_TEST(counting_leaves_the_error_record_alone)
{
    odd.device_count = no_driver;
    install_odd();
    ck_assert_int_eq(kolk_fail(KOLK_IO, "an old failure"), KOLK_IO);
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_last_error()->status, KOLK_IO);
    ck_assert_str_eq(kolk_last_error()->message, "an old failure");
}
END_TEST

START_TEST(devices_are_counted_once)
{
    fault_install(KOLK_CUDA);
    fault_at(FAULT_device_count, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->native, 999);
    ck_assert_uint_eq(fault_calls(FAULT_device_count), 1);
}
END_TEST

START_TEST(a_kind_that_does_not_exist_is_refused)
{
    const kolk_device_kind kinds[] = {(kolk_device_kind)2, (kolk_device_kind)-1};
    for (int i = 0; i < 2; i++) {
        kolk_device_info info;
        ck_assert_int_eq(kolk_device_count(kinds[i]), 0);
        ck_assert_int_eq(kolk_device_reason(kinds[i])->status, KOLK_INVALID_ARGUMENT);
        ck_assert(!kolk_device_is_forked((kolk_device){kinds[i], 0}));
        ck_assert_fails(kolk_device_describe((kolk_device){kinds[i], 0}, &info),
                        KOLK_INVALID_ARGUMENT);
    }
    ck_assert_message("device kind -1 is neither host (0) nor cuda (1)");
}
END_TEST

/* ---- pages ---- */

static kolk_status describe_without_pages(int device, kolk_device_info *out)
{
    KOLK_TRY(kolk_backend_host.device_describe(device, out));
    out->page_size = 0;
    return KOLK_OK;
}

START_TEST(a_device_without_pages_maps_none)
{
    void *base = NULL;
    odd.device_describe = describe_without_pages;
    install_odd();
    ck_assert_fails(kolk_range_reserve(kolk_cuda(0), PAGE, &base), KOLK_UNSUPPORTED);
    ck_assert_message("cuda:0 cannot map pages");
    ck_assert_ptr_null(base);
}
END_TEST

static kolk_status a_hundred_devices(int *out)
{
    *out = 100;
    return KOLK_OK;
}

static void take_a_page(int ordinal)
{
    uint64_t page;
    ck_assert_ok(kolk_page_create(kolk_cuda(ordinal), PAGE, &page));
    ck_assert_ok(kolk_page_release(kolk_cuda(ordinal), page, PAGE));
}

START_TEST(the_page_size_is_asked_for_once)
{
    odd.device_count = a_hundred_devices;
    install_odd();
    fault_install(KOLK_CUDA);
    take_a_page(3);
    take_a_page(3);
    ck_assert_uint_eq(fault_calls(FAULT_device_describe), 1);
    take_a_page(99); /* beyond what is remembered, still right */
    ck_assert_uint_gt(fault_calls(FAULT_device_describe), 1);
}
END_TEST

START_TEST(a_device_that_cannot_be_described_maps_no_pages)
{
    uint64_t page = 5;
    fault_install(KOLK_CUDA);
    fault_at(FAULT_device_describe, 1);
    ck_assert_fails(kolk_page_create(kolk_cuda(0), PAGE, &page), KOLK_DEVICE);
    ck_assert_uint_eq(page, 5);
    take_a_page(0);
}
END_TEST

/* ---- a backend that breaks its word stops a debug build ---- */

#ifndef NDEBUG
static kolk_status give_misaligned(int device, size_t size, void **out)
{
    (void)device;
    (void)size;
    *out = (void *)128;
    return KOLK_OK;
}

static kolk_status give_nothing(int device, void **out)
{
    (void)device;
    *out = NULL;
    return KOLK_OK;
}

static kolk_status count_none(int *out)
{
    *out = 0;
    return KOLK_OK;
}

static bool memory_is_misaligned(void)
{
    void *out;
    odd.memory_alloc = give_misaligned;
    install_odd();
    return kolk_memory_alloc(kolk_cuda(0), 1, &out) == KOLK_OK;
}

static bool a_range_is_misaligned(void)
{
    void *out;
    odd.range_reserve = give_misaligned;
    install_odd();
    return kolk_range_reserve(kolk_cuda(0), PAGE, &out) == KOLK_OK;
}

static bool a_stream_is_null(void)
{
    kolk_stream *out;
    odd.stream_create = give_nothing;
    install_odd();
    return kolk_stream_create(kolk_cuda(0), &out) == KOLK_OK;
}

static bool an_event_is_null(void)
{
    kolk_event *out;
    odd.event_create = give_nothing;
    install_odd();
    return kolk_event_create(kolk_cuda(0), &out) == KOLK_OK;
}

static bool none_is_a_success(void)
{
    odd.device_count = count_none;
    install_odd();
    return kolk_device_count(KOLK_CUDA) == 0;
}

static bool (*const broken_words[])(void) = {
    memory_is_misaligned, a_range_is_misaligned, a_stream_is_null,
    an_event_is_null,     none_is_a_success,
};

START_TEST(a_backend_that_breaks_its_word_is_stopped)
{
    ck_assert(child_aborts(broken_words[_i]));
}
END_TEST
#endif

int main(void)
{
    Suite *const suite = suite_create("device");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, start_from_host, restore);
    tcase_add_test(core, the_host_is_one_device_without_a_reason);
    tcase_add_test(core, no_device_has_its_reason_and_it_is_the_error);
    tcase_add_test(core, a_build_without_cuda_says_so);
    tcase_add_test(core, counting_leaves_the_error_record_alone);
    tcase_add_test(core, devices_are_counted_once);
    tcase_add_test(core, a_kind_that_does_not_exist_is_refused);
    tcase_add_test(core, a_device_without_pages_maps_none);
    tcase_add_test(core, the_page_size_is_asked_for_once);
    tcase_add_test(core, a_device_that_cannot_be_described_maps_no_pages);
#ifndef NDEBUG
    tcase_add_loop_test(core, a_backend_that_breaks_its_word_is_stopped, 0,
                        sizeof broken_words / sizeof broken_words[0]);
#endif
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
