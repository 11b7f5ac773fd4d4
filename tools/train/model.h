/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_MODEL_H
#define KOLK_TRAIN_MODEL_H

/* Bengio, Ducharme, Vincent and Jauvin, "A Neural Probabilistic Language Model"
 * (2003), for characters and without its direct connections. For B characters
 * at a time, each to be told from the n before it:
 *
 *     x = rows of C for the n characters, side by side      [B, n*m]
 *     a = tanh(x H' + d)                                    [B, h]
 *     y = a U' + b                                          [B, V]
 *     loss = -log softmax(y)[target]
 *
 * C [V, m], H [h, n*m], d [h], U [V, h], b [V] are learnt, by AdamW. Their
 * gradients are of the mean loss and lie in their own grad buffers. */

#include "place.h"

#include <kolk/ops.h>

typedef struct train_shape {
    int64_t vocabulary; /* V */
    int64_t context;    /* n */
    int64_t embed;      /* m */
    int64_t hidden;     /* h */
} train_shape;

typedef enum train_role {
    TRAIN_C,
    TRAIN_H,
    TRAIN_D,
    TRAIN_U,
    TRAIN_B,
    TRAIN_ROLES
} train_role;

typedef struct train_parameter {
    kolk_tensor *value;
    kolk_tensor *mean, *square; /* AdamW's moments of the gradient */
} train_parameter;

typedef struct train_model {
    train_place *place; /* borrowed */
    train_shape shape;
    train_parameter parameters[TRAIN_ROLES];
    int64_t updates; /* made so far */
} train_model;

/* `count` characters on the host: ids [count, context], targets [count]. */
typedef struct train_batch {
    const int32_t *ids, *targets;
    int64_t count;
} train_batch;

/* Random weights from the seed, the same on every device. */
KOLK_NODISCARD kolk_status train_model_open(train_place *place,
                                            const train_shape *shape, uint64_t seed,
                                            train_model *out);

/* Fine for one that is all zeros, too. */
void train_model_close(train_model *model);

/* "C", "H", "d", "U" or "b". */
const char *train_role_name(train_role role);

/* Both give the loss of each character, in nats; the second also sets the
 * gradients of the parameters. Both wait for the result. */
KOLK_NODISCARD kolk_status train_model_losses(train_model *model,
                                              const train_batch *batch, float *losses);
KOLK_NODISCARD kolk_status train_model_gradients(train_model *model,
                                                 const train_batch *batch,
                                                 float *losses);

/* One step against the gradients, queued. */
KOLK_NODISCARD kolk_status train_model_update(train_model *model, float learning_rate);

#endif
