/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../support/suite.h"
#include <pthread.h>
#include <runtime/lock.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20000 };

typedef struct counter {
    kolk_lock lock;
    long value; /* not atomic: the lock is what keeps it whole */
} counter;

static void *count_up(void *argument)
{
    counter *const shared = argument;
    for (int i = 0; i < ROUNDS; i++) {
        kolk_lock_acquire(&shared->lock);
        shared->value++;
        kolk_lock_release(&shared->lock);
    }
    return NULL;
}

START_TEST(eight_threads_lose_no_increment)
{
    counter shared = {.value = 0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, &shared), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(shared.value, THREADS * ROUNDS);
    ck_assert_int_eq(shared.lock.word, 0);
}
END_TEST

/* A holder that is away for long enough that the other thread goes to sleep. */
static void *hold_for_a_while(void *argument)
{
    counter *const shared = argument;
    kolk_lock_acquire(&shared->lock);
    usleep(20000);
    shared->value = 1;
    kolk_lock_release(&shared->lock);
    return NULL;
}

START_TEST(a_sleeping_thread_is_woken)
{
    counter shared = {.value = 0};
    pthread_t holder;
    ck_assert_int_eq(pthread_create(&holder, NULL, hold_for_a_while, &shared), 0);
    while (atomic_load(&shared.lock.word) == 0)
        usleep(100);
    kolk_lock_acquire(&shared.lock);
    ck_assert_int_eq(shared.value, 1);
    kolk_lock_release(&shared.lock);
    ck_assert_int_eq(pthread_join(holder, NULL), 0);
}
END_TEST

START_TEST(a_held_lock_cannot_be_tried)
{
    kolk_lock lock = {0};
    ck_assert(kolk_lock_try(&lock));
    ck_assert(!kolk_lock_try(&lock));
    kolk_lock_release(&lock);
    ck_assert(kolk_lock_try(&lock));
}
END_TEST

START_TEST(a_reset_lock_is_free)
{
    kolk_lock lock = {0};
    kolk_lock_acquire(&lock);
    kolk_lock_reset(&lock);
    ck_assert(kolk_lock_try(&lock));
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("lock");
    TCase *const core = tcase_create("core");
    tcase_add_test(core, eight_threads_lose_no_increment);
    tcase_add_test(core, a_sleeping_thread_is_woken);
    tcase_add_test(core, a_held_lock_cannot_be_tried);
    tcase_add_test(core, a_reset_lock_is_free);
    suite_add_tcase(suite, core);
    return kolk_run_suite(suite);
}
