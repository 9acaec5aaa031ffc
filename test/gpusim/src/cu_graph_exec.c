// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs. The nodes of a graph run one after another in the stream
// that launches it: branches share the GPU's rate anyway, so the whole takes
// as long. Kernels in a row are one command.
#include <stdlib.h>

#include "cu_capture.h"
#include "cu_event.h"
#include "cu_graph.h"
#include "cu_pool.h"

enum { AUTO_FREE_ON_LAUNCH = 1, MOST_FLAGS = 15 };

static CUresult append(CUgraphExec x, const struct cu_work *w, CUgraphNode node) {
    struct cu_step *grown = realloc(x->step, (x->count + 1) * sizeof *grown);
    if (!grown) return CUDA_ERROR_OUT_OF_MEMORY;
    x->step = grown;
    x->step[x->count++] = (struct cu_step){*w, node, true};
    x->step[x->count - 1].work.child = NULL;
    return CUDA_SUCCESS;
}

static CUresult flatten(CUgraphExec x, CUgraph g);

// Marks: 0 not seen, 1 on the way, 2 done.
static CUresult visit(CUgraphExec x, CUgraphNode n) {
    if (n->mark == 2) return CUDA_SUCCESS;
    if (n->mark == 1) return CUDA_ERROR_INVALID_VALUE; // a cycle
    n->mark = 1;
    for (size_t i = 0; i < n->deps.count; i++) CU_TRY(visit(x, n->deps.node[i]));
    n->mark = 2;
    if (n->work.child) return flatten(x, n->work.child);
    return append(x, &n->work, n);
}

static CUresult flatten(CUgraphExec x, CUgraph g) {
    for (struct CUgraphNode_st *n = g->first; n; n = n->next) n->mark = 0;
    for (struct CUgraphNode_st *n = g->first; n; n = n->next) CU_TRY(visit(x, n));
    return CUDA_SUCCESS;
}

