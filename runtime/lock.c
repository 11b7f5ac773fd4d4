/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "lock.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A short critical section is over before a sleeping thread could wake, so
 * look a few times first. */
enum { SPINS = 100 };

static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool spin(kolk_lock *lock)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0 &&
            kolk_lock_try(lock))
            return true;
        pause_a_moment();
    }
    return false;
}

void kolk_lock_wait(kolk_lock *lock)
{
    if (spin(lock))
        return;
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void kolk_lock_wake(kolk_lock *lock)
{
    syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
