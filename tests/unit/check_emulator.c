/* SPDX-License-Identifier: MIT */

/* The emulated machine keeps CUDA's rules about devices, calls and memory. */

#include "../support/child.h"
#include "../support/emulator.h"
#include "../support/suite.h"
#include <pthread.h>
#include <runtime/cuda_driver.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)

static const kolk_cuda_driver *driver;

static void boot(void)
{
    emu_reset(
        &(emu_config){.devices = 2, .capacity = 4 * PAGE, .address_space = 16 * PAGE});
    kolk_cuda_driver_forget();
    ck_assert_ok(kolk_cuda_driver_get(&driver));
}

static void halt(void)
{
    ck_assert_uint_eq(emu_violations(), 0);
}

static CUdeviceptr reserve(size_t pages)
{
    CUdeviceptr base = 0;
    ck_assert_int_eq(driver->cuMemAddressReserve(&base, pages * PAGE, 0, 0, 0), 0);
    return base;
}

static CUresult try_create(int device, size_t size, CUmemGenericAllocationHandle *out)
{
    const CUmemAllocationProp kind = kolk_cuda_page_kind(device);
    return driver->cuMemCreate(out, size, &kind, 0);
}

static CUmemGenericAllocationHandle create(size_t pages)
{
    CUmemGenericAllocationHandle page = 0;
    ck_assert_int_eq(try_create(0, pages * PAGE, &page), 0);
    return page;
}

/* ---- calls ---- */

START_TEST(every_call_is_counted)
{
    void *data = NULL;
    const size_t before = emu_calls(EMU_ANY);
    ck_assert_int_eq(cudaMalloc(&data, 1), cudaSuccess);
    ck_assert_int_eq(cudaFree(data), cudaSuccess);
    ck_assert_uint_eq(emu_calls(EMU_cudaMalloc), 1);
    ck_assert_uint_eq(emu_calls(EMU_cudaFree), 1);
    ck_assert_uint_eq(emu_calls(EMU_ANY), before + 2);
    ck_assert_str_eq(emu_call_name(EMU_cuMemMap), "cuMemMap");
}
END_TEST

START_TEST(time_is_charged_by_call)
{
    const uint64_t before = emu_clock();
    (void)create(1);
    ck_assert_uint_eq(emu_clock() - before, 193000);
}
END_TEST

START_TEST(the_chosen_call_fails_once)
{
    void *data = &data;
    int device;
    emu_fail(EMU_cudaMalloc, 2, cudaErrorUnknown);
    ck_assert_int_eq(cudaMalloc(&data, 1), cudaSuccess);
    ck_assert_int_eq(cudaGetDevice(&device), cudaSuccess);
    void *const first = data;
    ck_assert(emu_fail_is_armed());
    ck_assert_int_eq(cudaMalloc(&data, 1), cudaErrorUnknown);
    ck_assert_ptr_eq(data, first);
    ck_assert(!emu_fail_is_armed());
    ck_assert_int_eq(cudaMalloc(&data, 1), cudaSuccess);
}
END_TEST

START_TEST(any_call_can_be_the_one_that_fails)
{
    int device;
    emu_fail(EMU_ANY, 1, 4);
    ck_assert_int_eq(cudaGetDevice(&device), cudaErrorCudartUnloading);
    ck_assert_int_eq(cudaGetDevice(&device), cudaSuccess);
}
END_TEST

START_TEST(a_failure_stays_until_it_is_asked_for)
{
    ck_assert_int_eq(cudaSetDevice(9), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaSetDevice(0), cudaSuccess);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidDevice);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST

START_TEST(a_failure_of_the_driver_leaves_no_code_behind)
{
    ck_assert_int_eq(driver->cuMemAddressFree(PAGE, PAGE), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
}
END_TEST

START_TEST(a_broken_machine_fails_every_call)
{
    int count = 77;
    CUdeviceptr base = 0;
    emu_break(cudaErrorStubLibrary);
    ck_assert_int_eq(cudaGetDeviceCount(&count), cudaErrorStubLibrary);
    ck_assert_int_eq(driver->cuMemAddressReserve(&base, PAGE, 0, 0, 0), 34);
    ck_assert_int_eq(count, 77);
    emu_break(0);
    ck_assert_int_eq(cudaGetDeviceCount(&count), cudaSuccess);
    ck_assert_int_eq(count, 2);
}
END_TEST

static bool has_no_driver(void)
{
    int device;
    return cudaGetDevice(&device) == cudaErrorInitializationError;
}

static bool has_a_new_machine(void)
{
    int device;
    emu_reset(NULL);
    return cudaGetDevice(&device) == cudaSuccess;
}

START_TEST(a_driver_does_not_survive_a_fork)
{
    ck_assert(!has_no_driver());
    ck_assert(child_succeeds(has_no_driver));
    ck_assert(child_succeeds(has_a_new_machine));
}
END_TEST

/* ---- devices ---- */

static void *ask_device(void *out)
{
    ck_assert_int_eq(cudaGetDevice(out), cudaSuccess);
    return NULL;
}

START_TEST(each_thread_has_a_device_of_its_own)
{
    pthread_t thread;
    int theirs = 77;
    ck_assert_int_eq(cudaSetDevice(1), cudaSuccess);
    pthread_create(&thread, NULL, ask_device, &theirs);
    pthread_join(thread, NULL);
    ck_assert_int_eq(theirs, 0);
}
END_TEST

START_TEST(attributes_are_those_of_the_configuration)
{
    int value = 77;
    ck_assert_int_eq(
        driver->cuDeviceGetAttribute(
            &value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
        0);
    ck_assert_int_eq(value, 1);
    ck_assert_int_eq(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 1), 0);
    ck_assert_int_eq(value, 0);
    ck_assert_int_eq(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 2),
                     cudaErrorInvalidDevice);
}
END_TEST

