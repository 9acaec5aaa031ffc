// SPDX-License-Identifier: Apache-2.0
//
// Graphs and their nodes.
#include "cu_graph.h"

#include <stdlib.h>
#include <string.h>

#include "cu_copy.h"

void cu_nodes_add(struct cu_nodes *n, CUgraphNode node) {
    for (size_t i = 0; i < n->count; i++)
        if (n->node[i] == node) return;
    CUgraphNode *grown = realloc(n->node, (n->count + 1) * sizeof *grown);
    if (!grown) abort(); // a few pointers; a dependency that is lost would be worse
    n->node = grown;
    n->node[n->count++] = node;
}

void cu_nodes_copy(struct cu_nodes *to, const struct cu_nodes *from) {
    for (size_t i = 0; i < from->count; i++) cu_nodes_add(to, from->node[i]);
}

void cu_nodes_clear(struct cu_nodes *n) {
    free(n->node);
    *n = (struct cu_nodes){0};
}

CUgraph cu_graph_new(void) {
    struct CUgraph_st *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->kind = CU_KIND_GRAPH;
    g->end = &g->first;
    return g;
}

void cu_graph_free_node(CUgraphNode n) {
    cu_nodes_clear(&n->deps);
    if (n->work.child) cu_graph_free(n->work.child);
    n->kind = 0;
    free(n);
}

void cu_graph_free(CUgraph g) {
    while (g->first) {
        struct CUgraphNode_st *n = g->first;
        g->first = n->next;
        cu_graph_free_node(n);
    }
    g->kind = 0;
    free(g);
}

CUresult cu_graph_add(CUgraph g, const CUgraphNode *deps, size_t count, const struct cu_work *w, CUgraphNode *out) {
    for (size_t i = 0; i < count; i++)
        if (!cu_is(deps[i], CU_KIND_NODE) || deps[i]->graph != g) return CUDA_ERROR_INVALID_VALUE;
    struct CUgraphNode_st *n = calloc(1, sizeof *n);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    n->kind = CU_KIND_NODE, n->graph = g, n->work = *w, n->original = n;
    for (size_t i = 0; i < count; i++) cu_nodes_add(&n->deps, deps[i]);
    *g->end = n;
    g->end = &n->next;
    g->count++;
    *out = n;
    return CUDA_SUCCESS;
}

static CUgraphNode copy_of(CUgraph clone, CUgraphNode original) {
    for (struct CUgraphNode_st *n = clone->first; n; n = n->next)
        if (n->original == original) return n;
    return NULL;
}

CUgraph cu_graph_clone(CUgraph g) {
    CUgraph clone = cu_graph_new();
    CUgraphNode copy;
    for (struct CUgraphNode_st *n = g->first; clone && n; n = n->next) {
        struct cu_work w = n->work;
        if (w.child) w.child = cu_graph_clone(w.child);
        if (cu_graph_add(clone, NULL, 0, &w, &copy) == CUDA_SUCCESS) copy->original = n;
    }
    for (struct CUgraphNode_st *n = g->first; clone && n; n = n->next)
        for (size_t i = 0; i < n->deps.count; i++)
            cu_nodes_add(&copy_of(clone, n)->deps, copy_of(clone, n->deps.node[i]));
    return clone;
}

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const struct cu_work *w) {
    if (!node || (count && !deps)) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    return cu_graph_add(graph, deps, count, w, node);
}

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS *p, struct cu_work *w) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    *w = (struct cu_work){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                          .launch = {p->func,
                                     {p->gridDimX, p->gridDimY, p->gridDimZ},
                                     {p->blockDimX, p->blockDimY, p->blockDimZ},
                                     p->sharedMemBytes,
                                     0}};
    CU_TRY(cu_launch_prepare(&w->launch, p->kernelParams, p->extra));
    w->ns = w->launch.ns;
    return CUDA_SUCCESS;
}

// In version 2 a kernel may stand in place of the function.
static CUDA_KERNEL_NODE_PARAMS with_function(const CUDA_KERNEL_NODE_PARAMS *p) {
    CUDA_KERNEL_NODE_PARAMS q = *p;
    if (!q.func) q.func = (CUfunction)q.kern;
    return q;
}

