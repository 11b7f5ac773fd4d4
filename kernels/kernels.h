/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KERNELS_H
#define KOLK_KERNELS_H

/* What runs over elements: one table a kind of device.
 *
 * Launchers take views by value and the backend's own stream, queue their work
 * and return the backend's own code, 0 for success; `text` explains a code. No
 * error stays behind in the driver, and the caller's current device is kept.
 *
 * Callers have checked shapes, types and devices. Every view has an element and,
 * but for those of `copy`, lies row-major without gaps. Each kernel gives the same
 * bits on every run: one order of summation, no atomics. Where the arithmetic is
 * only + - * / and the square root, all tables give the same bits. */

#include <kolk/view.h>

/* The bytes of one element of any type, from its start. */
typedef union kolk_element {
    uint8_t of_1;
    uint16_t of_2;
    uint32_t of_4;
    uint64_t of_8;
} kolk_element;

/* One step of AdamW, with what depends on the step's number worked out. */
typedef struct kolk_adamw_step {
    float decay; /* 1 - learning rate * weight decay */
    float rate;  /* learning rate / (1 - beta1^step) */
    float beta1, rest1;
    float beta2, rest2;
    float root; /* 1 / sqrt(1 - beta2^step) */
    float epsilon;
} kolk_adamw_step;

typedef struct kolk_kernels {
    const char *(*text)(int code);

    int (*fill)(kolk_view to, kolk_element value, void *stream);
    /* Bit for bit, between any strides; one shape, one size of element. */
    int (*copy)(kolk_view to, kolk_view from, void *stream);
    /* a += b; integers wrap, bool is "or". */
    int (*accumulate)(kolk_view a, kolk_view b, void *stream);
    int (*cast)(kolk_view to, kolk_view from, void *stream);

    /* See kolk/ops.h. */
    int (*embed)(kolk_view table, kolk_view ids, kolk_view out, void *stream);
    int (*embed_backward)(kolk_view d_out, kolk_view ids, kolk_view d_table,
                          void *stream);
    int (*add_bias)(kolk_view x, kolk_view bias, void *stream);
    int (*add_bias_backward)(kolk_view d_x, kolk_view d_bias, void *stream);
    int (*tanh)(kolk_view x, void *stream);
    int (*tanh_backward)(kolk_view d, kolk_view y, void *stream);
    int (*cross_entropy)(kolk_view logits, kolk_view targets, kolk_view losses,
                         float scale, void *stream);
    int (*adamw)(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                 kolk_adamw_step step, void *stream);
} kolk_kernels;

KOLK_BEGIN

extern const kolk_kernels kolk_kernels_host;
#ifdef KOLK_HAVE_CUDA
extern const kolk_kernels kolk_kernels_cuda;
#endif

KOLK_END

#endif
