/* SPDX-License-Identifier: MIT */
/* How kolk-train finds a device and a BLAS for it. Run three times, with the
 * run-time linker sent to another cuBLAS each time; CUBLAS says which. */
#define _GNU_SOURCE
#include "cublas/cublas.h"
#include "emulator.h"
#include "failure.h"
#include "places.h"
#include "suite.h"

#include <dlfcn.h>
#include <kolk/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static train_place place;
static emulated_cublas_fail_function fail_call;
static emulated_cublas_handles_function handles;

static void open_machine(void)
{
    emu_reset(NULL);
    place = (train_place){0};
}

static void close_machine(void)
{
    train_place_close(&place);
    places_check_emulated();
}

static void open_library(void)
{
    open_machine();
    void *const library = dlopen("libcublas.so.13", RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    *(void **)&fail_call = dlsym(library, EMULATED_CUBLAS_FAIL);
    *(void **)&handles = dlsym(library, EMULATED_CUBLAS_HANDLES);
    ck_assert(fail_call != NULL && handles != NULL);
}

static void close_library(void)
{
    close_machine();
    ck_assert_int_eq(handles(), 0);
}

static void assert_failure(const char *part)
{
    const char *const message = train_failure();
    ck_assert_msg(strstr(message, part) != NULL, "no \"%s\" in: %s", part, message);
}

/* ---- with a cuBLAS ------------------------------------------------------- */

START_TEST(auto_takes_cuda_where_there_is_a_device)
{
    ck_assert_ok(train_place_choose(TRAIN_AUTO, &place));
    ck_assert_int_eq(place.device.kind, KOLK_CUDA);
    ck_assert_int_eq(handles(), 1);
}
END_TEST

START_TEST(host_is_taken_if_asked_for_even_where_there_is_a_device)
{
    ck_assert_ok(train_place_choose(TRAIN_HOST, &place));
    ck_assert_int_eq(place.device.kind, KOLK_HOST);
}
END_TEST

START_TEST(the_workspace_comes_from_the_pool)
{
    ck_assert_ok(train_place_choose(TRAIN_CUDA, &place));
    const kolk_pool_stats stats = kolk_pool_stats_of(place.memory.pool);
    ck_assert_uint_eq(stats.tags[KOLK_TAG_WORKSPACE].current, 4 << 20);
    ck_assert_uint_eq(stats.requested.current, 4 << 20);
}
END_TEST

static const char *const set_up[] = {"create", "set_stream", "set_workspace",
                                     "set_math_mode"};

START_TEST(a_set_up_that_fails_names_the_call_and_leaves_nothing)
{
    fail_call(_i + 1, 13);
    ck_assert_int_eq(train_place_choose(TRAIN_AUTO, &place), KOLK_DEVICE);
    ck_assert_ptr_null(place.gemm);
    char expected[64];
    (void)snprintf(expected, sizeof expected,
                   "cuBLAS %s failed with 13 (execution failed)", set_up[_i]);
    assert_failure(expected);
}
END_TEST

static kolk_tensor *make_matrix(float value)
{
    const kolk_tensor_spec spec = {
        .dtype = KOLK_F32, .rank = 2, .shape = {3, 3}, .no_grad = true};
    kolk_tensor *matrix = NULL;
    ck_assert_ok(train_memory_make(&place.memory, &spec, NULL, &matrix));
    ck_assert_ok(kolk_tensor_fill(matrix, &value));
    return matrix;
}

START_TEST(a_product_that_fails_is_reported)
{
    ck_assert_ok(train_place_choose(TRAIN_CUDA, &place));
    kolk_tensor *matrix KOLK_AUTO(kolk_tensor_destroy) = make_matrix(2.0F);
    kolk_tensor *result KOLK_AUTO(kolk_tensor_destroy) = make_matrix(0.0F);
    const train_product product = {.a = kolk_tensor_view(matrix),
                                   .b = kolk_tensor_view(matrix),
                                   .c = kolk_tensor_view(result)};
    fail_call(1, 13);
    ck_assert_int_eq(place.gemm->multiply(place.blas, &product), KOLK_DEVICE);
    assert_failure("cuBLAS sgemm failed with 13 (execution failed)");
    ck_assert_ok(place.gemm->multiply(place.blas, &product));
    float value = 0.0F;
    ck_assert_ok(kolk_tensor_get(result, KOLK_AT(2, 1), &value));
    ck_assert_float_eq_tol(value, 12.0F, 1e-6F);
}
END_TEST

START_TEST(a_device_without_room_for_the_workspace_is_out_of_memory)
{
    emu_reset(&(emu_config){.capacity = 2 << 20});
    ck_assert_int_eq(train_place_choose(TRAIN_AUTO, &place), KOLK_OUT_OF_MEMORY);
}
END_TEST

START_TEST(without_a_device_auto_takes_the_host_and_cuda_gives_the_reason)
{
    emu_break(100);
    ck_assert_ok(train_place_choose(TRAIN_AUTO, &place));
    ck_assert_int_eq(place.device.kind, KOLK_HOST);
    train_place_close(&place);
    ck_assert_int_ne(train_place_choose(TRAIN_CUDA, &place), KOLK_OK);
    ck_assert_int_eq(kolk_last_error()->native, 100);
    assert_failure("100");
    emu_break(0);
}
END_TEST

/* ---- without one --------------------------------------------------------- */

START_TEST(without_a_library_auto_falls_back_to_the_host)
{
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 1);
    ck_assert_ok(train_place_choose(TRAIN_AUTO, &place));
    ck_assert_int_eq(place.device.kind, KOLK_HOST);
}
END_TEST

