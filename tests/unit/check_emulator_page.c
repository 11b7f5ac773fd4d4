/* SPDX-License-Identifier: MIT */

/* The emulated machine keeps the driver's rules about address space and pages. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <runtime/cuda_driver.h>
#include <signal.h>
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

static CUresult grant(CUdeviceptr address, size_t size)
{
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return driver->cuMemSetAccess(address, size, &access, 1);
}

static char *bytes(CUdeviceptr address)
{
    return (char *)(uintptr_t)address;
}

START_TEST(address_space_has_a_budget)
{
    const CUdeviceptr base = reserve(16);
    CUdeviceptr more = 77;
    ck_assert_uint_eq(base % PAGE, 0);
    ck_assert_int_eq(driver->cuMemAddressReserve(&more, PAGE, 0, 0, 0),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(more, 77);
    ck_assert_uint_eq(emu_address_space_used(), 16 * PAGE);
    ck_assert_int_eq(driver->cuMemAddressFree(base, 16 * PAGE), 0);
    ck_assert_uint_eq(emu_address_space_used(), 0);
}
END_TEST

START_TEST(address_space_is_given_back_as_it_was_taken)
{
    const CUdeviceptr base = reserve(4);
    ck_assert_int_eq(driver->cuMemAddressFree(base, 2 * PAGE), 1);
    ck_assert_int_eq(driver->cuMemAddressFree(base + PAGE, 3 * PAGE), 1);
    ck_assert_int_eq(driver->cuMemMap(base + PAGE, PAGE, 0, create(1), 0), 0);
    ck_assert_int_eq(driver->cuMemAddressFree(base, 4 * PAGE), 1);
    ck_assert_int_eq(driver->cuMemUnmap(base + PAGE, PAGE), 0);
    ck_assert_int_eq(driver->cuMemAddressFree(base, 4 * PAGE), 0);
}
END_TEST

START_TEST(sizes_are_whole_pages)
{
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle page = 0;
    size_t granularity = 0;
    const CUmemAllocationProp kind = kolk_cuda_page_kind(1);
    ck_assert_int_eq(driver->cuMemGetAllocationGranularity(&granularity, &kind, 0), 0);
    ck_assert_uint_eq(granularity, PAGE);
    ck_assert_int_eq(driver->cuMemAddressReserve(&base, PAGE + 1, 0, 0, 0), 1);
    ck_assert_int_eq(try_create(0, PAGE / 2, &page), 1);
    ck_assert_int_eq(try_create(0, 0, &page), 1);
    ck_assert_int_eq(try_create(2, PAGE, &page), 1);
}
END_TEST

START_TEST(pages_are_bounded_by_the_capacity)
{
    CUmemGenericAllocationHandle page = 77;
    ck_assert_int_eq(try_create(1, 4 * PAGE, &page), 0);
    page = 77;
    ck_assert_int_eq(try_create(1, PAGE, &page), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(page, 77);
    ck_assert_int_eq(try_create(0, PAGE, &page), 0);
}
END_TEST

START_TEST(a_page_is_mapped_whole_from_offset_zero)
{
    const CUdeviceptr base = reserve(4);
    const CUmemGenericAllocationHandle page = create(2);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, PAGE, page, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, page, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base + 512, 2 * PAGE, 0, page, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base + 3 * PAGE, 2 * PAGE, 0, page, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base + 4 * PAGE, 2 * PAGE, 0, page, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base, 2 * PAGE, 0, page + 1, 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base, 2 * PAGE, 0, page, 0), 0);
}
END_TEST

START_TEST(a_page_is_mapped_onto_nothing)
{
    const CUdeviceptr base = reserve(3);
    ck_assert_int_eq(driver->cuMemMap(base + PAGE, PAGE, 0, create(1), 0), 0);
    ck_assert_int_eq(driver->cuMemMap(base + PAGE, PAGE, 0, create(1), 0), 1);
    ck_assert_int_eq(driver->cuMemMap(base, 2 * PAGE, 0, create(2), 0), 1);
    ck_assert_uint_eq(emu_objects_now().mappings, 1);
}
END_TEST

START_TEST(mappings_are_unmapped_whole)
{
    const CUdeviceptr base = reserve(4);
    ck_assert_int_eq(driver->cuMemMap(base, 2 * PAGE, 0, create(2), 0), 0);
    ck_assert_int_eq(driver->cuMemMap(base + 2 * PAGE, PAGE, 0, create(1), 0), 0);
    ck_assert_int_eq(driver->cuMemUnmap(base, PAGE), 1);
    ck_assert_int_eq(driver->cuMemUnmap(base + PAGE, PAGE), 1);
    ck_assert_int_eq(driver->cuMemUnmap(base, 4 * PAGE), 1);
    ck_assert_int_eq(driver->cuMemUnmap(base, 3 * PAGE), 0);
    ck_assert_int_eq(driver->cuMemUnmap(base, 3 * PAGE), 1);
}
END_TEST

START_TEST(one_page_at_two_addresses_is_one_memory)
{
    const CUdeviceptr base = reserve(2);
    const CUmemGenericAllocationHandle page = create(1);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(driver->cuMemMap(base + i * PAGE, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(grant(base, 2 * PAGE), 0);
    strcpy(bytes(base) + 12345, "the same");
    ck_assert_str_eq(bytes(base + PAGE) + 12345, "the same");
    ck_assert_uint_eq(emu_memory_used(0), PAGE);
}
END_TEST

START_TEST(a_page_keeps_its_bytes_when_it_moves)
{
    const CUdeviceptr base = reserve(2);
    const CUmemGenericAllocationHandle page = create(1);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(grant(base, PAGE), 0);
    strcpy(bytes(base), "moved");
    ck_assert_int_eq(driver->cuMemUnmap(base, PAGE), 0);
    ck_assert_int_eq(driver->cuMemMap(base + PAGE, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(grant(base + PAGE, PAGE), 0);
    ck_assert_str_eq(bytes(base + PAGE), "moved");
}
END_TEST

START_TEST(memory_lives_until_it_is_neither_held_nor_mapped)
{
    const CUdeviceptr base = reserve(1);
    const CUmemGenericAllocationHandle page = create(1);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, page, 0), 0);
    ck_assert_int_eq(driver->cuMemRelease(page), 0);
    ck_assert_int_eq(driver->cuMemRelease(page), 1);
    ck_assert_uint_eq(emu_objects_now().pages, 0);
    ck_assert_uint_eq(emu_memory_used(0), PAGE);
    ck_assert_int_eq(grant(base, PAGE), 0);
    bytes(base)[PAGE - 1] = 1;
    ck_assert_int_eq(driver->cuMemUnmap(base, PAGE), 0);
    ck_assert_uint_eq(emu_memory_used(0), 0);
}
END_TEST

START_TEST(a_mapping_without_access_cannot_be_touched)
{
    const CUdeviceptr base = reserve(1);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, create(1), 0), 0);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit */
    bytes(base)[0] = 1;
}
END_TEST

