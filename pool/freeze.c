/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "freeze.h"
#include "segment.h"
#include <pthread.h>
#include <runtime/fail.h>
#include <runtime/fork.h>
#include <sched.h>

enum { PATIENCE = 10000 };

static kolk_lock list_lock; /* before any lock of a pool */
static kolk_pool *pools;

/* The registry may grow until the heap's lock is held: lock what is there, and
 * start again if there is more. */
void kolk_pool_freeze(kolk_pool *pool)
{
    for (;;) {
        kolk_lock_acquire(&pool->heap.lock);
        const size_t count = pool->cache_count;
        kolk_cache **const caches = pool->caches;
        kolk_lock_release(&pool->heap.lock);
        for (size_t i = 0; i < count; i++)
            kolk_lock_acquire(&caches[i]->lock);
        kolk_lock_acquire(&pool->heap.lock);
        if (pool->cache_count == count)
            return;
        kolk_lock_release(&pool->heap.lock);
        for (size_t i = count; i-- > 0;)
            kolk_lock_release(&caches[i]->lock);
    }
}

void kolk_pool_thaw(kolk_pool *pool)
{
    const size_t count = pool->cache_count;
    kolk_cache **const caches = pool->caches;
    for (size_t i = count; i-- > 0;)
        kolk_lock_release(&caches[i]->lock);
    kolk_lock_release(&pool->heap.lock);
}

void kolk_pool_freeze_at_rest(kolk_pool *pool)
{
    kolk_pool_freeze(pool);
    for (int tries = 0; pool->heap.busy && tries < PATIENCE; tries++) {
        kolk_pool_thaw(pool);
        sched_yield();
        kolk_pool_freeze(pool);
    }
}

bool kolk_pool_owning(const kolk_pool *except, uintptr_t address)
{
    bool owned = false;
    kolk_lock_acquire(&list_lock);
    for (kolk_pool *pool = pools; pool && !owned; pool = pool->next) {
        if (pool == except)
            continue;
        kolk_lock_acquire(&pool->heap.lock);
        owned = kolk_segment_of(&pool->heap, address) != NULL;
        kolk_lock_release(&pool->heap.lock);
    }
    kolk_lock_release(&list_lock);
    return owned;
}

/* ---- fork ---- */

static void before_fork(void)
{
    kolk_lock_acquire(&list_lock);
    for (kolk_pool *pool = pools; pool; pool = pool->next)
        kolk_pool_freeze(pool);
}

static void in_parent(void)
{
    for (kolk_pool *pool = pools; pool; pool = pool->next)
        kolk_pool_thaw(pool);
    kolk_lock_release(&list_lock);
}

/* Only this thread came along, and no other will finish what it had begun. */
static void in_child(void)
{
    for (kolk_pool *pool = pools; pool; pool = pool->next) {
        pool->heap.busy = 0;
        for (size_t i = 0; i < pool->cache_count; i++) {
            pool->caches[i]->borrowed = 0;
            kolk_lock_reset(&pool->caches[i]->lock);
        }
        kolk_lock_reset(&pool->heap.lock);
        kolk_lock_reset(&pool->scope_lock);
        if (kolk_device_is_forked(pool->device))
            atomic_fetch_or(&pool->flags, KOLK_POOL_FORKED);
    }
    kolk_lock_reset(&list_lock);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int refusal;

/* After the runtime's: prepare handlers run in reverse, and its lock is last. */
static void register_handlers(void)
{
    refusal = kolk_fork_register() != KOLK_OK ||
              pthread_atfork(before_fork, in_parent, in_child);
}

kolk_status kolk_pool_enlist(kolk_pool *pool)
{
    pthread_once(&once, register_handlers);
    if (refusal)
        return kolk_fail(KOLK_OUT_OF_HOST_MEMORY,
                         "the handlers that make fork() safe cannot be registered");
    kolk_lock_acquire(&list_lock);
    pool->next = pools;
    if (pools)
        pools->previous = pool;
    pools = pool;
    kolk_lock_release(&list_lock);
    return KOLK_OK;
}

void kolk_pool_delist(kolk_pool *pool)
{
    kolk_lock_acquire(&list_lock);
    if (pool->previous)
        pool->previous->next = pool->next;
    else if (pools == pool)
        pools = pool->next;
    if (pool->next)
        pool->next->previous = pool->previous;
    kolk_lock_release(&list_lock);
}
