/* SPDX-License-Identifier: MIT */
#include "host_memory.h"
#include <kolk/device.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Records come from a jemalloc of our own: all its symbols carry our prefix or
 * are hidden, so the process never meets it and its bytes are ours alone. Where
 * the build was given none, and under sanitizers, which must see each block,
 * libc does the same work; only `held` then tells our bytes from others'. */

#ifdef KOLK_HAVE_JEMALLOC
#ifdef KOLK_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_MALLOCLIKE_BLOCK(memory, size, redzone, zeroed) ((void)0)
#define VALGRIND_FREELIKE_BLOCK(memory, redzone) ((void)0)
#define VALGRIND_DISABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING ((void)0)
#endif

void *kolk_je_calloc(size_t count, size_t size);
void kolk_je_free(void *memory);
size_t kolk_je_malloc_usable_size(void *memory);

static void *obtain(size_t size)
{
    /* What was given back counts as gone, so its new life begins with a complaint. */
    VALGRIND_DISABLE_ERROR_REPORTING;
    void *const memory = kolk_je_calloc(1, size);
    VALGRIND_ENABLE_ERROR_REPORTING;
    if (memory != NULL)
        VALGRIND_MALLOCLIKE_BLOCK(memory, size, 0, 1);
    return memory;
}

static void give_back(void *memory)
{
    VALGRIND_FREELIKE_BLOCK(memory, 0);
    kolk_je_free(memory);
}

static size_t size_of(void *memory)
{
    return kolk_je_malloc_usable_size(memory);
}
#else
static void *obtain(size_t size)
{
    return calloc(1, size);
}

static void give_back(void *memory)
{
    free(memory);
}

static size_t size_of(void *memory)
{
    return malloc_usable_size(memory);
}
#endif

static atomic_size_t held;

void *kolk_host_alloc(size_t size)
{
    void *const memory = size == 0 ? NULL : obtain(size);
    if (memory != NULL)
        atomic_fetch_add_explicit(&held, size_of(memory), memory_order_relaxed);
    return memory;
}

void kolk_host_free(void *memory)
{
    if (memory == NULL)
        return;
    atomic_fetch_sub_explicit(&held, size_of(memory), memory_order_relaxed);
    give_back(memory);
}

size_t kolk_bookkeeping_size(void)
{
    return atomic_load_explicit(&held, memory_order_relaxed);
}
