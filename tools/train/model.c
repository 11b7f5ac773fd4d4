/* SPDX-License-Identifier: MIT */
#include "model.h"

#include "host.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

#define BETA1 0.9F
#define BETA2 0.99F
#define EPSILON 1e-8F
#define WEIGHT_DECAY 0.01F

/* ---- parameters ---------------------------------------------------------- */

/* Matrices decay, biases do not. */
static bool is_matrix(train_role role)
{
    return role != TRAIN_D && role != TRAIN_B;
}

const char *train_role_name(train_role role)
{
    static const char *const names[TRAIN_ROLES] = {"C", "H", "d", "U", "b"};
    return names[role];
}

static kolk_tensor_spec spec_of(const train_shape *s, train_role role)
{
    const int64_t shapes[TRAIN_ROLES][2] = {
        [TRAIN_C] = {s->vocabulary, s->embed},
        [TRAIN_H] = {s->hidden, s->context * s->embed},
        [TRAIN_D] = {s->hidden, 0},
        [TRAIN_U] = {s->vocabulary, s->hidden},
        [TRAIN_B] = {s->vocabulary, 0},
    };
    return (kolk_tensor_spec){.dtype = KOLK_F32,
                              .rank = is_matrix(role) ? 2 : 1,
                              .shape = {shapes[role][0], shapes[role][1]},
                              .tag = KOLK_TAG_WEIGHTS};
}

/* Uniform, of the width that keeps the variance of what flows through a matrix
 * about the same in both directions (Glorot and Bengio, 2010). */
static float *random_weights(const kolk_tensor_spec *spec, train_random *random)
{
    const int64_t rows = spec->shape[0], columns = spec->shape[1];
    const double width = sqrt(6.0 / (double)(rows + columns));
    float *const values = train_calloc((size_t)(rows * columns), sizeof *values);
    for (int64_t i = 0; i < rows * columns; i++)
        values[i] = (float)(width * train_random_symmetric(random));
    return values;
}

static kolk_status open_value(train_model *model, train_role role, train_random *random)
{
    const kolk_tensor_spec spec = spec_of(&model->shape, role);
    float *const values = is_matrix(role) ? random_weights(&spec, random) : NULL;
    const kolk_status status = train_memory_make(&model->place->memory, &spec, values,
                                                 &model->parameters[role].value);
    free(values);
    return status;
}

static kolk_status open_moments(train_model *model, train_role role)
{
    train_parameter *const parameter = &model->parameters[role];
    kolk_tensor_spec spec = spec_of(&model->shape, role);
    spec.no_grad = true;
    spec.tag = KOLK_TAG_OPTIMIZER;
    train_memory *const memory = &model->place->memory;
    KOLK_TRY(train_memory_make(memory, &spec, NULL, &parameter->mean));
    return train_memory_make(memory, &spec, NULL, &parameter->square);
}

static kolk_status open_parameters(train_model *model, uint64_t seed)
{
    train_random random = {seed};
    for (train_role role = 0; role < TRAIN_ROLES; role++) {
        KOLK_TRY(open_value(model, role, &random));
        KOLK_TRY(open_moments(model, role));
    }
    return KOLK_OK;
}

kolk_status train_model_open(train_place *place, const train_shape *shape,
                             uint64_t seed, train_model *out)
{
    train_model model = {.place = place, .shape = *shape};
    const kolk_status status = open_parameters(&model, seed);
    if (status == KOLK_OK)
        *out = model;
    else
        train_model_close(&model);
    return status;
}

void train_model_close(train_model *model)
{
    for (train_role role = 0; role < TRAIN_ROLES; role++) {
        kolk_tensor_destroy(&model->parameters[role].value);
        kolk_tensor_destroy(&model->parameters[role].mean);
        kolk_tensor_destroy(&model->parameters[role].square);
    }
    *model = (train_model){0};
}

static kolk_view value(const train_model *model, train_role role)
{
    return kolk_tensor_view(model->parameters[role].value);
}

static kolk_view gradient(const train_model *model, train_role role)
{
    return kolk_tensor_grad(model->parameters[role].value);
}

/* ---- one pass ------------------------------------------------------------ */

/* The buffers of one pass, named as in the header; da and dx are the gradients
 * of a and x. On the way back y, a and x go once they have been used, so that
 * the pool can make dx of them. */
typedef struct train_pass {
    kolk_tensor *ids, *targets, *x, *a, *y, *losses, *da, *dx;
    int64_t count;
} train_pass;

