/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_REFERENCE_MODEL_H
#define KOLK_TESTS_REFERENCE_MODEL_H

/* The neural probabilistic language model once more, in double precision and
 * plain loops, written from the formulas and sharing no code with kolk-train:
 *
 *     x = C[w1] ... C[wn]    a = tanh(H x + d)    p = softmax(U a + b)
 *
 * and the update of AdamW (Loshchilov and Hutter, 2019, algorithm 2), where C,
 * H and U decay and the biases do not. */

#include <stdint.h>

enum { REF_C, REF_H, REF_D, REF_U, REF_B, REF_PARAMETERS };

typedef struct ref_model {
    int vocabulary, context, embed, hidden;
    int64_t size[REF_PARAMETERS];
    double *value[REF_PARAMETERS];
    double *gradient[REF_PARAMETERS];
    double *mean[REF_PARAMETERS];
    double *square[REF_PARAMETERS];
    int updates;
} ref_model;

void ref_open(ref_model *model, int vocabulary, int context, int embed, int hidden);
void ref_close(ref_model *model);

/* Mean loss in nats over `count` characters: ids [count, context], targets
 * [count]. The second also sets the gradients of that mean. */
double ref_loss(const ref_model *model, const int32_t *ids, const int32_t *targets,
                int64_t count);
double ref_gradients(ref_model *model, const int32_t *ids, const int32_t *targets,
                     int64_t count);

void ref_update(ref_model *model, double learning_rate);

#endif
