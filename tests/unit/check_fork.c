/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/child.h"
#include "../support/fault.h"
#include "../support/suite.h"
#include <errno.h>
#include <pthread.h>
#include <runtime/stream.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* The kind that does not survive a fork is played by the host's table. */

static void give_it_devices(void)
{
    kolk_backend_install(KOLK_CUDA, &kolk_backend_host);
}

static void restore(void)
{
    fault_remove();
    kolk_backend_install(KOLK_CUDA, NULL);
}

/* ---- the linker sends the runtime's pthread_atfork() here ---- */

int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                          void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                          void (*child)(void));

static int registrations;
static int refusal;

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
                          void (*child)(void))
{
    registrations++;
    return refusal != 0 ? refusal : __real_pthread_atfork(prepare, parent, child);
}

static bool no_device_without_handlers(void)
{
    registrations = 0; /* an allocator may have made its own */
    refusal = ENOMEM;
    return kolk_device_count(KOLK_HOST) == 0 && kolk_device_count(KOLK_CUDA) == 0 &&
           kolk_device_reason(KOLK_HOST)->status == KOLK_OUT_OF_HOST_MEMORY &&
           kolk_device_reason(KOLK_HOST)->native == ENOMEM && registrations == 1;
}

/* The first of all, so that nothing is registered yet when tests do not fork. */
START_TEST(a_process_that_cannot_guard_forks_has_no_devices)
{
    ck_assert(child_succeeds(no_device_without_handlers));
}
END_TEST

/* ---- the child ---- */

static kolk_stream *stream;
static kolk_event *event;

static bool is_cut_off(kolk_status status)
{
    return status == KOLK_DEVICE && kolk_last_error()->native == 3 &&
           strstr(kolk_last_error()->message, "fork()") != NULL;
}

static bool nothing_reaches_the_device(void)
{
    void *data = NULL;
    const size_t calls = fault_calls(FAULT_ANY);
    const bool cut_off = kolk_device_is_forked(kolk_cuda(0)) &&
                         kolk_device_count(KOLK_CUDA) == 0 &&
                         kolk_device_reason(KOLK_CUDA)->native == 3 &&
                         is_cut_off(kolk_memory_alloc(kolk_cuda(0), 1, &data)) &&
                         is_cut_off(kolk_stream_synchronize(stream)) &&
                         is_cut_off(kolk_event_synchronize(event)) && data == NULL;
    kolk_event_destroy(&event);
    kolk_stream_destroy(&stream);
    return cut_off && event == NULL && stream == NULL &&
           fault_calls(FAULT_ANY) == calls;
}

START_TEST(a_child_cannot_reach_a_device_its_parent_used)
{
    fault_install(KOLK_CUDA);
    ck_assert_ok(kolk_stream_create(kolk_cuda(0), &stream));
    ck_assert_ok(kolk_event_create(kolk_cuda(0), &event));
    ck_assert(child_succeeds(nothing_reaches_the_device));
    ck_assert(!kolk_device_is_forked(kolk_cuda(0)));
    ck_assert_ok(kolk_stream_synchronize(stream));
    kolk_event_destroy(&event);
    kolk_stream_destroy(&stream);
    ck_assert(fault_nothing_lives());
}
END_TEST

static bool the_device_is_there(void)
{
    return !kolk_device_is_forked(kolk_cuda(0)) && kolk_device_count(KOLK_CUDA) == 1;
}

START_TEST(a_child_may_use_a_device_its_parent_never_asked_for)
{
    ck_assert_int_eq(kolk_device_count(KOLK_HOST), 1);
    ck_assert(child_succeeds(the_device_is_there));
}
END_TEST

static bool the_parents_reason_stays(void)
{
    return !kolk_device_is_forked(kolk_cuda(0)) &&
           kolk_device_reason(KOLK_CUDA)->native == 999;
}

START_TEST(a_child_repeats_why_its_parent_had_no_device)
{
    fault_install(KOLK_CUDA);
    fault_at(FAULT_device_count, 1);
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 0);
    ck_assert(child_succeeds(the_parents_reason_stays));
}
END_TEST

static bool it_is_forked(void)
{
    return kolk_device_is_forked(kolk_cuda(0));
}

static bool forked_within;

static kolk_status fork_while_counting(int *out)
{
    forked_within = child_succeeds(it_is_forked);
    return kolk_backend_host.device_count(out);
}

START_TEST(a_child_born_while_the_driver_wakes_cannot_use_it)
{
    kolk_backend waking = kolk_backend_host;
    waking.device_count = fork_while_counting;
    kolk_backend_install(KOLK_CUDA, &waking);
    ck_assert_int_eq(kolk_device_count(KOLK_CUDA), 1);
    ck_assert(forked_within);
    restore();
}
END_TEST

/* ---- the host goes on, whatever other threads were doing ---- */

static atomic_bool stop;

static void ignore(kolk_stream_observer *self, kolk_stream *closing)
{
    (void)self;
    (void)closing;
}

static void *observe_all_the_time(void *argument)
{
    kolk_stream_observer observer = {.closing = ignore};
    while (!atomic_load(&stop)) {
        kolk_stream_observe(argument, &observer);
        (void)kolk_stream_unobserve(argument, &observer);
    }
    return NULL;
}

static bool the_host_works(void)
{
    kolk_stream_observer observer = {.closing = ignore};
    kolk_stream *mine = NULL;
    kolk_stream_observe(stream, &observer);
    return kolk_stream_unobserve(stream, &observer) &&
           kolk_stream_create(kolk_host(), &mine) == KOLK_OK &&
           kolk_host_set_capacity(1 << 20) == KOLK_OK &&
           kolk_stream_id(mine) > kolk_stream_id(stream) &&
           (kolk_stream_destroy(&mine), true);
}

START_TEST(no_lock_stays_behind_in_a_child)
{
    pthread_t thread;
    ck_assert_ok(kolk_stream_create(kolk_host(), &stream));
    ck_assert_int_eq(pthread_create(&thread, NULL, observe_all_the_time, stream), 0);
    for (int i = 0; i < 10; i++)
        ck_assert(child_succeeds(the_host_works));
    atomic_store(&stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    kolk_stream_destroy(&stream);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("fork");
    TCase *const core = tcase_create("core");
    tcase_set_timeout(core, 60); /* a child that ThreadSanitizer watches lingers */
    tcase_add_checked_fixture(core, give_it_devices, restore);
    tcase_add_test(core, a_process_that_cannot_guard_forks_has_no_devices);
    tcase_add_test(core, a_child_cannot_reach_a_device_its_parent_used);
    tcase_add_test(core, a_child_may_use_a_device_its_parent_never_asked_for);
    tcase_add_test(core, a_child_repeats_why_its_parent_had_no_device);
    tcase_add_test(core, a_child_born_while_the_driver_wakes_cannot_use_it);
    tcase_add_test(core, no_lock_stays_behind_in_a_child);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
