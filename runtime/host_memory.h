/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_HOST_MEMORY_H
#define KOLK_RUNTIME_HOST_MEMORY_H

/* Host memory for the library's own records. Its bytes are what
 * kolk_bookkeeping_size() counts; the process keeps its own malloc. */

#include <stddef.h>

/* Zeroed, aligned as malloc() does; NULL when there is none, or for size 0. */
void *kolk_host_alloc(size_t size);

/* Gives back what the call above returned; does nothing to NULL. */
void kolk_host_free(void *memory);

#endif
