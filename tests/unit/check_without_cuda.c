/* SPDX-License-Identifier: MIT */

/* A build without CUDA says so wherever CUDA is asked for. */

#include "../support/suite.h"
#include <kolk/cuda.h>
#include <string.h>

START_TEST(there_is_no_device_and_a_reason)
{
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert_int_eq(kolk_device_reason(KOLK_CUDA)->status, KOLK_UNSUPPORTED);
    ck_assert_str_eq(kolk_device_reason(KOLK_CUDA)->message, "built without CUDA");
}
END_TEST

START_TEST(a_cuda_stream_cannot_be_wrapped)
{
    kolk_stream *stream = NULL;
    ck_assert_fails(kolk_stream_wrap(0, NULL, &stream), KOLK_UNSUPPORTED);
    ck_assert_message("built without CUDA");
    ck_assert_ptr_null(stream);
}
END_TEST

START_TEST(no_stream_is_a_cuda_stream)
{
    kolk_stream *stream = NULL;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_ptr_null(kolk_stream_cuda(stream));
    kolk_stream_destroy(&stream);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("without_cuda");
    TCase *const tests = tcase_create("without");
    tcase_add_test(tests, there_is_no_device_and_a_reason);
    tcase_add_test(tests, a_cuda_stream_cannot_be_wrapped);
    tcase_add_test(tests, no_stream_is_a_cuda_stream);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
