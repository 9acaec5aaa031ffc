// SPDX-License-Identifier: Apache-2.0
//
// Graphs: nodes with dependencies, and what instantiation makes of them, a
// list of steps in one order that respects all dependencies.
#ifndef GPUSIM_CU_GRAPH_H
#define GPUSIM_CU_GRAPH_H

#include "cu_launch.h"

// A set of nodes that something depends on.
struct cu_nodes {
    CUgraphNode *node;
    size_t count;
};

void cu_nodes_add(struct cu_nodes *n, CUgraphNode node); // once
void cu_nodes_copy(struct cu_nodes *to, const struct cu_nodes *from);
void cu_nodes_clear(struct cu_nodes *n);

// What a node does; a step of an executable graph is a copy of it.
struct cu_work {
    int type; // CU_GRAPH_NODE_TYPE_*
    uint64_t ns;
    struct cu_launch launch;
    CUhostFn fn;
    void *user;
    CUevent event;
    CUdeviceptr ptr; // of an allocation or a free
    uint64_t bytes;
    CUgraph child; // owned by the node
};

struct CUgraphNode_st {
    uint32_t kind;
    CUgraph graph;
    struct cu_work work;
    struct cu_nodes deps;
    int mark; // of the walk that is going on
    struct CUgraphNode_st *next, *original;
};

struct CUgraph_st {
    uint32_t kind;
    struct CUgraphNode_st *first, **end;
    size_t count;
};

struct cu_step {
    struct cu_work work;
    CUgraphNode node; // that it came from
    bool enabled;
};

struct CUgraphExec_st {
    uint32_t kind;
    CUcontext ctx;
    cuuint64_t flags;
    struct cu_step *step;
    size_t count;
    uint64_t held; // bytes of the graph pool
};

CUgraph cu_graph_new(void);
void cu_graph_free_node(CUgraphNode n); // that no list holds
void cu_graph_free(CUgraph g);
CUgraph cu_graph_clone(CUgraph g);
CUresult cu_graph_add(CUgraph g, const CUgraphNode *deps, size_t count, const struct cu_work *w, CUgraphNode *out);

// cu_node_work reads what cuGraphAddNode takes; cu_step_of finds the step that
// a node became, NULL if none.
CUresult cu_node_work(CUgraphNodeParams *p, struct cu_work *w);
struct cu_step *cu_step_of(CUgraphExec exec, CUgraphNode node);

// Captured work becomes a node that depends on what the stream has captured.
CUresult cu_capture_node(CUstream s, const struct cu_work *w, CUgraphNode *out);
CUresult cu_capture_kernel(CUstream s, const struct cu_launch *l);
CUresult cu_capture_work(CUstream s, int type, uint64_t ns);
CUresult cu_capture_host(CUstream s, CUhostFn fn, void *user);
CUresult cu_capture_alloc(CUstream s, uint64_t bytes, CUdeviceptr *ptr);
CUresult cu_capture_free(CUstream s, CUdeviceptr ptr);

#endif