static void drop(CUgraphExec x) {
    CUmemoryPool pool;
    if (x->held && !x->ctx->destroyed && cu_graph_pool(x->ctx->device, &pool) == CUDA_SUCCESS)
        cu_pool_give(pool, x->held);
    x->kind = 0;
    free(x->step);
    free(x);
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, cuuint64_t flags) {
    CU_CONTEXT();
    if (!exec || !cu_is(graph, CU_KIND_GRAPH) || flags & ~(cuuint64_t)MOST_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    struct CUgraphExec_st *x = calloc(1, sizeof *x);
    if (!x) return CUDA_ERROR_OUT_OF_MEMORY;
    x->kind = CU_KIND_EXEC, x->ctx = ctx, x->flags = flags;
    CUresult r = flatten(x, graph);
    if (r != CUDA_SUCCESS) drop(x);
    else *exec = x;
    return r;
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t size) {
    CUresult r = instantiate(exec, graph, 0);
    if (bad) *bad = NULL;
    if (log && size) *log = 0;
    return r;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t size) {
    return cuGraphInstantiate(exec, graph, bad, log, size);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    return instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    enum { UPLOAD = 2 };
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = instantiate(exec, graph, params->flags);
    params->result_out = r == CUDA_SUCCESS ? 0 : 1;
    params->hErrNode_out = NULL;
    if (r == CUDA_SUCCESS && params->flags & UPLOAD) return cuGraphUpload(*exec, params->hUploadStream);
    return r;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags) {
    CU_CALL();
    if (!flags || !cu_is(exec, CU_KIND_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
    CU_CALL();
    if (!cu_is(exec, CU_KIND_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    drop(exec);
    return CUDA_SUCCESS;
}

static bool freed_inside(CUgraphExec x, CUdeviceptr ptr) {
    for (size_t i = 0; i < x->count; i++)
        if (x->step[i].work.type == CU_GRAPH_NODE_TYPE_MEM_FREE && x->step[i].work.ptr == ptr) return true;
    return false;
}

// peak is the most memory that allocations which the graph itself frees need
// at one time.
static uint64_t peak(CUgraphExec x) {
    uint64_t now = 0, most = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct cu_work *w = &x->step[i].work;
        if (w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && freed_inside(x, w->ptr)) now += cu_round_up(w->bytes, CU_ALIGN);
        if (now > most) most = now;
        for (size_t k = 0; w->type == CU_GRAPH_NODE_TYPE_MEM_FREE && k < i; k++)
            if (x->step[k].work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && x->step[k].work.ptr == w->ptr)
                now -= cu_round_up(x->step[k].work.bytes, CU_ALIGN);
    }
    return most;
}

static CUresult hold_memory(CUgraphExec x, CUmemoryPool pool) {
    uint64_t need = peak(x);
    if (x->held || !need) return CUDA_SUCCESS;
    CU_TRY(cu_pool_take(pool, x->ctx, need));
    x->held = need;
    return CUDA_SUCCESS;
}

// give_outside makes what the program gets from the graph and must free.
static CUresult give_outside(CUgraphExec x, CUmemoryPool pool) {
    for (size_t i = 0; i < x->count; i++) {
        const struct cu_work *w = &x->step[i].work;
        struct cu_range *r;
        if (w->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || freed_inside(x, w->ptr)) continue;
        if ((r = cu_range_at(w->ptr))) {
            if (!(x->flags & AUTO_FREE_ON_LAUNCH)) return CUDA_ERROR_INVALID_VALUE;
            CU_TRY(cu_pool_free(r));
        }
        CU_TRY(cu_pool_range(pool, x->ctx, w->ptr, w->bytes, &r));
    }
    return CUDA_SUCCESS;
}

static CUresult memory_for_launch(CUgraphExec x, bool launching) {
    CUmemoryPool pool;
    CU_TRY(cu_graph_pool(x->ctx->device, &pool));
    CU_TRY(hold_memory(x, pool));
    return launching ? give_outside(x, pool) : CUDA_SUCCESS;
}

static CUresult free_in_graph(const struct cu_work *w) {
    struct cu_range *r = cu_range_at(w->ptr);
    if (r && r->memory == CU_MEM_POOL && r->base == w->ptr) return cu_pool_free(r);
    return CUDA_SUCCESS; // allocated by the graph itself
}

static CUresult run_step(CUstream s, const struct cu_work *w) {
    switch (w->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cu_push(s, (struct gs_command){.kind = GS_CMD_COPY, .left_ns = w->ns});
    case CU_GRAPH_NODE_TYPE_HOST: return cu_host_call(s, w->fn, NULL, w->user);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cu_event_wait(w->event, s);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return cu_event_record(w->event, s);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return free_in_graph(w);
    }
    return CUDA_SUCCESS;
}

static bool is_kernel(const struct cu_work *w) {
    return w->type == CU_GRAPH_NODE_TYPE_KERNEL || w->type == CU_GRAPH_NODE_TYPE_GRAPH;
}

static CUresult flush(CUstream s, uint64_t *ns, uint64_t *kernels) {
    if (!*kernels) return CUDA_SUCCESS;
    struct gs_command c = {.kind = GS_CMD_KERNEL, .left_ns = *ns, .value = *kernels};
    *ns = *kernels = 0;
    return cu_push(s, c);
}

static CUresult run(CUgraphExec x, CUstream s) {
    uint64_t ns = 0, kernels = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct cu_work *w = &x->step[i].work;
        if (!x->step[i].enabled) continue;
        if (is_kernel(w)) {
            ns += w->ns, kernels++;
            continue;
        }
        if (w->type == CU_GRAPH_NODE_TYPE_EMPTY || w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
        CU_TRY(flush(s, &ns, &kernels));
        CU_TRY(run_step(s, w));
    }
    return flush(s, &ns, &kernels);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!cu_is(exec, CU_KIND_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    if (cu_capturing(s)) {
        uint64_t ns = 0;
        for (size_t i = 0; i < exec->count; i++) ns += exec->step[i].work.ns;
        return cu_capture_work(s, CU_GRAPH_NODE_TYPE_GRAPH, ns);
    }
    CU_TRY(cu_refuse_implicit(s));
    CU_TRY(memory_for_launch(exec, true));
    return run(exec, s);
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!cu_is(exec, CU_KIND_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    if (cu_capturing(s)) return cu_refuse_capture(s->ctx, s);
    return memory_for_launch(exec, false);
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    enum { UPDATED, ERROR, TOPOLOGY_CHANGED, TYPE_CHANGED };
    CU_CALL();
    *info = (CUgraphExecUpdateResultInfo){.result = ERROR};
    if (!cu_is(exec, CU_KIND_EXEC) || !cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    struct CUgraphExec_st fresh = {.ctx = exec->ctx};
    CUresult r = flatten(&fresh, graph);
    info->result = r != CUDA_SUCCESS ? ERROR : fresh.count != exec->count ? TOPOLOGY_CHANGED : UPDATED;
    for (size_t i = 0; info->result == UPDATED && i < fresh.count; i++)
        if (fresh.step[i].work.type != exec->step[i].work.type) {
            info->result = TYPE_CHANGED;
            info->errorNode = fresh.step[i].node;
        }
    // The steps keep naming the nodes of the graph that was instantiated.
    for (size_t i = 0; info->result == UPDATED && i < fresh.count; i++) exec->step[i].work = fresh.step[i].work;
    free(fresh.step);
    return info->result == UPDATED ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad, int *result) {
    CUgraphExecUpdateResultInfo info = {0};
    if (!bad || !result) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = update(exec, graph, &info);
    *bad = info.errorNode, *result = info.result;
    return r;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    return info ? update(exec, graph, info) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params) {
    CU_CALL();
    struct cu_work w;
    struct cu_step *step = cu_step_of(exec, node);
    if (!params || !step || params->type != step->work.type) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_node_work(params, &w));
    step->work = w;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled) {
    CU_CALL();
    struct cu_step *step = cu_step_of(exec, node);
    if (!step || enabled > 1 || step->work.type > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
    step->enabled = enabled;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled) {
    CU_CALL();
    struct cu_step *step = cu_step_of(exec, node);
    if (!step || !enabled) return CUDA_ERROR_INVALID_VALUE;
    *enabled = step->enabled;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = *params};
    return cuGraphExecNodeSetParams(exec, node, &p);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext ctx) {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = {.copyCtx = ctx, .copyParams = *copy}};
    return cuGraphExecNodeSetParams(exec, node, &p);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,
                                        CUcontext ctx) {
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = {*params, ctx}};
    return cuGraphExecNodeSetParams(exec, node, &p);
}
