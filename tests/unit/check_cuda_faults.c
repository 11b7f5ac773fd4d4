/* SPDX-License-Identifier: MIT */

/* Every entry of the CUDA backend with every one of its driver calls failing in
 * turn, and with the driver gone. */

#include "../support/cuda_rig.h"
#include <string.h>

static void assert_nothing_done(const cuda_entry *entry, const cuda_rig *rig,
                                emu_objects before, const cuda_outs *out, size_t nth)
{
    ck_assert_msg(emu_objects_equal(emu_objects_now(), before),
                  "%s left or lost an object when call %zu failed", entry->name, nth);
    ck_assert_msg(cuda_outs_are_unused(out), "%s wrote its result when call %zu failed",
                  entry->name, nth);
    ck_assert_uint_eq(kolk_bookkeeping_size(), rig->held);
}

/* False: the entry makes fewer than `nth` calls. */
static bool survives(const cuda_entry *entry, size_t nth, int code)
{
    const cuda_rig rig = cuda_rig_up();
    const emu_objects before = emu_objects_now();
    cuda_outs out;
    memset(&out, CUDA_RIG_OUT, sizeof out);
    emu_fail(EMU_ANY, nth, code);
    const kolk_status status = entry->call(&rig, &out);
    const bool has_failed = !emu_fail_is_armed();
    emu_fail(EMU_ANY, 0, 0);
    cuda_assert_restored(entry, nth);
    if (status == KOLK_OK && entry->undo != NULL)
        ck_assert_ok(entry->undo(&rig, &out));
    if (status != KOLK_OK) {
        ck_assert_int_eq(kolk_last_error()->native, code);
        assert_nothing_done(entry, &rig, before, &out, nth);
    } else if (!entry->releases) {
        ck_assert(emu_objects_equal(emu_objects_now(), before));
    }
    cuda_rig_down(&rig, cuda_entry_destroys_event(entry) && status == KOLK_OK);
    return has_failed;
}

START_TEST(each_call_may_fail)
{
    static const int codes[] = {cudaErrorUnknown, cudaErrorMemoryAllocation};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t nth = 1;
        while (survives(&cuda_entries[_i], nth, codes[i]))
            nth++;
        ck_assert_uint_gt(nth, 1);
    }
}
END_TEST

START_TEST(a_driver_that_is_gone_has_nothing_to_release)
{
    const cuda_entry *const entry = &cuda_entries[_i];
    const cuda_rig rig = cuda_rig_up();
    cuda_outs out;
    memset(&out, CUDA_RIG_OUT, sizeof out);
    emu_break(cudaErrorCudartUnloading);
    const kolk_status status = entry->call(&rig, &out);
    ck_assert_msg(status == (entry->releases ? KOLK_OK : KOLK_DEVICE), "%s is %s",
                  entry->name, kolk_status_name(status));
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorCudartUnloading);
    ck_assert(cuda_outs_are_unused(&out));
    emu_break(0);
    cuda_assert_restored(entry, 1);
    cuda_rig_down(&rig, cuda_entry_destroys_event(entry));
}
END_TEST

START_TEST(a_context_that_is_destroyed_is_a_failure)
{
    const cuda_rig rig = cuda_rig_up();
    cuda_outs out;
    memset(&out, CUDA_RIG_OUT, sizeof out);
    emu_break(cudaErrorContextIsDestroyed);
    ck_assert_fails(cuda_entries[_i].call(&rig, &out), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorContextIsDestroyed);
    ck_assert(cuda_outs_are_unused(&out));
    emu_break(0);
    cuda_assert_restored(&cuda_entries[_i], 1);
    cuda_rig_down(&rig, false);
}
END_TEST

/* False: trimming makes fewer than `nth` calls. */
static bool trimming_survives(size_t nth)
{
    void *event = NULL;
    const cuda_rig rig = cuda_rig_up();
    ck_assert_ok(kolk_backend_cuda.event_create(THERE, &event));
    ck_assert_ok(kolk_backend_cuda.event_destroy(THERE, event));
    emu_fail(EMU_ANY, nth, cudaErrorUnknown);
    const kolk_status status = kolk_backend_cuda.device_trim(THERE);
    const bool has_failed = !emu_fail_is_armed();
    emu_fail(EMU_ANY, 0, 0);
    cuda_assert_restored(&(cuda_entry){.name = "device_trim"}, nth);
    ck_assert_uint_eq(emu_objects_now().events, status == KOLK_OK ? 1 : 2);
    ck_assert_ok(kolk_backend_cuda.device_trim(THERE));
    ck_assert_uint_eq(emu_objects_now().events, 1);
    cuda_rig_down(&rig, false);
    return has_failed;
}

START_TEST(events_that_cannot_be_destroyed_stay_kept)
{
    size_t nth = 1;
    while (trimming_survives(nth))
        nth++;
    ck_assert_uint_gt(nth, 1);
}
END_TEST

START_TEST(trimming_leaves_the_record_of_failures_alone)
{
    void *event = NULL;
    const cuda_rig rig = cuda_rig_up();
    ck_assert_ok(kolk_backend_cuda.event_create(THERE, &event));
    ck_assert_ok(kolk_backend_cuda.event_destroy(THERE, event));
    const kolk_error before = *kolk_last_error();
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 2);
    emu_fail(EMU_cudaEventDestroy, 1, cudaErrorUnknown);
    kolk_device_trim(kolk_cuda(THERE));
    ck_assert_int_eq(memcmp(&before, kolk_last_error(), sizeof before), 0);
    ck_assert_uint_eq(emu_objects_now().events, 2);
    kolk_device_trim(kolk_cuda(THERE));
    ck_assert_uint_eq(emu_objects_now().events, 1);
    kolk_device_trim(kolk_host());
    cuda_rig_down(&rig, false);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cuda_faults");
    TCase *const tests = tcase_create("faults");
    tcase_add_loop_test(tests, each_call_may_fail, 0, CUDA_ENTRIES);
    tcase_add_loop_test(tests, a_driver_that_is_gone_has_nothing_to_release, 0,
                        CUDA_ENTRIES);
    tcase_add_loop_test(tests, a_context_that_is_destroyed_is_a_failure, 0,
                        CUDA_ENTRIES);
    tcase_add_test(tests, events_that_cannot_be_destroyed_stay_kept);
    tcase_add_test(tests, trimming_leaves_the_record_of_failures_alone);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
