/* SPDX-License-Identifier: MIT */

/* The happens-before oracle: which work on the same bytes is in order, and which
 * is not, whatever the order in which it happens to run. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <runtime/cuda_driver.h>
#include <string.h>

#define SIZE ((size_t)4096)
#define PAGE ((size_t)2 << 20)

static char *data;
static cudaStream_t a, b;
static cudaEvent_t event;

static void boot(void)
{
    emu_reset(NULL);
    emu_tolerate(true);
    kolk_cuda_driver_forget();
    ck_assert_int_eq(cudaMalloc((void **)&data, SIZE), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), 0);
}

static void halt(void)
{
    emu_reset(NULL);
}

static void touch(cudaStream_t stream, size_t from, size_t to, bool write)
{
    ck_assert_int_eq(emu_touch(stream, data + from, to - from, write), 0);
}

static void write_all(cudaStream_t stream)
{
    touch(stream, 0, SIZE, true);
}

static void order(cudaStream_t first, cudaStream_t second)
{
    ck_assert_int_eq(cudaEventRecord(event, first), 0);
    ck_assert_int_eq(cudaStreamWaitEvent(second, event, 0), 0);
}

/* Two accesses in two streams that nothing orders. */
static const struct {
    bool writes[2];
    size_t from[2], to[2];
    size_t races;
} pairs[] = {
    {{true, true}, {0, 0}, {SIZE, SIZE}, 1},  {{true, false}, {0, 0}, {SIZE, SIZE}, 1},
    {{false, true}, {0, 0}, {SIZE, SIZE}, 1}, {{false, false}, {0, 0}, {SIZE, SIZE}, 0},
    {{true, true}, {0, 512}, {512, 1024}, 0}, {{true, true}, {0, 511}, {512, 1024}, 1},
    {{true, true}, {512, 0}, {1024, 513}, 1}, {{true, true}, {512, 0}, {1024, 512}, 0},
    {{true, true}, {0, 100}, {SIZE, 101}, 1},
};

START_TEST(bytes_in_common_need_an_order)
{
    const cudaStream_t streams[] = {a, b};
    for (size_t i = 0; i < 2; i++)
        touch(streams[i], pairs[_i].from[i], pairs[_i].to[i], pairs[_i].writes[i]);
    ck_assert_uint_eq(emu_violations(), pairs[_i].races);
}
END_TEST

START_TEST(running_one_after_the_other_is_no_order)
{
    write_all(a);
    emu_run_all();
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_ptr_nonnull(strstr(emu_violation(), "no order between them"));
}
END_TEST

START_TEST(a_stream_is_in_order_with_itself)
{
    write_all(a);
    touch(a, 0, 1, false);
    write_all(a);
    ck_assert_uint_eq(emu_violations(), 0);
}
END_TEST

START_TEST(a_wait_for_an_event_is_an_order)
{
    write_all(a);
    order(a, b);
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 0);
    write_all(a);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(an_event_orders_only_what_was_before_it)
{
    ck_assert_int_eq(cudaEventRecord(event, a), 0);
    write_all(a);
    ck_assert_int_eq(cudaStreamWaitEvent(b, event, 0), 0);
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(order_passes_through_a_third_stream)
{
    write_all(a);
    order(a, NULL);
    order(NULL, b);
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 0);
}
END_TEST

START_TEST(what_the_host_has_seen_done_comes_before)
{
    write_all(a);
    ck_assert_int_eq(cudaStreamSynchronize(a), 0);
    write_all(b);
    ck_assert_int_eq(cudaEventRecord(event, b), 0);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    emu_run_all();
    ck_assert_int_eq(cudaEventQuery(event), cudaSuccess);
    write_all(a);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 0);
}
END_TEST

