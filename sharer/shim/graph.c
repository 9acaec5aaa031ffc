// SPDX-License-Identifier: Apache-2.0
//
// Graphs. A launch of one is a single command whose cost is kept by the executable
// graph. Memory that its nodes allocate appears at the first launch: it is drawn
// from the GPU's graph memory as from a pool.
#define _GNU_SOURCE
#include <stdlib.h>

#include "book.h"
#include "gate.h"
#include "pools.h"
#include "rules.h"

static _Atomic int with_memory; // executable graphs that allocate

// node_bytes returns what an allocation node takes.
static uint64_t node_bytes(CUgraphNode node) {
    int (*get)(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *) = DRIVER(cuGraphMemAllocNodeGetParams, CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *);
    CUDA_MEM_ALLOC_NODE_PARAMS p = {0};
    if (!get || get(node, &p) != CUDA_SUCCESS) return 0;
    return (p.bytesize + (UINT64_C(2) << 20) - 1) & ~((UINT64_C(2) << 20) - 1);
}

// graph_bytes adds up the allocation nodes of a graph and of its child graphs.
static uint64_t graph_bytes(CUgraph graph, int depth) {
    int (*nodes)(CUgraph, CUgraphNode *, size_t *) = DRIVER(cuGraphGetNodes, CUgraph, CUgraphNode *, size_t *);
    int (*type)(CUgraphNode, int *) = DRIVER(cuGraphNodeGetType, CUgraphNode, int *);
    int (*child)(CUgraphNode, CUgraph *) = DRIVER(cuGraphChildGraphNodeGetGraph, CUgraphNode, CUgraph *);
    size_t count = 0;
    uint64_t sum = 0;
    if (!nodes || !type || depth > 8 || nodes(graph, NULL, &count) != CUDA_SUCCESS || count == 0) return 0;
    CUgraphNode *all = calloc(count, sizeof *all);
    if (!all || nodes(graph, all, &count) != CUDA_SUCCESS) count = 0;
    for (size_t i = 0; i < count; i++) {
        int is = -1;
        CUgraph inner;
        if (type(all[i], &is) != CUDA_SUCCESS) continue;
        if (is == CU_GRAPH_NODE_TYPE_MEM_ALLOC) sum += node_bytes(all[i]);
        if (is == CU_GRAPH_NODE_TYPE_GRAPH && child && child(all[i], &inner) == CUDA_SUCCESS)
            sum += graph_bytes(inner, depth + 1);
    }
    free(all);
    return sum;
}

static int instantiated(int result, CUgraphExec *exec, uint64_t bytes, uint64_t flags) {
    if (result != CUDA_SUCCESS) return result;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) slices_problem(AIPUB_PROBLEM_UNGATED);
    if (bytes == 0) return result;
    book_add(&(struct entry){.kind = KIND_EXEC, .key = (uintptr_t)*exec, .bytes = bytes});
    atomic_fetch_add(&with_memory, 1);
    return result;
}

int on_cuGraphInstantiate(fn_cuGraphInstantiate_v2 real, CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log,
                          size_t size) {
    uint64_t bytes = graph_bytes(graph, 0);
    return instantiated(real(exec, graph, node, log, size), exec, bytes, 0);
}

int on_cuGraphInstantiateWithFlags(fn_cuGraphInstantiateWithFlags real, CUgraphExec *exec, CUgraph graph,
                                   unsigned long long flags) {
    uint64_t bytes = graph_bytes(graph, 0);
    return instantiated(real(exec, graph, flags), exec, bytes, flags);
}

int on_cuGraphInstantiateWithParams(fn_cuGraphInstantiateWithParams real, bool per_thread, CUgraphExec *exec,
                                    CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    (void)per_thread;
    uint64_t bytes = graph_bytes(graph, 0);
    return instantiated(real(exec, graph, params), exec, bytes, params ? params->flags : 0);
}

// draw reserves the graph's memory; false: out of memory.
static bool draw(CUgraphExec exec, CUstream stream, bool per_thread, struct draw *w) {
    *w = (struct draw){0};
    if (LIKELY(atomic_load_explicit(&with_memory, memory_order_relaxed) == 0)) return true;
    uint64_t bytes = book_bytes(KIND_EXEC, (uintptr_t)exec);
    struct device *d = bytes && !capture_on(stream, per_thread) ? slices_current() : NULL;
    return !d || pools_draw(d, NULL, bytes, w);
}

int on_cuGraphUpload(fn_cuGraphUpload real, bool per_thread, CUgraphExec exec, CUstream stream) {
    struct draw w;
    if (!draw(exec, stream, per_thread, &w)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = real(exec, stream);
    pools_drawn(&w);
    return result;
}

int on_cuGraphLaunch(fn_cuGraphLaunch real, bool per_thread, CUgraphExec exec, CUstream stream) {
    struct draw w;
    if (!draw(exec, stream, per_thread, &w)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = GATED(exec, stream, per_thread, real(exec, stream));
    pools_drawn(&w);
    return result;
}

int on_cuGraphExecDestroy(fn_cuGraphExecDestroy real, CUgraphExec exec) {
    struct entry e;
    int result = real(exec);
    if (result == CUDA_SUCCESS && atomic_load(&with_memory) > 0 && book_take(KIND_EXEC, (uintptr_t)exec, &e))
        atomic_fetch_sub(&with_memory, 1);
    return result;
}
