/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/child.h"
#include "../support/suite.h"
#include <errno.h>
#include <pthread.h>
#include <runtime/backend.h>
#include <runtime/sanitize.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)2 << 20)

static const kolk_backend *const host = &kolk_backend_host;

static size_t in_use(void)
{
    size_t available;
    size_t total;
    ck_assert_ok(kolk_device_memory(kolk_host(), &available, &total));
    return total - available;
}

/* ---- capacity ---- */

START_TEST(capacity_is_physical_memory_by_default)
{
    kolk_device_info info;
    const size_t physical =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    ck_assert_ok(kolk_host_set_capacity(5 * PAGE));
    ck_assert_ok(kolk_device_describe(kolk_host(), &info));
    ck_assert_uint_eq(info.total, 5 * PAGE);
    ck_assert_ok(kolk_host_set_capacity(0));
    ck_assert_ok(kolk_device_describe(kolk_host(), &info));
    ck_assert_uint_eq(info.total, physical);
}
END_TEST

START_TEST(memory_and_pages_share_one_capacity)
{
    void *data = NULL;
    uint64_t page = 77;
    ck_assert_ok(kolk_host_set_capacity(3 * PAGE));
    ck_assert_ok(kolk_memory_alloc(kolk_host(), PAGE + 1, &data));
    ck_assert_uint_eq(in_use(), PAGE + 1);
    ck_assert_fails(kolk_page_create(kolk_host(), 2 * PAGE, &page), KOLK_OUT_OF_MEMORY);
    ck_assert_uint_eq(page, 77);
    ck_assert_int_eq(kolk_last_error()->native, ENOMEM);
    ck_assert_message("4194304 bytes asked");
    ck_assert_message("2097153 of its 6291456");
    ck_assert_uint_eq(in_use(), PAGE + 1);
    ck_assert_ok(kolk_page_create(kolk_host(), PAGE, &page));
    ck_assert_ok(kolk_memory_free(kolk_host(), data));
    ck_assert_ok(kolk_page_release(kolk_host(), page, PAGE));
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

START_TEST(capacity_cannot_fall_below_what_is_in_use)
{
    uint64_t page;
    ck_assert_ok(kolk_host_set_capacity(2 * PAGE));
    ck_assert_ok(kolk_page_create(kolk_host(), 2 * PAGE, &page));
    ck_assert_fails(kolk_host_set_capacity(PAGE), KOLK_OUT_OF_RANGE);
    ck_assert_message("2097152 bytes is less than the 4194304 in use");
    ck_assert_ok(kolk_host_set_capacity(2 * PAGE));
    ck_assert_ok(kolk_page_release(kolk_host(), page, 2 * PAGE));
    ck_assert_ok(kolk_host_set_capacity(PAGE));
}
END_TEST

enum { TAKERS = 4, TRIES = 500, PAGES = 3 };

/* Takes and gives back; how often it held a page is what it returns. */
static void *take_pages(void *argument)
{
    (void)argument;
    size_t taken = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t page;
        if (host->page_create(0, PAGE, &page) != KOLK_OK)
            continue;
        taken++;
        if (taken % 2 == 0 || i % 3 == 0)
            taken -= host->page_release(0, page, PAGE) == KOLK_OK;
    }
    return (void *)taken;
}

START_TEST(threads_together_cannot_pass_the_capacity)
{
    pthread_t threads[TAKERS];
    size_t held = 0;
    ck_assert_ok(kolk_host_set_capacity(PAGES * PAGE));
    for (int i = 0; i < TAKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_pages, NULL), 0);
    for (int i = 0; i < TAKERS; i++) {
        void *taken;
        ck_assert_int_eq(pthread_join(threads[i], &taken), 0);
        held += (size_t)taken;
    }
    ck_assert_uint_le(held, PAGES);
    ck_assert_uint_eq(in_use(), held * PAGE);
}
END_TEST

/* ---- memory ---- */

START_TEST(huge_sizes_fail_and_change_nothing)
{
    static const size_t sizes[] = {SIZE_MAX,
                                   SIZE_MAX - 255,
                                   SIZE_MAX - PAGE,
                                   SIZE_MAX - 2 * PAGE + 1,
                                   SIZE_MAX - 4 * PAGE,
                                   (size_t)1 << 63,
                                   (size_t)1 << 50};
    ck_assert_ok(kolk_host_set_capacity(SIZE_MAX));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char untouched;
        void *data = &untouched;
        ck_assert_fails(kolk_memory_alloc(kolk_host(), sizes[i], &data),
                        KOLK_OUT_OF_MEMORY);
        ck_assert_ptr_eq(data, &untouched);
        ck_assert_int_ne(kolk_last_error()->native, 0);
    }
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

