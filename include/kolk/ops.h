/* SPDX-License-Identifier: MIT */
#ifndef KOLK_OPS_H
#define KOLK_OPS_H

/** @file
 * The few operations a small language model needs besides matrix products,
 * which come from BLAS. Each exists once per backend and gives the same result
 * on every run: no atomics, one order of summation.
 *
 * Views are contiguous, on one device, f32 unless said otherwise; sizes are
 * checked, values are not, except that token and target ids outside [0, V) are
 * the caller's bug. Work is queued on `stream`; NULL is the default stream.
 */

#include <kolk/stream.h>
#include <kolk/view.h>

KOLK_BEGIN

/** out[b, i*m + j] = table[ids[b, i], j]. table [V, m], ids [B, n] i32,
 * out [B, n*m]. */
KOLK_FALLIBLE kolk_op_embed(const kolk_view *table, const kolk_view *ids,
                            const kolk_view *out, kolk_stream *stream)
    KOLK_NONNULL_AT(1, 2, 3);

/** d_table[v, j] += sum of d_out[b, i*m + j] where ids[b, i] == v. */
KOLK_FALLIBLE kolk_op_embed_backward(const kolk_view *d_out, const kolk_view *ids,
                                     const kolk_view *d_table, kolk_stream *stream)
    KOLK_NONNULL_AT(1, 2, 3);

/** x[b, j] += bias[j], in place. x [B, h], bias [h]. */
KOLK_FALLIBLE kolk_op_add_bias(const kolk_view *x, const kolk_view *bias,
                               kolk_stream *stream) KOLK_NONNULL_AT(1, 2);

/** d_bias[j] += sum over b of d_x[b, j]. */
KOLK_FALLIBLE kolk_op_add_bias_backward(const kolk_view *d_x, const kolk_view *d_bias,
                                        kolk_stream *stream) KOLK_NONNULL_AT(1, 2);

/** x = tanh(x), in place. */
KOLK_FALLIBLE kolk_op_tanh(const kolk_view *x, kolk_stream *stream) KOLK_NONNULL_AT(1);

/** d *= 1 - y*y, in place, where y is what kolk_op_tanh() left. */
KOLK_FALLIBLE kolk_op_tanh_backward(const kolk_view *d, const kolk_view *y,
                                    kolk_stream *stream) KOLK_NONNULL_AT(1, 2);

/**
 * losses[b] = -log softmax(logits[b])[targets[b]] (natural logarithm), and
 * logits is overwritten by scale * d loss / d logits. logits [B, V],
 * targets [B] i32, losses [B].
 */
KOLK_FALLIBLE kolk_op_cross_entropy(const kolk_view *logits, const kolk_view *targets,
                                    const kolk_view *losses, float scale,
                                    kolk_stream *stream) KOLK_NONNULL_AT(1, 2, 3);

/** AdamW: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019). */
typedef struct kolk_adamw {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    int64_t step; /**< counts from 1 */
} kolk_adamw;

/** One update of `param` from `grad` with moments `m` and `v`, all of one size. */
KOLK_FALLIBLE kolk_op_adamw(const kolk_view *param, const kolk_view *grad,
                            const kolk_view *m, const kolk_view *v,
                            const kolk_adamw *config, kolk_stream *stream)
    KOLK_NONNULL_AT(1, 2, 3, 4, 5);

KOLK_END

#endif
