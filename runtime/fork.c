/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fork.h"
#include "backend.h"
#include "fail.h"
#include <pthread.h>

kolk_lock kolk_runtime_lock;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int refusal; /* what pthread_atfork() returned */

static void before_fork(void)
{
    kolk_lock_acquire(&kolk_runtime_lock);
}

static void in_parent(void)
{
    kolk_lock_release(&kolk_runtime_lock);
}

static void in_child(void)
{
    kolk_lock_reset(&kolk_runtime_lock);
    kolk_backend_forked();
}

static void register_handlers(void)
{
    refusal = pthread_atfork(before_fork, in_parent, in_child);
}

kolk_status kolk_fork_register(void)
{
    pthread_once(&once, register_handlers);
    if (refusal == 0)
        return KOLK_OK;
    return kolk_fail_at(__func__, KOLK_OUT_OF_HOST_MEMORY, refusal,
                        "the handlers that make fork() safe cannot be registered");
}