START_TEST(access_is_for_whole_mappings_only)
{
    const CUdeviceptr base = reserve(2);
    ck_assert_int_eq(driver->cuMemMap(base, 2 * PAGE, 0, create(2), 0), 0);
    ck_assert_int_eq(grant(base, PAGE), 1);
    ck_assert_int_eq(grant(base + PAGE, PAGE), 1);
    ck_assert_int_eq(grant(base, 2 * PAGE), 0);
}
END_TEST

START_TEST(work_needs_access_on_its_device)
{
    const CUdeviceptr base = reserve(1);
    emu_tolerate(true);
    ck_assert_int_eq(driver->cuMemMap(base, PAGE, 0, create(1), 0), 0);
    ck_assert_int_eq(emu_touch(NULL, bytes(base), PAGE, true), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_int_eq(grant(base, PAGE), 0);
    ck_assert_int_eq(emu_touch(NULL, bytes(base), PAGE, true), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    ck_assert_int_eq(cudaSetDevice(1), 0);
    ck_assert_int_eq(emu_touch(NULL, bytes(base), 1, false), 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), 0);
    ck_assert_uint_eq(emu_violations(), 2);
    ck_assert_ptr_nonnull(strstr(emu_violation(), "not all mapped"));
    emu_reset(NULL);
}
END_TEST

START_TEST(a_machine_without_pages_has_none)
{
    CUdeviceptr base = 0;
    int value = 77;
    emu_reset(&(emu_config){.no_pages = true});
    ck_assert_int_eq(driver->cuMemAddressReserve(&base, PAGE, 0, 0, 0),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(
        driver->cuDeviceGetAttribute(
            &value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
        0);
    ck_assert_int_eq(value, 0);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("emulator_page");
    TCase *const tests = tcase_create("pages");
    tcase_add_checked_fixture(tests, boot, halt);
    tcase_add_test(tests, address_space_has_a_budget);
    tcase_add_test(tests, address_space_is_given_back_as_it_was_taken);
    tcase_add_test(tests, sizes_are_whole_pages);
    tcase_add_test(tests, pages_are_bounded_by_the_capacity);
    tcase_add_test(tests, a_page_is_mapped_whole_from_offset_zero);
    tcase_add_test(tests, a_page_is_mapped_onto_nothing);
    tcase_add_test(tests, mappings_are_unmapped_whole);
    tcase_add_test(tests, one_page_at_two_addresses_is_one_memory);
    tcase_add_test(tests, a_page_keeps_its_bytes_when_it_moves);
    tcase_add_test(tests, memory_lives_until_it_is_neither_held_nor_mapped);
    tcase_add_test_raise_signal(tests, a_mapping_without_access_cannot_be_touched,
                                SIGSEGV);
    tcase_add_test(tests, access_is_for_whole_mappings_only);
    tcase_add_test(tests, work_needs_access_on_its_device);
    tcase_add_test(tests, a_machine_without_pages_has_none);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
