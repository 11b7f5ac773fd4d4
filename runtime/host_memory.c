/* SPDX-License-Identifier: MIT */
#include "host_memory.h"
#include <kolk/device.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t held;

void *kolk_host_alloc(size_t size)
{
    void *const memory = size == 0 ? NULL : calloc(1, size);
    if (memory != NULL)
        atomic_fetch_add_explicit(&held, malloc_usable_size(memory),
                                  memory_order_relaxed);
    return memory;
}

void kolk_host_free(void *memory)
{
    if (memory == NULL)
        return;
    atomic_fetch_sub_explicit(&held, malloc_usable_size(memory), memory_order_relaxed);
    free(memory);
}

size_t kolk_bookkeeping_size(void)
{
    return atomic_load_explicit(&held, memory_order_relaxed);
}
