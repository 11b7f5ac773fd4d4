/* SPDX-License-Identifier: MIT */

/* The CUDA backend on the emulated machine: each entry, and what it leaves
 * alone. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <kolk/cuda.h>
#include <runtime/cuda_driver.h>
#include <runtime/stream.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)

static const kolk_backend *const cuda = &kolk_backend_cuda;

static void boot_as(const emu_config *config)
{
    emu_reset(config);
    kolk_cuda_driver_forget();
    kolk_backend_install(KOLK_CUDA, NULL);
}

static void boot(void)
{
    boot_as(
        &(emu_config){.devices = 2, .capacity = 4 * PAGE, .address_space = 16 * PAGE});
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

/* ---- devices ---- */

START_TEST(devices_are_counted)
{
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 2);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->status, KOLK_OK);
}
END_TEST

static const struct {
    int code;
    const char *text;
} no_device[] = {
    {3, "initialization error"},
    {34, "stub library"},
    {35, "insufficient"},
    {100, "no CUDA-capable device"},
};

START_TEST(without_a_driver_there_is_no_device_but_a_reason)
{
    int count = 77;
    emu_break(no_device[_i].code);
    ck_assert_fails(cuda->device_count(&count), KOLK_DEVICE);
    ck_assert_int_eq(count, 77);
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    const kolk_error *const reason = kolk_device_reason(KOLK_CUDA);
    ck_assert_int_eq(reason->status, KOLK_DEVICE);
    ck_assert_int_eq(reason->native, no_device[_i].code);
    ck_assert_ptr_nonnull(strstr(reason->message, no_device[_i].text));
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
}
END_TEST

START_TEST(a_count_of_none_is_no_device_either)
{
    boot_as(&(emu_config){.devices = -1});
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->native, cudaErrorNoDevice);
}
END_TEST

START_TEST(a_stream_without_a_driver_repeats_the_reason)
{
    kolk_stream *stream = NULL;
    emu_break(cudaErrorInsufficientDriver);
    ck_assert_fails(kolk_stream_create(kolk_cuda(0), &stream), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorInsufficientDriver);
    ck_assert_ptr_null(stream);
}
END_TEST

START_TEST(a_device_is_described)
{
    kolk_device_info info = {0};
    ck_assert_ok(kolk_device_describe(kolk_cuda(1), &info));
    ck_assert_str_eq(info.name, "Emulated CUDA device 1");
    ck_assert_uint_eq(info.total, 4 * PAGE);
    ck_assert_uint_eq(info.page_size, PAGE);
    ck_assert(!info.integrated);
}
END_TEST

START_TEST(a_device_may_have_no_pages)
{
    kolk_device_info info = {0};
    void *base = &base;
    boot_as(&(emu_config){.no_pages = true, .integrated = true});
    ck_assert_ok(kolk_device_describe(kolk_cuda(0), &info));
    ck_assert_uint_eq(info.page_size, 0);
    ck_assert(info.integrated);
    ck_assert_fails(cuda->range_reserve(0, PAGE, &base), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_ptr_eq(base, &base);
}
END_TEST

START_TEST(an_old_driver_is_refused_by_name)
{
    uint64_t page = 77;
    emu_set_driver_version(10000);
    ck_assert_fails(cuda->page_create(0, PAGE, &page), KOLK_UNSUPPORTED);
    ck_assert_message("cuMem");
    ck_assert_message("10020");
    ck_assert_uint_eq(page, 77);
    emu_set_driver_version(CUDART_VERSION);
    ck_assert_ok(cuda->page_create(0, PAGE, &page));
    ck_assert_ok(cuda->page_release(0, page, PAGE));
}
END_TEST

START_TEST(the_drivers_calls_are_looked_up_once)
{
    uint64_t page = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_ok(cuda->page_create(0, PAGE, &page));
        ck_assert_ok(cuda->page_release(0, page, PAGE));
    }
    ck_assert_uint_eq(emu_calls(EMU_cudaGetDriverEntryPointByVersion), 12);
}
END_TEST