static void close_pass(train_pass *pass)
{
    kolk_tensor_destroy(&pass->ids);
    kolk_tensor_destroy(&pass->targets);
    kolk_tensor_destroy(&pass->x);
    kolk_tensor_destroy(&pass->a);
    kolk_tensor_destroy(&pass->y);
    kolk_tensor_destroy(&pass->losses);
    kolk_tensor_destroy(&pass->da);
    kolk_tensor_destroy(&pass->dx);
}

static kolk_status upload(train_memory *memory, const int32_t *ids, int64_t rows,
                          int64_t columns, kolk_tensor **out)
{
    const kolk_tensor_spec spec = {.dtype = KOLK_I32,
                                   .rank = columns == 0 ? 1 : 2,
                                   .shape = {rows, columns},
                                   .no_grad = true,
                                   .tag = KOLK_TAG_DATA};
    return train_memory_make(memory, &spec, ids, out);
}

/* Every element is written before it is read, so none need be zeroed. */
static kolk_status make_room(train_memory *memory, int64_t rows, int64_t columns,
                             kolk_tag tag, kolk_tensor **out)
{
    const kolk_tensor_spec spec = {.dtype = KOLK_F32,
                                   .rank = columns == 0 ? 1 : 2,
                                   .shape = {rows, columns},
                                   .uninitialized = true,
                                   .no_grad = true,
                                   .tag = tag};
    return train_memory_make(memory, &spec, NULL, out);
}

/* The large ones first, while no small one lies in between: so that they find
 * room in the memory of the step before, though all sizes have changed. */
static kolk_status open_pass(const train_model *model, const train_batch *batch,
                             bool with_grad, train_pass *out)
{
    const train_shape *const s = &model->shape;
    train_memory *const memory = &model->place->memory;
    const kolk_tag tag = KOLK_TAG_ACTIVATIONS;
    const int64_t count = out->count = batch->count;
    KOLK_TRY(make_room(memory, count, s->context * s->embed, tag, &out->x));
    KOLK_TRY(make_room(memory, count, s->hidden, tag, &out->a));
    if (with_grad)
        KOLK_TRY(make_room(memory, count, s->hidden, KOLK_TAG_GRADS, &out->da));
    KOLK_TRY(make_room(memory, count, s->vocabulary, tag, &out->y));
    KOLK_TRY(upload(memory, batch->ids, count, s->context, &out->ids));
    KOLK_TRY(upload(memory, batch->targets, count, 0, &out->targets));
    return make_room(memory, count, 0, tag, &out->losses);
}

static kolk_status multiply(const train_model *model, train_product product)
{
    return model->place->gemm->multiply(model->place->blas, &product);
}

/* Leaves in y the gradient of the mean loss with respect to it. */
static kolk_status forward(const train_model *model, const train_pass *pass)
{
    kolk_stream *const stream = model->place->memory.stream;
    const kolk_view ids = kolk_tensor_view(pass->ids);
    const kolk_view targets = kolk_tensor_view(pass->targets);
    const kolk_view x = kolk_tensor_view(pass->x), a = kolk_tensor_view(pass->a);
    const kolk_view y = kolk_tensor_view(pass->y);
    const kolk_view losses = kolk_tensor_view(pass->losses);
    const kolk_view table = value(model, TRAIN_C);
    const kolk_view h = value(model, TRAIN_H), d = value(model, TRAIN_D);
    const kolk_view u = value(model, TRAIN_U), b = value(model, TRAIN_B);

    KOLK_TRY(kolk_op_embed(&table, &ids, &x, stream));
    KOLK_TRY(
        multiply(model, (train_product){.a = x, .b = h, .transpose_b = true, .c = a}));
    KOLK_TRY(kolk_op_add_bias(&a, &d, stream));
    KOLK_TRY(kolk_op_tanh(&a, stream));
    KOLK_TRY(
        multiply(model, (train_product){.a = a, .b = u, .transpose_b = true, .c = y}));
    KOLK_TRY(kolk_op_add_bias(&y, &b, stream));
    return kolk_op_cross_entropy(&y, &targets, &losses, 1.0F / (float)pass->count,
                                 stream);
}

/* Adds to the gradient of a matrix and its bias what comes from the gradient of
 * their output, made of `input`. */
static kolk_status add_to_gradients(const train_model *model, const kolk_view *d_output,
                                    const kolk_view *input, train_role matrix,
                                    train_role bias)
{
    const kolk_view d_matrix = gradient(model, matrix), d_bias = gradient(model, bias);
    KOLK_TRY(multiply(model, (train_product){.a = *d_output,
                                             .transpose_a = true,
                                             .b = *input,
                                             .beta = 1.0F,
                                             .c = d_matrix}));
    return kolk_op_add_bias_backward(d_output, &d_bias, model->place->memory.stream);
}

