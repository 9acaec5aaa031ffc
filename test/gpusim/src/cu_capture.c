// SPDX-License-Identifier: Apache-2.0
//
// Stream capture. A call that a capture does not allow returns its error and
// invalidates the capture, which then can only be ended.
#include "cu_capture.h"

#include <stdlib.h>

#include "cu_graph.h"

struct cu_capture {
    struct cu_capture *next;
    uint64_t id, thread;
    int mode, status; // CU_CAPTURE_NONE: ended; events may still point here
    CUcontext ctx;
    CUstream origin;
    CUgraph graph;
    bool borrowed; // the graph is the program's
};

static struct cu_capture *captures;
static __thread int thread_mode = CU_CAPTURE_MODE_GLOBAL;

bool cu_capturing(CUstream s) {
    return s->capture != NULL;
}

static CUresult invalidate(struct cu_capture *c, CUresult why) {
    if (c->status == CU_CAPTURE_INVALIDATED) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    c->status = CU_CAPTURE_INVALIDATED;
    return why;
}

// implicit: the legacy stream would wait for a blocking stream that captures.
CUresult cu_refuse_implicit(CUstream s) {
    if (s != s->ctx->legacy) return CUDA_SUCCESS;
    for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
        if (o->capture && !(o->flags & CU_STREAM_NON_BLOCKING))
            return invalidate(o->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return CUDA_SUCCESS;
}

CUresult cu_refuse_capture(CUcontext ctx, CUstream s) {
    if (s && s->capture) return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (s) return cu_refuse_implicit(s);
    CUresult r = CUDA_SUCCESS;
    for (struct cu_capture *c = captures; c; c = c->next)
        if (c->ctx == ctx && c->status != CU_CAPTURE_NONE) r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return r;
}

static bool forbids(const struct cu_capture *c) {
    if (c->status == CU_CAPTURE_NONE || thread_mode == CU_CAPTURE_MODE_RELAXED) return false;
    if (c->thread == cu_thread()) return c->mode != CU_CAPTURE_MODE_RELAXED;
    return c->mode == CU_CAPTURE_MODE_GLOBAL && thread_mode == CU_CAPTURE_MODE_GLOBAL;
}

CUresult cu_refuse_unsafe(void) {
    CUresult r = CUDA_SUCCESS;
    for (struct cu_capture *c = captures; c; c = c->next)
        if (forbids(c)) r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return r;
}

CUresult cu_refuse_event(CUevent e) {
    if (!e->capture) return CUDA_SUCCESS;
    if (e->capture->status == CU_CAPTURE_ACTIVE) e->capture->status = CU_CAPTURE_INVALIDATED;
    return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult usable(const struct cu_capture *c) {
    return c->status == CU_CAPTURE_ACTIVE ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult cu_capture_node(CUstream s, const struct cu_work *w, CUgraphNode *out) {
    CUgraphNode node;
    CU_TRY(usable(s->capture));
    CU_TRY(cu_graph_add(s->capture->graph, s->deps->node, s->deps->count, w, &node));
    cu_nodes_clear(s->deps);
    cu_nodes_add(s->deps, node);
    if (out) *out = node;
    return CUDA_SUCCESS;
}

void cu_capture_forget_event(CUevent e) {
    e->capture = NULL;
    if (e->nodes) cu_nodes_clear(e->nodes);
    free(e->nodes);
    e->nodes = NULL;
}

CUresult cu_capture_record(CUstream s, CUevent e, bool external) {
    CU_TRY(usable(s->capture));
    if (external) {
        struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = e};
        return cu_capture_node(s, &w, NULL);
    }
    cu_capture_forget_event(e);
    e->nodes = calloc(1, sizeof *e->nodes);
    if (!e->nodes) return CUDA_ERROR_OUT_OF_MEMORY;
    cu_nodes_copy(e->nodes, s->deps);
    e->capture = s->capture;
    return CUDA_SUCCESS;
}

static CUresult join(CUstream s, struct cu_capture *c) {
    if (s == s->ctx->legacy) return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    s->deps = calloc(1, sizeof *s->deps);
    if (!s->deps) return CUDA_ERROR_OUT_OF_MEMORY;
    s->capture = c;
    return CUDA_SUCCESS;
}

CUresult cu_capture_wait(CUstream s, CUevent e, bool external) {
    struct cu_capture *c = e->capture;
    if (s->capture) CU_TRY(usable(s->capture));
    if (external && s->capture && !c) {
        struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = e};
        return cu_capture_node(s, &w, NULL);
    }
    if (!c) return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (c->status == CU_CAPTURE_NONE) return CUDA_ERROR_CAPTURED_EVENT;
    CU_TRY(usable(c));
    if (s->capture && s->capture != c) {
        s->capture->status = CU_CAPTURE_INVALIDATED;
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!s->capture) CU_TRY(join(s, c));
    for (size_t i = 0; i < e->nodes->count; i++) cu_nodes_add(s->deps, e->nodes->node[i]);
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, int mode, CUgraph graph, const CUgraphNode *deps, size_t count) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (mode < CU_CAPTURE_MODE_GLOBAL || mode > CU_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (s == s->ctx->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    struct cu_capture *c = calloc(1, sizeof *c);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct cu_capture){captures,      cu_id(), cu_thread(), mode, CU_CAPTURE_ACTIVE, s->ctx, s,
                             graph ? graph : cu_graph_new(), graph != NULL};
    CUresult r = c->graph ? join(s, c) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        free(c);
        return r;
    }
    for (size_t i = 0; i < count; i++) cu_nodes_add(s->deps, deps[i]);
    captures = c;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream) {
    return begin(stream, CU_CAPTURE_MODE_GLOBAL, NULL, NULL, 0);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    return begin(stream, mode, NULL, NULL, 0);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
                                     const CUgraphEdgeData *edges, size_t count, int mode) {
    (void)edges;
    if (!cu_is(graph, CU_KIND_GRAPH) || (count && !deps)) return CUDA_ERROR_INVALID_VALUE;
    return begin(stream, mode, graph, deps, count);
}

