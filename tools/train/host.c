/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

static void *or_exit(void *memory, size_t count, size_t size)
{
    if (memory)
        return memory;
    (void)fprintf(stderr, "kolk-train: no host memory for %zu times %zu bytes\n", count,
                  size);
    exit(EXIT_FAILURE);
}

void *train_calloc(size_t count, size_t size)
{
    return or_exit(calloc(count, size), count, size);
}

void *train_realloc(void *memory, size_t size)
{
    return or_exit(realloc(memory, size), 1, size);
}