START_TEST(an_old_driver_lacks_newer_calls)
{
    void *function = &function;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
    emu_set_driver_version(10000);
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion("cuMemMap", &function, 10020,
                                                      cudaEnableDefault, &found),
                     0);
    ck_assert_int_eq(found, cudaDriverEntryPointVersionNotSufficent);
    ck_assert_ptr_null(function);
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion("cuNothing", &function, 2000,
                                                      cudaEnableDefault, &found),
                     0);
    ck_assert_int_eq(found, cudaDriverEntryPointSymbolNotFound);
}
END_TEST

/* ---- plain memory ---- */

START_TEST(memory_is_bounded_by_the_capacity)
{
    void *data = NULL;
    void *more = &more;
    ck_assert_int_eq(cudaMalloc(&data, 4 * PAGE), cudaSuccess);
    ck_assert_int_eq(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
    ck_assert_ptr_eq(more, &more);
    ck_assert_int_eq(cudaMalloc(&more, SIZE_MAX), cudaErrorMemoryAllocation);
    ck_assert_int_eq(cudaFree(data), cudaSuccess);
    ck_assert_uint_eq(emu_memory_used(0), 0);
    ck_assert_int_eq(cudaMalloc(&data, 4 * PAGE), cudaSuccess);
}
END_TEST

START_TEST(memory_info_is_that_of_the_current_device)
{
    void *data = NULL;
    size_t unused = 0;
    size_t total = 0;
    ck_assert_int_eq(cudaMalloc(&data, 1), cudaSuccess);
    ck_assert_int_eq(cudaMemGetInfo(&unused, &total), cudaSuccess);
    ck_assert_uint_eq(total, 4 * PAGE);
    ck_assert_uint_eq(unused, 4 * PAGE - 512);
    ck_assert_int_eq(cudaSetDevice(1), cudaSuccess);
    ck_assert_int_eq(cudaMemGetInfo(&unused, &total), cudaSuccess);
    ck_assert_uint_eq(unused, 4 * PAGE);
}
END_TEST

START_TEST(only_the_start_of_an_allocation_can_be_freed)
{
    void *data = NULL;
    ck_assert_int_eq(cudaMalloc(&data, 1000), cudaSuccess);
    ck_assert_int_eq(cudaFree((char *)data + 512), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFree(&data), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaFree(NULL), cudaSuccess);
    ck_assert_int_eq(cudaFree(data), cudaSuccess);
    ck_assert_int_eq(cudaFree(data), cudaErrorInvalidValue);
}
END_TEST

START_TEST(nothing_can_be_allocated)
{
    void *data = &data;
    ck_assert_int_eq(cudaMalloc(&data, 0), cudaSuccess);
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(emu_objects_now().allocations, 0);
}
END_TEST

START_TEST(a_reset_leaves_nothing_of_the_old_machine)
{
    const CUdeviceptr base = reserve(1);
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    void *data = NULL;
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, create(1), 0), 0);
    ck_assert_int_eq(cudaMalloc(&data, 1), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), 0);
    ck_assert_int_eq(emu_touch(stream, data, 1, true), 0);
    ck_assert(!emu_objects_equal(emu_objects_now(), (emu_objects){0}));
    emu_reset(NULL);
    ck_assert(emu_objects_equal(emu_objects_now(), (emu_objects){0}));
    ck_assert_uint_eq(emu_calls(EMU_ANY), 0);
    ck_assert_uint_eq(emu_memory_used(0), 0);
    ck_assert_uint_eq(emu_pending_all(), 0);
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
    Suite *const suite = suite_create("emulator");
    TCase *tests = case_of(suite, "calls");
    tcase_add_test(tests, every_call_is_counted);
    tcase_add_test(tests, time_is_charged_by_call);
    tcase_add_test(tests, the_chosen_call_fails_once);
    tcase_add_test(tests, any_call_can_be_the_one_that_fails);
    tcase_add_test(tests, a_failure_stays_until_it_is_asked_for);
    tcase_add_test(tests, a_failure_of_the_driver_leaves_no_code_behind);
    tcase_add_test(tests, a_broken_machine_fails_every_call);
    tcase_add_test(tests, a_driver_does_not_survive_a_fork);
    tests = case_of(suite, "devices");
    tcase_add_test(tests, each_thread_has_a_device_of_its_own);
    tcase_add_test(tests, attributes_are_those_of_the_configuration);
    tcase_add_test(tests, an_old_driver_lacks_newer_calls);
    tests = case_of(suite, "memory");
    tcase_add_test(tests, memory_is_bounded_by_the_capacity);
    tcase_add_test(tests, memory_info_is_that_of_the_current_device);
    tcase_add_test(tests, only_the_start_of_an_allocation_can_be_freed);
    tcase_add_test(tests, nothing_can_be_allocated);
    tcase_add_test(tests, a_reset_leaves_nothing_of_the_old_machine);
    return kolk_run_suite(suite);
}