START_TEST(a_huge_range_is_a_failure_or_is_there)
{
    const size_t size = PAGE << 17; /* 256 GiB */
    char untouched;
    void *base = &untouched;
    if (kolk_range_reserve(kolk_host(), size, &base) == KOLK_OK) {
        ck_assert_uint_eq((uintptr_t)base % PAGE, 0);
        ck_assert_ok(kolk_range_free(kolk_host(), base, size));
    } else { /* as under Valgrind */
        ck_assert_int_eq(kolk_last_error()->status, KOLK_OUT_OF_MEMORY);
        ck_assert_ptr_eq(base, &untouched);
    }
    ck_assert_fails(kolk_range_reserve(kolk_host(), (size_t)1 << 60, &base),
                    KOLK_OUT_OF_MEMORY);
    ck_assert_message("mmap of 1152921504606846976 bytes");
}
END_TEST

START_TEST(memory_is_zero_and_writable_to_its_last_byte)
{
    static const size_t sizes[] = {1, 255, 4096, 4097, PAGE - 1, PAGE, PAGE + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *data;
        ck_assert_ok(kolk_memory_alloc(kolk_host(), sizes[i], &data));
        ck_assert_uint_eq((uintptr_t)data % PAGE, 0);
        ck_assert_int_eq(((char *)data)[sizes[i] - 1], 0);
        memset(data, 0x5a, sizes[i]);
        ck_assert_ok(kolk_memory_free(kolk_host(), data));
    }
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

static char *map_one(void **base, uint64_t *page)
{
    ck_assert_ok(kolk_range_reserve(kolk_host(), 3 * PAGE, base));
    ck_assert_ok(kolk_page_create(kolk_host(), PAGE, page));
    ck_assert_ok(kolk_page_map(kolk_host(), (char *)*base + PAGE, PAGE, *page));
    return (char *)*base + PAGE;
}

static void unmap_one(void *base, uint64_t page)
{
    ck_assert_ok(kolk_page_unmap(kolk_host(), (char *)base + PAGE, PAGE));
    ck_assert_ok(kolk_page_release(kolk_host(), page, PAGE));
    ck_assert_ok(kolk_range_free(kolk_host(), base, 3 * PAGE));
}

START_TEST(what_was_poisoned_is_forgotten_with_the_page)
{
#ifdef KOLK_ASAN
    void *base;
    uint64_t page;
    char *const address = map_one(&base, &page);
    __asan_poison_memory_region(address, PAGE);
    ck_assert_ok(kolk_page_unmap(kolk_host(), address, PAGE));
    ck_assert_int_eq(__asan_address_is_poisoned(address), 0);
    ck_assert_ok(kolk_page_map(kolk_host(), address, PAGE, page));
    unmap_one(base, page);

    void *data;
    ck_assert_ok(kolk_memory_alloc(kolk_host(), 100, &data));
    __asan_poison_memory_region(data, 100);
    ck_assert_ok(kolk_memory_free(kolk_host(), data));
    ck_assert_int_eq(__asan_address_is_poisoned(data), 0);
#endif
}
END_TEST

/* ---- what the operating system refuses ---- */

/* The linker sends the runtime's own calls here. */
void *__real_mmap64(void *address, size_t size, int protection, int flags, int file,
                    off_t offset);
int __real_mprotect(void *address, size_t size, int protection);
int __real_munmap(void *address, size_t size);
void *__wrap_mmap64(void *address, size_t size, int protection, int flags, int file,
                    off_t offset);
int __wrap_mprotect(void *address, size_t size, int protection);
int __wrap_munmap(void *address, size_t size);

static enum { NONE, MMAP, MPROTECT, MUNMAP } refused;

static bool is_refused(int call)
{
    if (call == (int)refused)
        errno = call == MUNMAP ? EINVAL : ENOMEM;
    return call == (int)refused;
}

void *__wrap_mmap64(void *address, size_t size, int protection, int flags, int file,
                    off_t offset)
{
    if (is_refused(MMAP))
        return MAP_FAILED;
    return __real_mmap64(address, size, protection, flags, file, offset);
}

int __wrap_mprotect(void *address, size_t size, int protection)
{
    return is_refused(MPROTECT) ? -1 : __real_mprotect(address, size, protection);
}

int __wrap_munmap(void *address, size_t size)
{
    return is_refused(MUNMAP) ? -1 : __real_munmap(address, size);
}

static void assert_refused(kolk_status status, kolk_status expected, const char *text)
{
    refused = NONE;
    ck_assert_fails(status, expected);
    ck_assert_int_eq(kolk_last_error()->native,
                     expected == KOLK_DEVICE ? EINVAL : ENOMEM);
    ck_assert_message(text);
}

START_TEST(memory_that_the_system_refuses_is_not_charged)
{
    void *data = NULL;
    refused = MMAP;
    assert_refused(kolk_memory_alloc(kolk_host(), 3 * PAGE, &data), KOLK_OUT_OF_MEMORY,
                   "mmap of 8388608 bytes");
    refused = MPROTECT;
    assert_refused(kolk_memory_alloc(kolk_host(), 3 * PAGE, &data), KOLK_OUT_OF_MEMORY,
                   "mprotect of 6291456 bytes");
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

START_TEST(memory_that_cannot_be_unmapped_stays_charged)
{
    void *data;
    ck_assert_ok(kolk_memory_alloc(kolk_host(), PAGE, &data));
    refused = MUNMAP;
    assert_refused(kolk_memory_free(kolk_host(), data), KOLK_DEVICE,
                   "munmap of 4194304 bytes");
    ck_assert_uint_eq(in_use(), PAGE);
    ck_assert_ok(kolk_memory_free(kolk_host(), data));
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

START_TEST(a_refused_mapping_leaves_page_and_range_as_they_were)
{
    void *base;
    uint64_t page;
    char *const address = map_one(&base, &page);
    address[0] = 1;
    refused = MMAP;
    assert_refused(kolk_page_unmap(kolk_host(), address, PAGE), KOLK_OUT_OF_MEMORY,
                   "mmap of 2097152 bytes");
    ck_assert_int_eq(address[0], 1);
    refused = MMAP;
    assert_refused(kolk_page_map(kolk_host(), base, PAGE, page), KOLK_OUT_OF_MEMORY,
                   "mmap of 2097152 bytes");
    ck_assert_ok(kolk_page_unmap(kolk_host(), address, PAGE));
    refused = MUNMAP;
    assert_refused(kolk_range_free(kolk_host(), base, 3 * PAGE), KOLK_DEVICE,
                   "munmap of 6291456 bytes");
    ck_assert_ok(kolk_page_release(kolk_host(), page, PAGE));
    ck_assert_ok(kolk_range_free(kolk_host(), base, 3 * PAGE));
}
END_TEST

/* ---- fork ---- */

static char *shared_page;
static char *shared_memory;

static bool child_writes_its_own_copy(void)
{
    const bool inherited = shared_page[5] == 11 && shared_memory[5] == 22;
    shared_page[5] = 33;
    shared_memory[5] = 44;
    void *more;
    return inherited && in_use() == 2 * PAGE &&
           kolk_memory_free(kolk_host(), shared_memory) == KOLK_OK &&
           in_use() == PAGE && kolk_memory_alloc(kolk_host(), 10, &more) == KOLK_OK &&
           kolk_memory_free(kolk_host(), more) == KOLK_OK;
}

START_TEST(a_forked_child_has_its_own_copy)
{
    void *base;
    void *memory;
    uint64_t page;
    shared_page = map_one(&base, &page);
    ck_assert_ok(kolk_memory_alloc(kolk_host(), PAGE, &memory));
    shared_memory = memory;
    shared_page[5] = 11;
    shared_memory[5] = 22;
    ck_assert(child_succeeds(child_writes_its_own_copy));
    ck_assert_int_eq(shared_page[5], 11);
    ck_assert_int_eq(shared_memory[5], 22);
    ck_assert_ok(kolk_memory_free(kolk_host(), memory));
    unmap_one(base, page);
    ck_assert_uint_eq(in_use(), 0);
}
END_TEST

static void restore_capacity(void)
{
    ck_assert_ok(kolk_host_set_capacity(0));
}

int main(void)
{
    Suite *const suite = suite_create("host");
    TCase *const core = tcase_create("core");
    tcase_add_checked_fixture(core, restore_capacity, NULL);
    tcase_add_test(core, capacity_is_physical_memory_by_default);
    tcase_add_test(core, memory_and_pages_share_one_capacity);
    tcase_add_test(core, capacity_cannot_fall_below_what_is_in_use);
    tcase_add_test(core, huge_sizes_fail_and_change_nothing);
    tcase_add_test(core, a_huge_range_is_a_failure_or_is_there);
    tcase_add_test(core, memory_is_zero_and_writable_to_its_last_byte);
    tcase_add_test(core, what_was_poisoned_is_forgotten_with_the_page);
    tcase_add_test(core, memory_that_the_system_refuses_is_not_charged);
    tcase_add_test(core, memory_that_cannot_be_unmapped_stays_charged);
    tcase_add_test(core, a_refused_mapping_leaves_page_and_range_as_they_were);
    tcase_add_test(core, a_forked_child_has_its_own_copy);
    tcase_add_test(core, threads_together_cannot_pass_the_capacity);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
