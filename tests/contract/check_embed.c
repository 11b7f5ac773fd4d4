/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* A process that takes the library in keeps its own malloc. Built three times:
 * linked with libkolk.so, linked with libkolk.a, and (EMBED_LOADED, with the
 * library's path as its argument) opening libkolk.so while it runs. */

#include "suite.h"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <kolk/kolk.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(X)           \
    X(kolk_stream_create)  \
    X(kolk_stream_destroy) \
    X(kolk_pool_create)    \
    X(kolk_pool_destroy)   \
    X(kolk_block_alloc)    \
    X(kolk_block_free)     \
    X(kolk_bookkeeping_size)

#ifdef EMBED_LOADED
static struct {
    void *handle;
#define X(name) __typeof__(&name) name;
    CALLS(X)
#undef X
} library;
#define KOLK(name) library.name
static const char *path;

static void open_library(void)
{
    library.handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    ck_assert_msg(library.handle != NULL, "%s", dlerror());
#define X(name) *(void **)&library.name = dlsym(library.handle, #name);
    CALLS(X)
#undef X
}

static void close_library(void)
{
    ck_assert_int_eq(dlclose(library.handle), 0);
}
#else
#define KOLK(name) name

static void open_library(void)
{
}

static void close_library(void)
{
}
#endif

static const char *object_of(const char *symbol)
{
    Dl_info info;
    void *const address = dlsym(RTLD_DEFAULT, symbol);
    ck_assert_msg(address != NULL && dladdr(address, &info) != 0, "no %s", symbol);
    return info.dli_fname;
}

static const char *const functions[] = {"malloc",         "calloc",        "realloc",
                                        "free",           "aligned_alloc", "memalign",
                                        "posix_memalign", "valloc"};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

START_TEST(the_process_keeps_the_malloc_of_libc)
{
    ck_assert_str_eq(object_of(functions[_i]), object_of("gnu_get_libc_version"));
}
END_TEST

START_TEST(no_other_malloc_is_in_reach)
{
    static const char *const names[] = {"mallocx",        "mallctl",
                                        "kolk_je_calloc", "kolk_je_malloc",
                                        "kolk_je_free",   "kolk_je_malloc_usable_size"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_msg(dlsym(RTLD_DEFAULT, names[i]) == NULL, "%s", names[i]);
}
END_TEST

static void *use_library(void *unused)
{
    (void)unused;
    kolk_stream *stream = NULL;
    kolk_pool *pool = NULL;
    kolk_block *block = NULL;
    const size_t before = KOLK(kolk_bookkeeping_size)();
    ck_assert_int_eq(KOLK(kolk_stream_create)(kolk_host(), &stream), KOLK_OK);
    ck_assert_int_eq(KOLK(kolk_pool_create)(kolk_host(), NULL, &pool), KOLK_OK);
    ck_assert_int_eq(KOLK(kolk_block_alloc)(pool, 5000, stream, &block), KOLK_OK);
    ck_assert_uint_gt(KOLK(kolk_bookkeeping_size)(), before);
    KOLK(kolk_block_free)(&block);
    KOLK(kolk_pool_destroy)(&pool);
    KOLK(kolk_stream_destroy)(&stream);
    ck_assert_uint_eq(KOLK(kolk_bookkeeping_size)(), before);
    return NULL;
}

static void use_library_on_a_thread(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, use_library, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(the_library_works_on_every_thread)
{
    use_library(NULL);
    use_library_on_a_thread();
}
END_TEST

START_TEST(both_mallocs_work_side_by_side)
{
    char *mine[64];
    for (size_t i = 0; i < 64; i++) {
        mine[i] = malloc(i * 100 + 1);
        memset(mine[i], (int)i, i * 100 + 1);
        use_library(NULL);
    }
    for (size_t i = 0; i < 64; i++) {
        ck_assert_int_eq(mine[i][i * 100], (int)i);
        free(mine[i]);
    }
}
END_TEST

static pthread_barrier_t closed;

static void *use_and_outlive(void *unused)
{
    use_library(unused);
    pthread_barrier_wait(&closed);
    pthread_barrier_wait(&closed);
    return NULL;
}

START_TEST(a_thread_may_end_after_the_library_is_closed)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_barrier_init(&closed, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_and_outlive, NULL), 0);
    pthread_barrier_wait(&closed);
    close_library();
    pthread_barrier_wait(&closed);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *const suite = suite_create("embed");
    TCase *const tcase = tcase_create("embed");
    (void)argc;
    (void)argv;
#ifdef EMBED_LOADED
    path = argc > 1 ? argv[1] : "libkolk.so.0";
#endif
    tcase_add_checked_fixture(tcase, open_library, NULL);
    tcase_add_loop_test(tcase, the_process_keeps_the_malloc_of_libc, 0, FUNCTIONS);
    tcase_add_test(tcase, no_other_malloc_is_in_reach);
    tcase_add_test(tcase, the_library_works_on_every_thread);
    tcase_add_test(tcase, both_mallocs_work_side_by_side);
    tcase_add_test(tcase, a_thread_may_end_after_the_library_is_closed);
    suite_add_tcase(suite, tcase);
    return kolk_run_suite(suite);
}
