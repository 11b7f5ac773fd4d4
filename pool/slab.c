/* SPDX-License-Identifier: MIT */
#include "slab.h"
#include <assert.h>
#include <runtime/host_memory.h>

enum { LINE = 64, PAGE = 64 * 1024 };

void kolk_slab_init(kolk_slab *slab, size_t item_size)
{
    assert(item_size >= sizeof(void *) && item_size <= PAGE - LINE);
    *slab = (kolk_slab){.item_size = (item_size + LINE - 1) / LINE * LINE};
}

void kolk_slab_fini(kolk_slab *slab)
{
    while (slab->pages) {
        void *const page = slab->pages;
        slab->pages = *(void **)page;
        kolk_host_free(page);
    }
    *slab = (kolk_slab){.item_size = slab->item_size};
}

void kolk_slab_give(kolk_slab *slab, void *item)
{
    *(void **)item = slab->free;
    slab->free = item;
    slab->available++;
}

/* A page begins with its link; its items begin on the next line of the cache. */
static bool add_page(kolk_slab *slab)
{
    char *const page = kolk_host_alloc(PAGE);
    if (!page)
        return false;
    *(void **)(void *)page = slab->pages;
    slab->pages = page;
    slab->bytes += PAGE;
    const size_t lead = LINE - (uintptr_t)page % LINE;
    for (size_t i = (PAGE - lead) / slab->item_size; i-- > 0;)
        kolk_slab_give(slab, page + lead + i * slab->item_size);
    return true;
}

bool kolk_slab_ensure(kolk_slab *slab, size_t count)
{
    while (slab->available < count)
        if (!add_page(slab))
            return false;
    return true;
}

void *kolk_slab_take(kolk_slab *slab)
{
    assert(slab->available > 0);
    void *const item = slab->free;
    slab->free = *(void **)item;
    slab->available--;
    *(void **)item = NULL;
    return item;
}