// A new walk has a new number, so marks need no clearing.
static bool reaches(CUgraphNode from, CUgraphNode wanted, int walk) {
    if (from == wanted) return true;
    if (from->mark == walk) return false;
    from->mark = walk;
    for (size_t i = 0; i < from->deps.count; i++)
        if (reaches(from->deps.node[i], wanted, walk)) return true;
    return false;
}

static bool joined(const struct cu_capture *c, const struct CUstream_st *s) {
    static int walk = 1 << 20;
    for (size_t i = 0; i < s->deps->count; i++) {
        bool found = false;
        walk++;
        for (size_t k = 0; k < c->origin->deps->count && !found; k++)
            found = reaches(c->origin->deps->node[k], s->deps->node[i], walk);
        if (!found) return false;
    }
    return true;
}

static void leave(struct CUstream_st *s) {
    cu_nodes_clear(s->deps);
    free(s->deps);
    s->deps = NULL;
    s->capture = NULL;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    struct cu_capture *c = s->capture;
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    if (!c) return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s) return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (c->mode != CU_CAPTURE_MODE_RELAXED && c->thread != cu_thread())
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CUresult r = usable(c);
    for (struct CUctx_st *x = cu.contexts; x; x = x->next)
        for (struct CUstream_st *o = x->streams; o; o = o->next) {
            if (o->capture != c || o == s) continue;
            if (r == CUDA_SUCCESS && !joined(c, o)) r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
            leave(o);
        }
    leave(s);
    c->status = CU_CAPTURE_NONE;
    *graph = r == CUDA_SUCCESS ? c->graph : NULL;
    if (r != CUDA_SUCCESS && !c->borrowed) cu_graph_free(c->graph);
    c->graph = NULL;
    return r;
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_implicit(s));
    *status = s->capture ? s->capture->status : CU_CAPTURE_NONE;
    return CUDA_SUCCESS;
}

static CUresult info(CUstream stream, int *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
                     size_t *count) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_implicit(s));
    *status = s->capture ? s->capture->status : CU_CAPTURE_NONE;
    if (*status != CU_CAPTURE_ACTIVE) return CUDA_SUCCESS;
    if (id) *id = s->capture->id;
    if (graph) *graph = s->capture->graph;
    if (deps) *deps = s->deps->node;
    if (count) *count = s->deps->count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, int *status, cuuint64_t *id) {
    return info(stream, status, id, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **deps, size_t *count) {
    return info(stream, status, id, graph, deps, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *count) {
    if (edges) *edges = NULL;
    return info(stream, status, id, graph, deps, count);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps, size_t count, unsigned int flags) {
    enum { ADD, SET };
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if ((count && !deps) || flags > SET) return CUDA_ERROR_INVALID_VALUE;
    if (!s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    CU_TRY(usable(s->capture));
    if (flags == SET) cu_nodes_clear(s->deps);
    for (size_t i = 0; i < count; i++) cu_nodes_add(s->deps, deps[i]);
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *edges,
                                              size_t count, unsigned int flags) {
    (void)edges;
    return cuStreamUpdateCaptureDependencies(stream, deps, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    if (!mode || *mode < CU_CAPTURE_MODE_GLOBAL || *mode > CU_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    int old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
