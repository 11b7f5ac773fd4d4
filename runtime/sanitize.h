/* SPDX-License-Identifier: MIT */
#ifndef KOLK_RUNTIME_SANITIZE_H
#define KOLK_RUNTIME_SANITIZE_H

/* AddressSanitizer keeps what was poisoned when memory is unmapped, and blames
 * whoever is given the same addresses next: forget it before unmapping. */

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define KOLK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KOLK_ASAN 1
#endif
#endif

#ifdef KOLK_ASAN
#include <sanitizer/asan_interface.h>
#endif

static inline void kolk_unpoison(const void *data, size_t size)
{
#ifdef KOLK_ASAN
    __asan_unpoison_memory_region(data, size);
#else
    (void)data;
    (void)size;
#endif
}

#endif
