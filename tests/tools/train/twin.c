/* SPDX-License-Identifier: MIT */
#include "twin.h"

#include "suite.h"

#include <stdlib.h>

static const train_shape shape = {TWIN_V, TWIN_N, TWIN_M, TWIN_H};

static float *read_view(const train_model *model, const kolk_view *view)
{
    kolk_tensor *copy KOLK_AUTO(kolk_tensor_destroy) = NULL;
    const train_memory *const memory = &model->place->memory;
    ck_assert_ok(kolk_tensor_from_view(memory->pool, view, memory->stream, &copy));
    const int64_t count = kolk_tensor_numel(copy);
    float *const values = calloc((size_t)count, sizeof *values);
    ck_assert_ok(kolk_tensor_read(copy, values, count));
    return values;
}

float *twin_values(const train_model *model, train_role role)
{
    const kolk_view view = kolk_tensor_view(model->parameters[role].value);
    return read_view(model, &view);
}

float *twin_gradient(const train_model *model, train_role role)
{
    const kolk_view view = kolk_tensor_grad(model->parameters[role].value);
    return read_view(model, &view);
}

static void copy_weights(train_twin *twin)
{
    for (train_role role = 0; role < TRAIN_ROLES; role++) {
        float *const values = twin_values(&twin->model, role);
        for (int64_t i = 0; i < twin->ref.size[role]; i++)
            twin->ref.value[role][i] = (double)values[i];
        free(values);
    }
}

void twin_open(train_twin *twin, int place)
{
    twin->random = 1;
    places_open(place, &twin->place);
    ck_assert_ok(train_model_open(&twin->place, &shape, 11, &twin->model));
    ref_open(&twin->ref, TWIN_V, TWIN_N, TWIN_M, TWIN_H);
    copy_weights(twin);
}

void twin_close(train_twin *twin)
{
    train_model_close(&twin->model);
    places_close(&twin->place);
    ref_close(&twin->ref);
}

/* Uneven on purpose, so that there is something to learn. */
static int32_t draw_id(train_twin *twin)
{
    twin->random = twin->random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t high = twin->random >> 33;
    return (int32_t)(high % 3 ? high % TWIN_V / 2 : high % TWIN_V);
}

void twin_draw(train_twin *twin, int64_t count)
{
    for (int64_t i = 0; i < count * TWIN_N; i++)
        twin->ids[i] = draw_id(twin);
    for (int64_t i = 0; i < count; i++)
        twin->targets[i] = draw_id(twin);
    twin->batch = (train_batch){twin->ids, twin->targets, count};
}

void twin_gradients(train_twin *twin, double *out_loss, double *out_expected)
{
    const int64_t count = twin->batch.count;
    ck_assert_ok(train_model_gradients(&twin->model, &twin->batch, twin->losses));
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)twin->losses[i];
    *out_loss = sum / (double)count;
    *out_expected = ref_gradients(&twin->ref, twin->ids, twin->targets, count);
}

void twin_update(train_twin *twin, double learning_rate)
{
    ck_assert_ok(train_model_update(&twin->model, (float)learning_rate));
    ref_update(&twin->ref, learning_rate);
}
