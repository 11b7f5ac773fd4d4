/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_LOCK_H
#define KOLK_RUNTIME_LOCK_H

/* A lock of one word, all-zero when free: a compare-and-swap when nobody
 * contends, a futex wait when somebody does.
 *
 * 0 free, 1 held, 2 held and perhaps awaited (the third protocol of Drepper's
 * "Futexes Are Tricky"). Ranks: the locks of a pool are taken in the order
 * registry, stream cache, heap; never the other way round. */

#include <stdatomic.h>
#include <stdbool.h>

typedef struct kolk_lock {
    atomic_int word;
} kolk_lock;

void kolk_lock_wait(kolk_lock *lock);
void kolk_lock_wake(kolk_lock *lock);

static inline bool kolk_lock_try(kolk_lock *lock)
{
    int expected = 0;
    return atomic_compare_exchange_strong_explicit(
        &lock->word, &expected, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void kolk_lock_acquire(kolk_lock *lock)
{
    if (!kolk_lock_try(lock))
        kolk_lock_wait(lock);
}

static inline void kolk_lock_release(kolk_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
        kolk_lock_wake(lock);
}

/* For the child of a fork, where no other thread is left to hold it. */
static inline void kolk_lock_reset(kolk_lock *lock)
{
    atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}

#endif
