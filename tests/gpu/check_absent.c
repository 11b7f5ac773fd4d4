/* SPDX-License-Identifier: MIT */

/* What CUDA itself says on a machine that has no device for it. */

#include "suite.h"
#include <kolk/stats.h>
#include <kolk/tensor.h>
#include <string.h>

START_TEST(a_tensor_asked_for_on_cuda_reports_the_drivers_own_code_and_text)
{
    const kolk_error *const reason = kolk_device_reason(KOLK_CUDA);
    const size_t before = kolk_bookkeeping_size();
    kolk_pool *pool = NULL;
#ifdef KOLK_HAVE_CUDA
    ck_assert_int_ne(reason->native, 0);
#endif
    ck_assert_uint_gt(strlen(reason->message), 0);
    ck_assert_fails(kolk_pool_create(kolk_cuda(0), NULL, &pool), reason->status);
    ck_assert_int_eq(kolk_last_error()->native, reason->native);
    ck_assert_message(reason->message);
    ck_assert_ptr_null(pool);
    ck_assert_uint_eq(kolk_bookkeeping_size(), before);
}
END_TEST

START_TEST(a_tensor_is_not_moved_to_a_stream_or_view_of_cuda)
{
    const kolk_error *const reason = kolk_device_reason(KOLK_CUDA);
    kolk_pool *pool KOLK_AUTO(kolk_pool_destroy) = NULL;
    kolk_tensor *tensor = NULL;
    kolk_stream *stream = NULL;
    const kolk_view view = {.device = kolk_cuda(0)};
    ck_assert_ok(kolk_pool_create(kolk_host(), NULL, &pool));
    ck_assert_fails(kolk_stream_create(kolk_cuda(0), &stream), reason->status);
    ck_assert_int_eq(kolk_last_error()->native, reason->native);
    ck_assert_fails(kolk_tensor_from_view(pool, &view, NULL, &tensor),
                    KOLK_DEVICE_MISMATCH);
    ck_assert_message("cuda:0 is not host:0");
    ck_assert_ptr_null(tensor);
    ck_assert_uint_eq(kolk_pool_stats_of(pool).allocated.current, 0);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("absent");
    TCase *const core = tcase_create("core");
    if (kolk_device_count(KOLK_CUDA) == 0) {
        tcase_add_test(
            core, a_tensor_asked_for_on_cuda_reports_the_drivers_own_code_and_text);
        tcase_add_test(core, a_tensor_is_not_moved_to_a_stream_or_view_of_cuda);
    }
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