static CUresult set_kernel(struct cu_work *old, const CUDA_KERNEL_NODE_PARAMS *p) {
    struct cu_work w;
    CU_TRY(kernel_work(p, &w));
    if (old->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    *old = w;
    return CUDA_SUCCESS;
}

struct cu_step *cu_step_of(CUgraphExec exec, CUgraphNode node) {
    for (size_t i = 0; cu_is(exec, CU_KIND_EXEC) && i < exec->count; i++)
        if (exec->step[i].node == node) return &exec->step[i];
    return NULL;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *params) {
    CU_CALL();
    struct cu_work w;
    CU_TRY(kernel_work(params, &w));
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = with_function(params);
    return cuGraphAddKernelNode(node, graph, deps, count, &p);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    CU_CALL();
    return cu_is(node, CU_KIND_NODE) ? set_kernel(&node->work, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = with_function(params);
    return cuGraphKernelNodeSetParams(node, &p);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    CU_CALL();
    struct cu_step *step = cu_step_of(exec, node);
    return step ? set_kernel(&step->work, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = with_function(params);
    return cuGraphExecKernelNodeSetParams(exec, node, &p);
}

// Parameters that were read at the time of setting are not kept.
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
    CU_CALL();
    if (!params || !cu_is(node, CU_KIND_NODE) || node->work.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cu_launch *l = &node->work.launch;
    memset(params, 0, offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
    params->func = l->function;
    params->gridDimX = l->grid[0], params->gridDimY = l->grid[1], params->gridDimZ = l->grid[2];
    params->blockDimX = l->block[0], params->blockDimY = l->block[1], params->blockDimZ = l->block[2];
    params->sharedMemBytes = l->shared;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
    CU_TRY(cuGraphKernelNodeGetParams(node, params));
    params->kern = NULL, params->ctx = NULL;
    return CUDA_SUCCESS;
}

static CUresult copy_work(const CUDA_MEMCPY3D *copy, struct cu_work *w) {
    enum cu_copy_path path;
    uint64_t bytes;
    CU_TRY(cu_copy3d(copy, &path, &bytes));
    *w = (struct cu_work){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .ns = cu_copy_ns(path, bytes)};
    return CUDA_SUCCESS;
}

static CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS *p, struct cu_work *w) {
    if (!p || !p->dst || !p->width) return CUDA_ERROR_INVALID_VALUE;
    uint64_t bytes = p->width * p->elementSize * (p->height ? p->height : 1);
    *w = (struct cu_work){.type = CU_GRAPH_NODE_TYPE_MEMSET, .ns = cu_copy_ns(CU_PATH_FILL, bytes)};
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                              const CUDA_MEMCPY3D *copy, CUcontext ctx) {
    CU_CALL();
    struct cu_work w;
    (void)ctx;
    CU_TRY(copy_work(copy, &w));
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx) {
    CU_CALL();
    struct cu_work w;
    (void)ctx;
    CU_TRY(fill_work(params, &w));
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params) {
    CU_CALL();
    if (!params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_HOST, .fn = params->fn, .user = params->userData};
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                                  CUgraph child) {
    CU_CALL();
    if (!cu_is(child, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = cu_graph_clone(child)};
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
    CU_CALL();
    if (!graph || !cu_is(node, CU_KIND_NODE) || !node->work.child) return CUDA_ERROR_INVALID_VALUE;
    *graph = node->work.child;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count) {
    CU_CALL();
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add(node, graph, deps, count, &w);
}

static CUresult add_event(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUevent event,
                          int type) {
    CU_CALL();
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_VALUE;
    struct cu_work w = {.type = type, .event = event};
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                                   CUevent event) {
    return add_event(node, graph, deps, count, event, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                                 CUevent event) {
    return add_event(node, graph, deps, count, event, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

// An allocation of a graph has its address from now on, and memory while an
// executable graph holds it.
static CUresult alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct cu_work *w) {
    if (!p || !p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!cu_device_at(p->poolProps.location.id)) return CUDA_ERROR_INVALID_DEVICE;
    p->dptr = cu_addresses(cu_round_up(p->bytesize, CU_GRANULE), CU_GRANULE);
    *w = (struct cu_work){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .ptr = p->dptr, .bytes = p->bytesize};
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    CU_CALL();
    struct cu_work w;
    CU_TRY(alloc_work(params, &w));
    return add(node, graph, deps, count, &w);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    CU_CALL();
    if (!params || !cu_is(node, CU_KIND_NODE) || node->work.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return CUDA_ERROR_INVALID_VALUE;
    memset(params, 0, sizeof *params);
    params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params->bytesize = node->work.bytes, params->dptr = node->work.ptr;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                               CUdeviceptr ptr) {
    CU_CALL();
    if (!ptr) return CUDA_ERROR_INVALID_VALUE;
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .ptr = ptr};
    return add(node, graph, deps, count, &w);
}

// The body of a conditional node is a graph that the program fills; here it
// runs once with every launch, whatever the condition.
static CUresult conditional_work(CUgraphNodeParams *p, struct cu_work *w) {
    if (p->conditional.size != 1 && p->conditional.size != 2) return CUDA_ERROR_INVALID_VALUE;
    *w = (struct cu_work){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .child = cu_graph_new()};
    p->conditional.phGraph_out = &w->child;
    return w->child ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cu_node_work(CUgraphNodeParams *p, struct cu_work *w) {
    CUDA_KERNEL_NODE_PARAMS kernel;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: kernel = with_function(&p->kernel); return kernel_work(&kernel, w);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return copy_work(&p->memcpy.copyParams, w);
    case CU_GRAPH_NODE_TYPE_MEMSET: return fill_work(&p->memset.params, w);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return alloc_work(&p->alloc, w);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return conditional_work(p, w);
    }
    *w = (struct cu_work){.type = p->type};
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_HOST: w->fn = p->host.fn, w->user = p->host.userData; return w->fn ? 0 : 1;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (!cu_is(p->graph.graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
        w->child = cu_graph_clone(p->graph.graph);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        w->event = p->event.event;
        return cu_is(w->event, CU_KIND_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: w->ptr = p->free.dptr; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
                        CUgraphNodeParams *params) {
    CU_CALL();
    struct cu_work w;
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_node_work(params, &w));
    CU_TRY(add(node, graph, deps, count, &w));
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) params->conditional.phGraph_out = &(*node)->work.child;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges,
                           size_t count, CUgraphNodeParams *params) {
    (void)edges;
    return cuGraphAddNode(node, graph, deps, count, params);
}
