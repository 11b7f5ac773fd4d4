/* SPDX-License-Identifier: MIT */

/* Each piece of memory carries its size in front, so that freeing it credits as
 * much as was charged. */

#include "budget.h"
#include <jansson.h>
#include <stdlib.h>

typedef union header {
    size_t size;
    max_align_t aligns;
} header;

static size_t left;
static bool spent;

static void *charge(size_t size)
{
    if (size > left || left - size < sizeof(header)) {
        spent = true;
        return NULL;
    }
    header *const piece = malloc(sizeof *piece + size);
    if (piece == NULL) {
        spent = true;
        return NULL;
    }
    piece->size = size;
    left -= sizeof *piece + size;
    return piece + 1;
}

static void credit(void *data)
{
    if (data == NULL)
        return;
    header *const piece = (header *)data - 1;
    left += sizeof *piece + piece->size;
    free(piece);
}

void kolk_budget_set(size_t bytes)
{
    json_set_alloc_funcs(charge, credit);
    left = bytes;
    spent = false;
}

bool kolk_budget_is_spent(void)
{
    return spent;
}