/* From y to U, b and a. */
static kolk_status backward_output(const train_model *model, train_pass *pass)
{
    const kolk_view a = kolk_tensor_view(pass->a), da = kolk_tensor_view(pass->da);
    const kolk_view dy = kolk_tensor_view(pass->y), u = value(model, TRAIN_U);
    KOLK_TRY(add_to_gradients(model, &dy, &a, TRAIN_U, TRAIN_B));
    KOLK_TRY(multiply(model, (train_product){.a = dy, .b = u, .c = da}));
    KOLK_TRY(kolk_op_tanh_backward(&da, &a, model->place->memory.stream));
    kolk_tensor_destroy(&pass->y);
    kolk_tensor_destroy(&pass->a);
    return KOLK_OK;
}

/* From a to H, d and x. */
static kolk_status backward_hidden(const train_model *model, train_pass *pass)
{
    const kolk_view x = kolk_tensor_view(pass->x), da = kolk_tensor_view(pass->da);
    KOLK_TRY(add_to_gradients(model, &da, &x, TRAIN_H, TRAIN_D));
    kolk_tensor_destroy(&pass->x);
    KOLK_TRY(make_room(&model->place->memory, pass->count,
                       model->shape.context * model->shape.embed, KOLK_TAG_GRADS,
                       &pass->dx));
    const kolk_view dx = kolk_tensor_view(pass->dx), h = value(model, TRAIN_H);
    return multiply(model, (train_product){.a = da, .b = h, .c = dx});
}

static kolk_status backward(const train_model *model, train_pass *pass)
{
    KOLK_TRY(backward_output(model, pass));
    KOLK_TRY(backward_hidden(model, pass));
    const kolk_view ids = kolk_tensor_view(pass->ids);
    const kolk_view dx = kolk_tensor_view(pass->dx);
    const kolk_view d_table = gradient(model, TRAIN_C);
    return kolk_op_embed_backward(&dx, &ids, &d_table, model->place->memory.stream);
}

static kolk_status zero_gradients(const train_model *model)
{
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        KOLK_TRY(kolk_tensor_zero_grad(model->parameters[role].value));
    return KOLK_OK;
}

static kolk_status run_pass(train_model *model, const train_batch *batch,
                            bool with_grad, float *losses)
{
    train_pass pass KOLK_AUTO(close_pass) = {0};
    KOLK_TRY(open_pass(model, batch, with_grad, &pass));
    KOLK_TRY(forward(model, &pass));
    if (with_grad) {
        KOLK_TRY(zero_gradients(model));
        KOLK_TRY(backward(model, &pass));
    }
    return kolk_tensor_read(pass.losses, losses, batch->count);
}

static kolk_status run_step(train_model *model, const train_batch *batch,
                            bool with_grad, float *losses)
{
    train_memory_step_begin(&model->place->memory);
    const kolk_status status = run_pass(model, batch, with_grad, losses);
    train_memory_step_end(&model->place->memory);
    return status;
}

kolk_status train_model_losses(train_model *model, const train_batch *batch,
                               float *losses)
{
    return run_step(model, batch, false, losses);
}

kolk_status train_model_gradients(train_model *model, const train_batch *batch,
                                  float *losses)
{
    return run_step(model, batch, true, losses);
}

static kolk_status update_one(const train_model *model, train_role role,
                              float learning_rate)
{
    const train_parameter *const parameter = &model->parameters[role];
    const kolk_view param = value(model, role), grad = gradient(model, role);
    const kolk_view mean = kolk_tensor_view(parameter->mean);
    const kolk_view square = kolk_tensor_view(parameter->square);
    const kolk_adamw config = {.learning_rate = learning_rate,
                               .beta1 = BETA1,
                               .beta2 = BETA2,
                               .epsilon = EPSILON,
                               .weight_decay = is_matrix(role) ? WEIGHT_DECAY : 0.0F,
                               .step = model->updates};
    return kolk_op_adamw(&param, &grad, &mean, &square, &config,
                         model->place->memory.stream);
}

kolk_status train_model_update(train_model *model, float learning_rate)
{
    model->updates++;
    for (train_role role = 0; role < TRAIN_ROLES; role++)
        KOLK_TRY(update_one(model, role, learning_rate));
    return KOLK_OK;
}
