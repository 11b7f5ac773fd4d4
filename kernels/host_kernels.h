/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KERNELS_HOST_KERNELS_H
#define KOLK_KERNELS_HOST_KERNELS_H

/* The entries of the host's table, by file. Each runs at once. */

#include "kernels.h"

int kolk_host_fill(kolk_view to, kolk_element value, void *stream);
int kolk_host_copy(kolk_view to, kolk_view from, void *stream);
int kolk_host_accumulate(kolk_view a, kolk_view b, void *stream);
int kolk_host_cast(kolk_view to, kolk_view from, void *stream);

int kolk_host_embed(kolk_view table, kolk_view ids, kolk_view out, void *stream);
int kolk_host_embed_backward(kolk_view d_out, kolk_view ids, kolk_view d_table,
                             void *stream);
int kolk_host_add_bias(kolk_view x, kolk_view bias, void *stream);
int kolk_host_add_bias_backward(kolk_view d_x, kolk_view d_bias, void *stream);
int kolk_host_tanh(kolk_view x, void *stream);
int kolk_host_tanh_backward(kolk_view d, kolk_view y, void *stream);
int kolk_host_cross_entropy(kolk_view logits, kolk_view targets, kolk_view losses,
                            float scale, void *stream);
int kolk_host_adamw(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                    kolk_adamw_step step, void *stream);

#endif
