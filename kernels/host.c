/* SPDX-License-Identifier: MIT */

/* The host's table. Its work cannot fail: there is one code, 0. */

#include "host_kernels.h"

static const char *text(int code)
{
    return code == 0 ? "success" : "no such code";
}

const kolk_kernels kolk_kernels_host = {
    .text = text,
    .fill = kolk_host_fill,
    .copy = kolk_host_copy,
    .accumulate = kolk_host_accumulate,
    .cast = kolk_host_cast,
    .embed = kolk_host_embed,
    .embed_backward = kolk_host_embed_backward,
    .add_bias = kolk_host_add_bias,
    .add_bias_backward = kolk_host_add_bias_backward,
    .tanh = kolk_host_tanh,
    .tanh_backward = kolk_host_tanh_backward,
    .cross_entropy = kolk_host_cross_entropy,
    .adamw = kolk_host_adamw,
};
