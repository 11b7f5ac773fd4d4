/* SPDX-License-Identifier: MIT */

/* CUDA's table of kernels on the emulated machine: the host twins, queued as work
 * that declares what it reads and writes. */

#include "emulator.h"
#include <kernels/kernels.h>

/* The operands of any launcher, and which twin is meant. */
typedef struct launch {
    void (*run)(const struct launch *launch);
    kolk_view views[4];
    kolk_element element;
    float scale;
    kolk_adamw_step step;
} launch;

static void run(void *argument)
{
    const launch *const queued = argument;
    queued->run(queued);
}

/* All bytes between the first and the last element of a view. */
static emu_access touched(const kolk_view *view, bool write)
{
    const int64_t size = (int64_t)kolk_dtype_size(view->dtype);
    int64_t low = 0;
    int64_t high = 0;
    for (int axis = 0; axis < view->rank; axis++) {
        const int64_t reach = (view->shape[axis] - 1) * view->stride[axis];
        *(reach < 0 ? &low : &high) += reach;
    }
    return (emu_access){(const char *)view->data + low * size,
                        (size_t)((high - low + 1) * size), write};
}

/* The first `writes` views are written, the others read. */
static int queue(const launch *queued, size_t writes, size_t count, void *stream)
{
    emu_access accesses[4];
    int previous = 0;
    for (size_t i = 0; i < count; i++)
        accesses[i] = touched(&queued->views[i], i < writes);
    cudaError_t code = cudaGetDevice(&previous);
    if (code == cudaSuccess)
        code = cudaSetDevice(queued->views[0].device.ordinal);
    if (code == cudaSuccess)
        code = emu_launch(stream, run, queued, sizeof *queued, accesses, count);
    if (code != cudaSuccess)
        (void)cudaGetLastError();
    if (cudaSetDevice(previous) != cudaSuccess)
        (void)cudaGetLastError();
    return (int)code;
}

#define TWIN kolk_kernels_host

/* ---- elements ---- */

static void run_fill(const launch *x)
{
    TWIN.fill(x->views[0], x->element, NULL);
}

static int fill(kolk_view to, kolk_element value, void *stream)
{
    return queue(&(launch){.run = run_fill, .views = {to}, .element = value}, 1, 1,
                 stream);
}

#define TWO(name, first, second)                            \
    static void run_##name(const launch *x)                 \
    {                                                       \
        TWIN.name(x->views[first], x->views[second], NULL); \
    }                                                       \
    static int name(kolk_view a, kolk_view b, void *stream) \
    {                                                       \
        launch x = {.run = run_##name};                     \
        x.views[first] = a;                                 \
        x.views[second] = b;                                \
        return queue(&x, 1, 2, stream);                     \
    }
TWO(copy, 0, 1)
TWO(accumulate, 0, 1)
TWO(cast, 0, 1)
TWO(add_bias, 0, 1)
TWO(add_bias_backward, 1, 0)
TWO(tanh_backward, 0, 1)

/* ---- a model ---- */

static void run_embed(const launch *x)
{
    TWIN.embed(x->views[1], x->views[2], x->views[0], NULL);
}

static int embed(kolk_view table, kolk_view ids, kolk_view out, void *stream)
{
    return queue(&(launch){.run = run_embed, .views = {out, table, ids}}, 1, 3, stream);
}

static void run_embed_backward(const launch *x)
{
    TWIN.embed_backward(x->views[1], x->views[2], x->views[0], NULL);
}

static int embed_backward(kolk_view d_out, kolk_view ids, kolk_view d_table,
                          void *stream)
{
    return queue(&(launch){.run = run_embed_backward, .views = {d_table, d_out, ids}},
                 1, 3, stream);
}

static void run_tanh(const launch *x)
{
    TWIN.tanh(x->views[0], NULL);
}

static int tanh_in_place(kolk_view x, void *stream)
{
    return queue(&(launch){.run = run_tanh, .views = {x}}, 1, 1, stream);
}

static void run_cross_entropy(const launch *x)
{
    TWIN.cross_entropy(x->views[0], x->views[2], x->views[1], x->scale, NULL);
}

static int cross_entropy(kolk_view logits, kolk_view targets, kolk_view losses,
                         float scale, void *stream)
{
    return queue(&(launch){.run = run_cross_entropy,
                           .views = {logits, losses, targets},
                           .scale = scale},
                 2, 3, stream);
}

static void run_adamw(const launch *x)
{
    TWIN.adamw(x->views[0], x->views[3], x->views[1], x->views[2], x->step, NULL);
}

static int adamw(kolk_view param, kolk_view grad, kolk_view m, kolk_view v,
                 kolk_adamw_step step, void *stream)
{
    return queue(
        &(launch){.run = run_adamw, .views = {param, m, v, grad}, .step = step}, 3, 4,
        stream);
}

static const char *text(int code)
{
    return cudaGetErrorString((cudaError_t)code);
}

const kolk_kernels kolk_kernels_cuda = {
    .text = text,
    .fill = fill,
    .copy = copy,
    .accumulate = accumulate,
    .cast = cast,
    .embed = embed,
    .embed_backward = embed_backward,
    .add_bias = add_bias,
    .add_bias_backward = add_bias_backward,
    .tanh = tanh_in_place,
    .tanh_backward = tanh_backward,
    .cross_entropy = cross_entropy,
    .adamw = adamw,
};
