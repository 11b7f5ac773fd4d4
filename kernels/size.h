/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KERNELS_SIZE_H
#define KOLK_KERNELS_SIZE_H

/* Sizes of views that are known to be sound. */

#include <kolk/view.h>

static inline int64_t kolk_count_of(const kolk_view *view)
{
    int64_t count = 1;
    for (int axis = 0; axis < view->rank; axis++)
        count *= view->shape[axis];
    return count;
}

static inline size_t kolk_element_size(kolk_dtype dtype)
{
    switch (dtype) {
#define X(name, value, size, type, text) \
    case KOLK_##name:                    \
        return size;
        KOLK_DTYPE_LIST(X)
#undef X
    }
    return 0;
}

#endif
