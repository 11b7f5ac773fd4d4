/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host_account.h"
#include "fail.h"
#include "fork.h"
#include <assert.h>
#include <errno.h>
#include <kolk/device.h>
#include <unistd.h>

/* Under kolk_runtime_lock. */
static size_t used;
static size_t chosen; /* 0: physical memory */

static size_t physical_memory(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Charges `size` if it fits, and tells what the account held before. */
static bool try_charge(size_t size, kolk_account *out)
{
    const size_t physical = physical_memory();
    kolk_lock_acquire(&kolk_runtime_lock);
    *out = (kolk_account){.used = used, .capacity = chosen != 0 ? chosen : physical};
    const bool fits = size <= out->capacity - used;
    if (fits)
        used += size;
    kolk_lock_release(&kolk_runtime_lock);
    return fits;
}

kolk_account kolk_account_read(void)
{
    kolk_account account;
    try_charge(0, &account);
    return account;
}

kolk_status kolk_account_charge(const char *where, size_t size)
{
    kolk_account account;
    if (try_charge(size, &account))
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_OUT_OF_MEMORY, ENOMEM,
                        "%zu bytes asked of the host: %zu of its %zu are in use", size,
                        account.used, account.capacity);
}

void kolk_account_credit(size_t size)
{
    kolk_lock_acquire(&kolk_runtime_lock);
    assert(size <= used);
    used -= size;
    kolk_lock_release(&kolk_runtime_lock);
}

kolk_status kolk_host_set_capacity(size_t capacity)
{
    const size_t effective = capacity != 0 ? capacity : physical_memory();
    kolk_lock_acquire(&kolk_runtime_lock);
    const size_t in_use = used;
    if (in_use <= effective)
        chosen = capacity;
    kolk_lock_release(&kolk_runtime_lock);
    if (in_use <= effective)
        return KOLK_OK;
    return kolk_fail(KOLK_OUT_OF_RANGE,
                     "a capacity of %zu bytes is less than the %zu in use", effective,
                     in_use);
}
