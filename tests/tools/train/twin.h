/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_TRAIN_TWIN_H
#define KOLK_TESTS_TRAIN_TWIN_H

/* kolk-train's model on some device next to the reference model, both with the
 * same weights and fed with the same made-up minibatches. */

#include "model.h"
#include "places.h"
#include "reference_model.h"

enum { TWIN_V = 7, TWIN_N = 3, TWIN_M = 4, TWIN_H = 9, TWIN_MAX = 40 };

typedef struct train_twin {
    train_place place;
    train_model model;
    ref_model ref;
    int32_t ids[TWIN_MAX * TWIN_N], targets[TWIN_MAX];
    float losses[TWIN_MAX];
    train_batch batch;
    uint64_t random;
} train_twin;

/* Checked: any failure fails the test. */
void twin_open(train_twin *twin, int place);
void twin_close(train_twin *twin);

/* Makes a minibatch of up to TWIN_MAX characters. */
void twin_draw(train_twin *twin, int64_t count);

/* Gradients on both sides; the two mean losses. */
void twin_gradients(train_twin *twin, double *out_loss, double *out_expected);
void twin_update(train_twin *twin, double learning_rate);

/* Host copy of a parameter or of its gradient, for free(). */
float *twin_values(const train_model *model, train_role role);
float *twin_gradient(const train_model *model, train_role role);

#endif
