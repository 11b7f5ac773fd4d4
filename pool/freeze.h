/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_FREEZE_H
#define KOLK_POOL_FREEZE_H

/* Stopping a pool, and the list of all pools of the process.
 *
 * A frozen pool's locks are all held, in their order, so that it can be walked
 * or forked as one consistent thing. */

#include "core.h"

void kolk_pool_freeze(kolk_pool *pool);
void kolk_pool_thaw(kolk_pool *pool);

/* The same between changes, when no memory is on its way to or from the driver;
 * in the midst of one if other threads never pause. */
void kolk_pool_freeze_at_rest(kolk_pool *pool);

/* Puts a pool on the list, or takes it off. */
kolk_status kolk_pool_enlist(kolk_pool *pool);
void kolk_pool_delist(kolk_pool *pool);

/* Whether any pool of the process has the address in a segment. */
bool kolk_pool_owning(const kolk_pool *except, uintptr_t address);

#endif
