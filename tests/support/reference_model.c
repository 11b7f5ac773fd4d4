/* SPDX-License-Identifier: MIT */
#include "reference_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_open(ref_model *model, int vocabulary, int context, int embed, int hidden)
{
    *model = (ref_model){.vocabulary = vocabulary,
                         .context = context,
                         .embed = embed,
                         .hidden = hidden,
                         .size = {vocabulary * embed, hidden * context * embed, hidden,
                                  vocabulary * hidden, vocabulary}};
    for (int p = 0; p < REF_PARAMETERS; p++) {
        const size_t count = (size_t)model->size[p];
        model->value[p] = calloc(count, sizeof(double));
        model->gradient[p] = calloc(count, sizeof(double));
        model->mean[p] = calloc(count, sizeof(double));
        model->square[p] = calloc(count, sizeof(double));
    }
}

void ref_close(ref_model *model)
{
    for (int p = 0; p < REF_PARAMETERS; p++) {
        free(model->value[p]);
        free(model->gradient[p]);
        free(model->mean[p]);
        free(model->square[p]);
    }
}

/* What one character leads to: x, a, p and the gradient of a. */
typedef struct activity {
    double *x, *a, *p, *da;
} activity;

static activity activity_open(const ref_model *m)
{
    const size_t width = (size_t)(m->context * m->embed);
    return (activity){calloc(width, sizeof(double)),
                      calloc((size_t)m->hidden, sizeof(double)),
                      calloc((size_t)m->vocabulary, sizeof(double)),
                      calloc((size_t)m->hidden, sizeof(double))};
}

static void activity_close(activity *act)
{
    free(act->x);
    free(act->a);
    free(act->p);
    free(act->da);
}

static void softmax(double *y, int count)
{
    double largest = y[0], sum = 0.0;
    for (int v = 1; v < count; v++)
        largest = fmax(largest, y[v]);
    for (int v = 0; v < count; v++)
        sum += y[v] = exp(y[v] - largest);
    for (int v = 0; v < count; v++)
        y[v] /= sum;
}

static void predict(const ref_model *m, const int32_t *ids, activity *act)
{
    const int width = m->context * m->embed;
    for (int j = 0; j < width; j++)
        act->x[j] = m->value[REF_C][ids[j / m->embed] * m->embed + j % m->embed];
    for (int k = 0; k < m->hidden; k++) {
        double sum = m->value[REF_D][k];
        for (int j = 0; j < width; j++)
            sum += m->value[REF_H][k * width + j] * act->x[j];
        act->a[k] = tanh(sum);
    }
    for (int v = 0; v < m->vocabulary; v++) {
        act->p[v] = m->value[REF_B][v];
        for (int k = 0; k < m->hidden; k++)
            act->p[v] += m->value[REF_U][v * m->hidden + k] * act->a[k];
    }
    softmax(act->p, m->vocabulary);
}

double ref_loss(const ref_model *model, const int32_t *ids, const int32_t *targets,
                int64_t count)
{
    activity act = activity_open(model);
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        predict(model, ids + i * model->context, &act);
        sum -= log(act.p[targets[i]]);
    }
    activity_close(&act);
    return sum / (double)count;
}

/* From p to U, b and a. */
static void blame_output(ref_model *m, int32_t target, double weight, activity *act)
{
    memset(act->da, 0, (size_t)m->hidden * sizeof(double));
    for (int v = 0; v < m->vocabulary; v++) {
        const double dy = weight * (act->p[v] - (v == target));
        m->gradient[REF_B][v] += dy;
        for (int k = 0; k < m->hidden; k++) {
            m->gradient[REF_U][v * m->hidden + k] += dy * act->a[k];
            act->da[k] += dy * m->value[REF_U][v * m->hidden + k];
        }
    }
}

/* From a to H, d and C. */
static void blame_hidden(ref_model *m, const int32_t *ids, const activity *act)
{
    const int width = m->context * m->embed;
    for (int k = 0; k < m->hidden; k++) {
        const double dz = act->da[k] * (1.0 - act->a[k] * act->a[k]);
        m->gradient[REF_D][k] += dz;
        for (int j = 0; j < width; j++) {
            const int at = ids[j / m->embed] * m->embed + j % m->embed;
            m->gradient[REF_H][k * width + j] += dz * act->x[j];
            m->gradient[REF_C][at] += dz * m->value[REF_H][k * width + j];
        }
    }
}

double ref_gradients(ref_model *model, const int32_t *ids, const int32_t *targets,
                     int64_t count)
{
    for (int p = 0; p < REF_PARAMETERS; p++)
        memset(model->gradient[p], 0, (size_t)model->size[p] * sizeof(double));
    activity act = activity_open(model);
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        predict(model, ids + i * model->context, &act);
        sum -= log(act.p[targets[i]]);
        blame_output(model, targets[i], 1.0 / (double)count, &act);
        blame_hidden(model, ids + i * model->context, &act);
    }
    activity_close(&act);
    return sum / (double)count;
}

void ref_update(ref_model *model, double learning_rate)
{
    const double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
    model->updates++;
    for (int p = 0; p < REF_PARAMETERS; p++) {
        const double decay = p == REF_D || p == REF_B ? 0.0 : 0.01;
        for (int64_t i = 0; i < model->size[p]; i++) {
            const double g = model->gradient[p][i];
            double *const m = &model->mean[p][i], *const v = &model->square[p][i];
            *m = beta1 * *m + (1.0 - beta1) * g;
            *v = beta2 * *v + (1.0 - beta2) * g * g;
            const double m_hat = *m / (1.0 - pow(beta1, model->updates));
            const double v_hat = *v / (1.0 - pow(beta2, model->updates));
            model->value[p][i] -= learning_rate * (m_hat / (sqrt(v_hat) + epsilon) +
                                                   decay * model->value[p][i]);
        }
    }
}
