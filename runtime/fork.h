/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_FORK_H
#define KOLK_RUNTIME_FORK_H

/* The runtime's part in fork().
 *
 * The few words that the runtime shares between threads (the device counts,
 * the host's account, the lists of stream observers) change rarely and under
 * one lock. It is the last in every order: nothing is called while it is held.
 * A fork takes it first, so the child finds all of them whole, and free.
 *
 * A layer with locks that are taken before this one registers its own handlers
 * after kolk_fork_register(): prepare handlers run in reverse order. */

#include "lock.h"
#include <kolk/status.h>

extern kolk_lock kolk_runtime_lock;

/* Registers the runtime's handlers, once; later calls repeat the answer. */
kolk_status kolk_fork_register(void);

#endif