START_TEST(synchronizing_a_device_ends_its_work)
{
    void *const stream = stream_on(1);
    void *data = NULL;
    ck_assert_ok(cuda->memory_alloc(1, PAGE, &data));
    ck_assert_ok(cuda->fill(1, data, 1, PAGE, stream));
    ck_assert_uint_eq(emu_pending_all(), 1);
    ck_assert_ok(cuda->device_synchronize(1));
    ck_assert_uint_eq(emu_pending_all(), 0);
    ck_assert_ok(cuda->memory_free(1, data));
    ck_assert_ok(cuda->stream_destroy(1, stream));
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_belongs_to_its_device)
{
    void *data = NULL;
    size_t unused = 0;
    size_t total = 0;
    ck_assert_ok(cuda->memory_alloc(1, PAGE, &data));
    ck_assert_uint_eq(emu_memory_used(0), 0);
    ck_assert_ok(cuda->memory_info(1, &unused, &total));
    ck_assert_uint_eq(unused, 3 * PAGE);
    ck_assert_uint_eq(total, 4 * PAGE);
    ck_assert_ok(cuda->memory_free(1, data));
}
END_TEST

START_TEST(memory_that_is_full_says_so)
{
    void *data = &data;
    uint64_t page = 77;
    ck_assert_fails(cuda->memory_alloc(0, 5 * PAGE, &data), KOLK_OUT_OF_MEMORY);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorMemoryAllocation);
    ck_assert_message("cudaMalloc: out of memory");
    ck_assert_ptr_eq(data, &data);
    ck_assert_fails(cuda->page_create(0, 5 * PAGE, &page), KOLK_OUT_OF_MEMORY);
    ck_assert_int_eq(kolk_last_error()->native, CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_message("cuMemCreate: out of memory");
    ck_assert_uint_eq(page, 77);
    ck_assert_fails(cuda->range_reserve(0, 17 * PAGE, &data), KOLK_OUT_OF_MEMORY);
    ck_assert_ptr_eq(data, &data);
}
END_TEST

START_TEST(bytes_go_to_the_device_and_back)
{
    const char sent[] = "there and back";
    char received[sizeof sent] = {0};
    void *const stream = stream_on(0);
    void *data = NULL;
    ck_assert_ok(cuda->memory_alloc(0, 64, &data));
    ck_assert_ok(cuda->fill(0, data, 'x', 64, stream));
    ck_assert_ok(cuda->copy(0, data, sent, sizeof sent, stream));
    ck_assert_ok(cuda->copy(0, received, data, sizeof sent, stream));
    ck_assert_str_eq(received, "");
    ck_assert_ok(cuda->stream_synchronize(0, stream));
    ck_assert_str_eq(received, sent);
    ck_assert_int_eq(((char *)data)[63], 'x');
    ck_assert_ok(cuda->memory_free(0, data));
    ck_assert_ok(cuda->stream_destroy(0, stream));
}
END_TEST

START_TEST(a_page_moves_with_its_bytes)
{
    void *base = NULL;
    uint64_t page = 0;
    ck_assert_ok(cuda->range_reserve(1, 2 * PAGE, &base));
    ck_assert_ok(cuda->page_create(1, PAGE, &page));
    ck_assert_ok(cuda->page_map(1, base, PAGE, page));
    strcpy(base, "moved");
    ck_assert_ok(cuda->page_unmap(1, base, PAGE));
    ck_assert_ok(cuda->page_map(1, (char *)base + PAGE, PAGE, page));
    ck_assert_str_eq((char *)base + PAGE, "moved");
    ck_assert_ok(cuda->page_unmap(1, (char *)base + PAGE, PAGE));
    ck_assert_uint_eq(emu_memory_used(1), PAGE);
    ck_assert_ok(cuda->page_release(1, page, PAGE));
    ck_assert_uint_eq(emu_memory_used(1), 0);
    ck_assert_ok(cuda->range_free(1, base, 2 * PAGE));
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
    Suite *const suite = suite_create("cuda");
    TCase *tests = case_of(suite, "devices");
    tcase_add_test(tests, devices_are_counted);
    tcase_add_loop_test(tests, without_a_driver_there_is_no_device_but_a_reason, 0,
                        sizeof no_device / sizeof no_device[0]);
    tcase_add_test(tests, a_count_of_none_is_no_device_either);
    tcase_add_test(tests, a_stream_without_a_driver_repeats_the_reason);
    tcase_add_test(tests, a_device_is_described);
    tcase_add_test(tests, a_device_may_have_no_pages);
    tcase_add_test(tests, an_old_driver_is_refused_by_name);
    tcase_add_test(tests, the_drivers_calls_are_looked_up_once);
    tcase_add_test(tests, synchronizing_a_device_ends_its_work);
    tests = case_of(suite, "memory");
    tcase_add_test(tests, memory_belongs_to_its_device);
    tcase_add_test(tests, memory_that_is_full_says_so);
    tcase_add_test(tests, bytes_go_to_the_device_and_back);
    tcase_add_test(tests, a_page_moves_with_its_bytes);
    return kolk_run_suite(suite);
}