START_TEST(an_event_that_is_not_ready_orders_nothing)
{
    write_all(a);
    ck_assert_int_eq(cudaEventRecord(event, a), 0);
    ck_assert_int_eq(cudaEventQuery(event), cudaErrorNotReady);
    write_all(b);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(the_legacy_stream_orders_blocking_streams)
{
    cudaStream_t blocking = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), 0);
    write_all(blocking);
    write_all(NULL);
    write_all(blocking);
    ck_assert_uint_eq(emu_violations(), 0);
    write_all(a);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(a_write_takes_over_what_it_covers)
{
    touch(a, 0, 1024, true);
    order(a, b);
    touch(b, 256, 512, true);
    order(b, NULL);
    touch(NULL, 256, 512, true); /* comes after both */
    ck_assert_uint_eq(emu_violations(), 0);
    touch(a, 0, 256, true);
    touch(a, 512, 1024, true);
    ck_assert_uint_eq(emu_violations(), 0);
    touch(a, 300, 301, true);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(every_reader_comes_before_the_next_writer)
{
    touch(a, 0, SIZE, false);
    touch(b, 0, SIZE, false);
    order(a, NULL);
    write_all(NULL); /* after a's read, not after b's */
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(copies_and_fills_touch_memory)
{
    char host[16] = {0};
    ck_assert_int_eq(cudaMemsetAsync(data, 0, 16, a), 0);
    ck_assert_int_eq(cudaMemcpyAsync(host, data + 16, 16, cudaMemcpyDefault, b), 0);
    ck_assert_uint_eq(emu_violations(), 0);
    ck_assert_int_eq(cudaMemcpyAsync(host, data, 16, cudaMemcpyDefault, b), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_int_eq(cudaMemcpyAsync(data + 8, host, 16, cudaMemcpyDefault, a), 0);
    ck_assert_uint_eq(emu_violations(), 3);
    emu_run_all();
}
END_TEST

START_TEST(memory_in_use_must_not_be_freed)
{
    write_all(a);
    emu_run_all();
    ck_assert_int_eq(cudaFree(data), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_ptr_nonnull(strstr(emu_violation(), "cudaFree"));
    ck_assert_int_eq(cudaMalloc((void **)&data, SIZE), 0);
    write_all(a);
    ck_assert_int_eq(cudaStreamSynchronize(a), 0);
    ck_assert_int_eq(cudaFree(data), 0);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(work_on_freed_memory_is_found)
{
    ck_assert_int_eq(cudaFree(data), 0);
    write_all(a);
    emu_run_all();
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_ptr_nonnull(strstr(emu_violation(), "not all mapped"));
}
END_TEST

/* Two pages of address space with one page at both. */
static char *alias_page(const kolk_cuda_driver *driver)
{
    const CUmemAllocationProp kind = kolk_cuda_page_kind(0);
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle page = 0;
    ck_assert_int_eq(driver->cuMemAddressReserve(&base, 2 * PAGE, 0, 0, 0), 0);
    ck_assert_int_eq(driver->cuMemCreate(&page, PAGE, &kind, 0), 0);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(driver->cuMemMap(base + PAGE, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(driver->cuMemSetAccess(base, 2 * PAGE, &access, 1), 0);
    return (char *)(uintptr_t)base;
}

START_TEST(a_page_has_one_past_at_all_its_addresses)
{
    const kolk_cuda_driver *driver = NULL;
    ck_assert_ok(kolk_cuda_driver_get(&driver));
    char *const base = alias_page(driver);
    ck_assert_int_eq(emu_touch(a, base + 100, 1, true), 0);
    ck_assert_int_eq(emu_touch(b, base + PAGE + 101, 1, true), 0);
    ck_assert_uint_eq(emu_violations(), 0);
    ck_assert_int_eq(emu_touch(b, base + PAGE + 100, 1, true), 0);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

START_TEST(a_page_in_use_must_not_be_unmapped)
{
    const kolk_cuda_driver *driver = NULL;
    ck_assert_ok(kolk_cuda_driver_get(&driver));
    char *const base = alias_page(driver);
    ck_assert_int_eq(emu_touch(a, base, 2 * PAGE, false), 0);
    emu_run_all();
    ck_assert_int_eq(driver->cuMemUnmap((CUdeviceptr)(uintptr_t)base, PAGE), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_int_eq(cudaStreamSynchronize(a), 0);
    ck_assert_int_eq(driver->cuMemUnmap((CUdeviceptr)(uintptr_t)base + PAGE, PAGE), 0);
    ck_assert_uint_eq(emu_violations(), 1);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("emulator_order");
    TCase *const tests = tcase_create("order");
    tcase_add_checked_fixture(tests, boot, halt);
    tcase_add_loop_test(tests, bytes_in_common_need_an_order, 0,
                        sizeof pairs / sizeof pairs[0]);
    tcase_add_test(tests, running_one_after_the_other_is_no_order);
    tcase_add_test(tests, a_stream_is_in_order_with_itself);
    tcase_add_test(tests, a_wait_for_an_event_is_an_order);
    tcase_add_test(tests, an_event_orders_only_what_was_before_it);
    tcase_add_test(tests, order_passes_through_a_third_stream);
    tcase_add_test(tests, what_the_host_has_seen_done_comes_before);
    tcase_add_test(tests, an_event_that_is_not_ready_orders_nothing);
    tcase_add_test(tests, the_legacy_stream_orders_blocking_streams);
    tcase_add_test(tests, a_write_takes_over_what_it_covers);
    tcase_add_test(tests, every_reader_comes_before_the_next_writer);
    tcase_add_test(tests, copies_and_fills_touch_memory);
    tcase_add_test(tests, memory_in_use_must_not_be_freed);
    tcase_add_test(tests, work_on_freed_memory_is_found);
    tcase_add_test(tests, a_page_has_one_past_at_all_its_addresses);
    tcase_add_test(tests, a_page_in_use_must_not_be_unmapped);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
