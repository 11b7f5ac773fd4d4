/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_ANNOTATE_H
#define KOLK_POOL_ANNOTATE_H

/* Tells AddressSanitizer and Valgrind where blocks begin and end, on the host
 * device only: there is nothing they could see of another's memory. A block is
 * addressable for the bytes that were asked for, everything else of a segment
 * is not. Without either tool these are a test of the pool's device kind. */

#include "core.h"

#if defined(__SANITIZE_ADDRESS__)
#define KOLK_ANNOTATE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KOLK_ANNOTATE_ASAN 1
#endif
#endif

#ifdef KOLK_ANNOTATE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#define KOLK_ANNOTATE_VALGRIND 1
#endif
#endif

#ifdef KOLK_ANNOTATE_VALGRIND
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MALLOCLIKE_BLOCK(data, size, redzone, zeroed) ((void)(data))
#define VALGRIND_FREELIKE_BLOCK(data, redzone) ((void)(data))
#define VALGRIND_MAKE_MEM_NOACCESS(data, size) ((void)(data))
#define VALGRIND_MAKE_MEM_UNDEFINED(data, size) ((void)(data))
#endif

static inline bool kolk_annotates(const kolk_pool *pool)
{
    return pool->device.kind == KOLK_HOST;
}

static inline void kolk_annotate_mapped(const kolk_pool *pool, uintptr_t address,
                                        size_t size)
{
    if (!kolk_annotates(pool))
        return;
    ASAN_POISON_MEMORY_REGION((void *)address, size);
    (void)VALGRIND_MAKE_MEM_NOACCESS((void *)address, size);
}

static inline void kolk_annotate_unmapping(const kolk_pool *pool, uintptr_t address,
                                           size_t size)
{
    if (!kolk_annotates(pool))
        return;
    ASAN_UNPOISON_MEMORY_REGION((void *)address, size);
    (void)VALGRIND_MAKE_MEM_UNDEFINED((void *)address, size);
}

static inline void kolk_annotate_alloc(const kolk_pool *pool, const kolk_block *block)
{
    if (!kolk_annotates(pool))
        return;
    ASAN_UNPOISON_MEMORY_REGION((void *)block->address, kolk_block_requested(block));
    VALGRIND_MALLOCLIKE_BLOCK((void *)block->address, kolk_block_requested(block), 0,
                              0);
}

static inline void kolk_annotate_free(const kolk_pool *pool, const kolk_block *block)
{
    if (!kolk_annotates(pool))
        return;
    ASAN_POISON_MEMORY_REGION((void *)block->address, kolk_block_requested(block));
    VALGRIND_FREELIKE_BLOCK((void *)block->address, 0);
}

#endif
