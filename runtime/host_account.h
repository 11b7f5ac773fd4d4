/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_HOST_ACCOUNT_H
#define KOLK_RUNTIME_HOST_ACCOUNT_H

/* How much of the host's capacity is in use.
 *
 * Memory is charged before the operating system is asked for it and credited
 * when it has been given back, so `used` never passes `capacity`, whatever
 * threads do. */

#include <kolk/status.h>

typedef struct kolk_account {
    size_t used;
    size_t capacity;
} kolk_account;

/* OUT_OF_MEMORY, with nothing charged, if `size` more bytes do not fit. */
kolk_status kolk_account_charge(const char *where, size_t size);
void kolk_account_credit(size_t size);
kolk_account kolk_account_read(void);

#endif
