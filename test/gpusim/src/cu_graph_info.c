// SPDX-License-Identifier: Apache-2.0
//
// The shape of graphs.
#include "cu_graph.h"

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags) {
    CU_CALL();
    if (!graph || flags) return CUDA_ERROR_INVALID_VALUE;
    *graph = cu_graph_new();
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph) {
    CU_CALL();
    if (!cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    cu_graph_free(graph);
    return CUDA_SUCCESS;
}

// Graphs with allocations cannot be cloned, as their addresses would be shared.
CUresult cuGraphClone(CUgraph *clone, CUgraph graph) {
    CU_CALL();
    if (!clone || !cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (struct CUgraphNode_st *n = graph->first; n; n = n->next)
        if (n->work.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->work.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            return CUDA_ERROR_NOT_SUPPORTED;
    *clone = cu_graph_clone(graph);
    return *clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphNodeGetType(CUgraphNode node, int *type) {
    CU_CALL();
    if (!type || !cu_is(node, CU_KIND_NODE)) return CUDA_ERROR_INVALID_VALUE;
    *type = node->work.type;
    return CUDA_SUCCESS;
}

// list fills what has room and reports how many there are, or were filled.
static CUresult list(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots) {
    CU_CALL();
    size_t n = 0;
    if (!count || !cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (struct CUgraphNode_st *node = graph->first; node; node = node->next) {
        if (roots && node->deps.count) continue;
        if (nodes && n < *count) nodes[n] = node;
        n++;
    }
    for (size_t i = n; nodes && i < *count; i++) nodes[i] = NULL;
    if (!nodes || *count > n) *count = n;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    return list(graph, nodes, count, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    return list(graph, nodes, count, true);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count) {
    CU_CALL();
    size_t n = 0;
    if (!count || !from != !to || !cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (struct CUgraphNode_st *node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->deps.count; i++, n++) {
            if (!from || n >= *count) continue;
            from[n] = node->deps.node[i], to[n] = node;
            if (edges) edges[n] = (CUgraphEdgeData){0};
        }
    if (!from || *count > n) *count = n;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *count) {
    CU_CALL();
    if (!count || !cu_is(node, CU_KIND_NODE)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; deps && i < *count; i++) deps[i] = i < node->deps.count ? node->deps.node[i] : NULL;
    if (!deps || *count > node->deps.count) *count = node->deps.count;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
    CU_CALL();
    (void)edges;
    if (!cu_is(graph, CU_KIND_GRAPH) || (count && (!from || !to))) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!cu_is(from[i], CU_KIND_NODE) || !cu_is(to[i], CU_KIND_NODE) || from[i]->graph != graph ||
            to[i]->graph != graph || from[i] == to[i])
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) cu_nodes_add(&to[i]->deps, from[i]);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

static void forget(struct cu_nodes *n, CUgraphNode gone) {
    size_t kept = 0;
    for (size_t i = 0; i < n->count; i++)
        if (n->node[i] != gone) n->node[kept++] = n->node[i];
    n->count = kept;
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
    CU_CALL();
    if (!cu_is(node, CU_KIND_NODE)) return CUDA_ERROR_INVALID_VALUE;
    CUgraph g = node->graph;
    struct CUgraphNode_st **at = &g->first;
    for (struct CUgraphNode_st *n = g->first; n; n = n->next) forget(&n->deps, node);
    while (*at != node) at = &(*at)->next;
    *at = node->next;
    if (g->end == &node->next) g->end = at;
    g->count--;
    cu_graph_free_node(node);
    return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext ctx,
                                        unsigned int value, unsigned int flags) {
    CU_CALL();
    (void)ctx, (void)value;
    if (!handle || flags > 1 || !cu_is(graph, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    *handle = cu_id();
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params) {
    CU_CALL();
    struct cu_work w;
    if (!params || !cu_is(node, CU_KIND_NODE) || params->type != node->work.type || node->work.child)
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_node_work(params, &w));
    node->work = w;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
    CU_CALL();
    size_t found = 0;
    if (!count || !cu_is(node, CU_KIND_NODE)) return CUDA_ERROR_INVALID_VALUE;
    for (struct CUgraphNode_st *n = node->graph->first; n; n = n->next)
        for (size_t i = 0; i < n->deps.count; i++) {
            if (n->deps.node[i] != node) continue;
            if (nodes && found < *count) nodes[found] = n;
            found++;
        }
    if (!nodes || *count > found) *count = found;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone) {
    CU_CALL();
    if (!node || !cu_is(original, CU_KIND_NODE) || !cu_is(clone, CU_KIND_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (struct CUgraphNode_st *n = clone->first; n; n = n->next)
        if (n->original == original) return *node = n, CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
}