START_TEST(without_a_library_cuda_is_refused_with_the_linkers_words)
{
    ck_assert_int_eq(train_place_choose(TRAIN_CUDA, &place), KOLK_UNSUPPORTED);
    assert_failure("cuBLAS cannot be loaded: ");
}
END_TEST

START_TEST(a_library_that_lacks_a_function_is_refused_by_its_name)
{
    ck_assert_int_eq(train_place_choose(TRAIN_CUDA, &place), KOLK_UNSUPPORTED);
    assert_failure("cuBLAS has no cublasSgemm_v2: ");
}
END_TEST

static TCase *whole(void)
{
    TCase *const tc = tcase_create("whole");
    tcase_add_checked_fixture(tc, open_library, close_library);
    tcase_add_test(tc, auto_takes_cuda_where_there_is_a_device);
    tcase_add_test(tc, host_is_taken_if_asked_for_even_where_there_is_a_device);
    tcase_add_test(tc, the_workspace_comes_from_the_pool);
    tcase_add_loop_test(tc, a_set_up_that_fails_names_the_call_and_leaves_nothing, 0,
                        sizeof set_up / sizeof *set_up);
    tcase_add_test(tc, a_product_that_fails_is_reported);
    tcase_add_test(tc, a_device_without_room_for_the_workspace_is_out_of_memory);
    tcase_add_test(tc, without_a_device_auto_takes_the_host_and_cuda_gives_the_reason);
    return tc;
}

static TCase *missing(void)
{
    TCase *const tc = tcase_create("missing");
    tcase_add_checked_fixture(tc, open_machine, close_machine);
    tcase_add_test(tc, without_a_library_auto_falls_back_to_the_host);
    tcase_add_test(tc, without_a_library_cuda_is_refused_with_the_linkers_words);
    return tc;
}

static TCase *crippled(void)
{
    TCase *const tc = tcase_create("crippled");
    tcase_add_checked_fixture(tc, open_machine, close_machine);
    tcase_add_test(tc, without_a_library_auto_falls_back_to_the_host);
    tcase_add_test(tc, a_library_that_lacks_a_function_is_refused_by_its_name);
    return tc;
}

int main(void)
{
    const char *const cublas = getenv("CUBLAS");
    Suite *const suite = suite_create("train_place");
    if (cublas && strcmp(cublas, "whole") == 0)
        suite_add_tcase(suite, whole());
    else if (cublas && strcmp(cublas, "missing") == 0)
        suite_add_tcase(suite, missing());
    else if (cublas && strcmp(cublas, "crippled") == 0)
        suite_add_tcase(suite, crippled());
    return kolk_run_suite(suite);
}
