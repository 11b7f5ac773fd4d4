/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_SLAB_H
#define KOLK_POOL_SLAB_H

/* Type-stable storage for descriptors of one size: an item that was given back
 * stays readable, and is an item of the same type when it is given out again.
 * Grows a page at a time, gives nothing back before it is torn down. Not
 * thread-safe: the heap's lock guards it. */

#include <kolk/base.h>

typedef struct kolk_slab {
    size_t item_size; /* a multiple of 64: no two items share a cache line */
    void *pages;      /* linked through their first word */
    void *free;       /* linked through their first word */
    size_t available; /* items on the free list */
    size_t bytes;
} kolk_slab;

void kolk_slab_init(kolk_slab *slab, size_t item_size);
void kolk_slab_fini(kolk_slab *slab);

/* Makes the next `count` calls of take() succeed. False: no host memory. */
bool kolk_slab_ensure(kolk_slab *slab, size_t count);

/* An item: zeros but for what its last life left. Needs an available one. */
void *kolk_slab_take(kolk_slab *slab);

/* Overwrites the first word of the item, leaves the rest as it is. */
void kolk_slab_give(kolk_slab *slab, void *item);

#endif
