/* SPDX-License-Identifier: MIT */

/* Graphs: captured work that can be queued again and again. It is queued in the
 * order in which it was captured, on the stream of the launch: one order of
 * those that the capture allows. */

#include "emulator_machine.h"

#include <stdlib.h>
#include <string.h>

/* A graph and what is made of it to be launched are alike. */
struct CUgraph_st {
    emu_work *work;
    struct CUgraph_st **link, *next; /* of all that live */
};

static struct CUgraph_st *graphs;

cudaGraph_t emu_graph_make(emu_work *work)
{
    const cudaGraph_t graph = emu_alloc(sizeof *graph);
    *graph = (struct CUgraph_st){.work = work, .link = &graphs, .next = graphs};
    if (graphs != NULL)
        graphs->link = &graph->next;
    graphs = graph;
    emu.graphs++;
    return graph;
}

static cudaError_t destroy(cudaGraph_t graph)
{
    if (graph == NULL)
        return cudaErrorInvalidValue;
    *graph->link = graph->next;
    if (graph->next != NULL)
        graph->next->link = graph->link;
    emu_work_free_all(graph->work);
    free(graph);
    emu.graphs--;
    return cudaSuccess;
}

void emu_graph_halt(void)
{
    while (graphs != NULL)
        (void)destroy(graphs);
}

/* ---- copies of work ---- */

static void *duplicate(const void *data, size_t size)
{
    return data != NULL ? memcpy(emu_alloc(size), data, size) : NULL;
}

static emu_work *copy_of(const emu_work *work)
{
    emu_work *const copy = duplicate(work, sizeof *work);
    copy->argument = duplicate(work->argument, work->size);
    copy->accesses =
        duplicate(work->accesses, work->access_count * sizeof *work->accesses);
    copy->next = NULL;
    return copy;
}

static emu_work *copy_all(const emu_work *work)
{
    emu_work *first = NULL;
    for (emu_work **tail = &first; work != NULL; work = work->next) {
        *tail = copy_of(work);
        tail = &(*tail)->next;
    }
    return first;
}

/* ---- calls ---- */

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t code = emu_enter(EMU_cudaGraphDestroy);
    if (code == cudaSuccess)
        code = destroy(graph);
    return emu_leave(code);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph,
                                 unsigned long long flags)
{
    cudaError_t code = emu_enter(EMU_cudaGraphInstantiate);
    if (code == cudaSuccess && (graph == NULL || flags != 0))
        code = cudaErrorInvalidValue;
    if (code == cudaSuccess)
        *out = (cudaGraphExec_t)emu_graph_make(copy_all(graph->work));
    return emu_leave(code);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    cudaError_t code = emu_enter(EMU_cudaGraphExecDestroy);
    if (code == cudaSuccess)
        code = destroy((cudaGraph_t)graph);
    return emu_leave(code);
}

static cudaError_t launch(const struct CUgraph_st *graph, emu_stream *stream)
{
    if (graph == NULL || stream == NULL)
        return cudaErrorInvalidResourceHandle;
    cudaError_t code = cudaSuccess;
    for (const emu_work *work = graph->work; work && code == cudaSuccess;
         work = work->next)
        code = emu_queue(stream, copy_of(work));
    return code;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t handle)
{
    cudaError_t code = emu_enter(EMU_cudaGraphLaunch);
    if (code == cudaSuccess)
        code = launch((const struct CUgraph_st *)graph, emu_stream_of(handle));
    return emu_leave(code);
}
