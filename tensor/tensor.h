/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TENSOR_TENSOR_H
#define KOLK_TENSOR_TENSOR_H

/* Inside a tensor. */

#include "queue.h"
#include <kolk/tensor.h>

/* Invariant: `view` is contiguous and its data is the start of `data`. A tensor
 * without elements has no blocks; otherwise `data` is there, and `grad` exactly
 * when `has_grad`. */
struct kolk_tensor {
    kolk_pool *pool;
    kolk_stream *stream; /* NULL: the device's default stream */
    kolk_view view;
    kolk_block *data;
    kolk_block *grad;
    kolk_tag tag;
    bool has_grad;
    bool requires_grad;
};

kolk_lane kolk_tensor_lane(const kolk_tensor *tensor);

/* As kolk_tensor_create(), but nothing is written to either buffer. */
kolk_status kolk_tensor_allocate(const char *where, kolk_pool *pool,
                                 const kolk_tensor_spec *spec, kolk_stream *stream,
                                 kolk_tensor **out);

/* Fills the gradient, if there is one, with zeros. */
kolk_status kolk_tensor_clear_grad(kolk_tensor *tensor);

/* The spec of an uninitialised tensor like this one. */
kolk_tensor_spec kolk_tensor_spec_of(const kolk_tensor *tensor);

#endif
