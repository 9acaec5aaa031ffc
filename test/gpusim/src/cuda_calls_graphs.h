// SPDX-License-Identifier: Apache-2.0
//
// Part of the list of calls, see cuda_calls.h: graphs and capture.
#ifndef GPUSIM_CUDA_CALLS_GRAPHS_H
#define GPUSIM_CUDA_CALLS_GRAPHS_H

// clang-format off
#define CUDA_CALLS_GRAPHS(X) \
    /* capture */ \
    X(cuStreamBeginCapture, cuStreamBeginCapture, 10000, 0, PTSZ, (CUstream stream), (stream)) \
    X(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, 0, PTSZ, (CUstream stream, int mode), (stream, mode)) \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, 0, PTSZ, (CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t count, int mode), (stream, graph, deps, edges, count, mode)) \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, 0, PTSZ, (CUstream stream, CUgraph *graph), (stream, graph)) \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000, 0, PTSZ, (CUstream stream, int *status), (stream, status)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, 10010, 0, PTSZ, (CUstream stream, int *status, cuuint64_t *id), (stream, status, id)) \
    X(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo, 11030, 0, PTSZ, (CUstream stream, int *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, size_t *count), (stream, status, id, graph, deps, count)) \
    X(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo, 12030, 0, PTSZ, (CUstream stream, int *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *count), (stream, status, id, graph, deps, edges, count)) \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, 11030, 0, PTSZ, (CUstream stream, CUgraphNode *deps, size_t count, unsigned int flags), (stream, deps, count, flags)) \
    X(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies, 12030, 0, PTSZ, (CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *edges, size_t count, unsigned int flags), (stream, deps, edges, count, flags)) \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, 0, NO, (int *mode), (mode)) \
    /* graphs */ \
    X(cuGraphCreate, cuGraphCreate, 10000, 0, NO, (CUgraph *graph, unsigned int flags), (graph, flags)) \
    X(cuGraphDestroy, cuGraphDestroy, 10000, 0, NO, (CUgraph graph), (graph)) \
    X(cuGraphClone, cuGraphClone, 10000, 0, NO, (CUgraph *clone, CUgraph graph), (clone, graph)) \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const CUDA_KERNEL_NODE_PARAMS *params), (node, graph, deps, count, params)) \
    X(cuGraphAddKernelNode_v2, cuGraphAddKernelNode, 12000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const CUDA_KERNEL_NODE_PARAMS *params), (node, graph, deps, count, params)) \
    X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams, 10000, 0, NO, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params), (node, params)) \
    X(cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeGetParams, 12000, 0, NO, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params), (node, params)) \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams, 10000, 0, NO, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params), (node, params)) \
    X(cuGraphKernelNodeSetParams_v2, cuGraphKernelNodeSetParams, 12000, 0, NO, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params), (node, params)) \
    X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const CUDA_MEMCPY3D *copy, CUcontext ctx), (node, graph, deps, count, copy, ctx)) \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx), (node, graph, deps, count, params, ctx)) \
    X(cuGraphAddHostNode, cuGraphAddHostNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, const CUDA_HOST_NODE_PARAMS *params), (node, graph, deps, count, params)) \
    X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUgraph child), (node, graph, deps, count, child)) \
    X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, 10000, 0, NO, (CUgraphNode node, CUgraph *graph), (node, graph)) \
    X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count), (node, graph, deps, count)) \
    X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUevent event), (node, graph, deps, count, event)) \
    X(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode, 11010, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUevent event), (node, graph, deps, count, event)) \
    X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params), (node, graph, deps, count, params)) \
    X(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040, 0, NO, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params), (node, params)) \
    X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUdeviceptr ptr), (node, graph, deps, count, ptr)) \
    X(cuGraphAddNode, cuGraphAddNode, 12020, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count, CUgraphNodeParams *params), (node, graph, deps, count, params)) \
    X(cuGraphAddNode_v2, cuGraphAddNode, 12030, 0, NO, (CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params), (node, graph, deps, edges, count, params)) \
    X(cuGraphNodeSetParams, cuGraphNodeSetParams, 12020, 0, NO, (CUgraphNode node, CUgraphNodeParams *params), (node, params)) \
    X(cuGraphNodeGetType, cuGraphNodeGetType, 10000, 0, NO, (CUgraphNode node, int *type), (node, type)) \
    X(cuGraphGetNodes, cuGraphGetNodes, 10000, 0, NO, (CUgraph graph, CUgraphNode *nodes, size_t *count), (graph, nodes, count)) \
    X(cuGraphGetRootNodes, cuGraphGetRootNodes, 10000, 0, NO, (CUgraph graph, CUgraphNode *nodes, size_t *count), (graph, nodes, count)) \
    X(cuGraphGetEdges, cuGraphGetEdges, 10000, 0, NO, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count), (graph, from, to, count)) \
    X(cuGraphGetEdges_v2, cuGraphGetEdges, 12030, 0, NO, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count), (graph, from, to, edges, count)) \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, 10000, 0, NO, (CUgraphNode node, CUgraphNode *deps, size_t *count), (node, deps, count)) \
    X(cuGraphAddDependencies, cuGraphAddDependencies, 10000, 0, NO, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count), (graph, from, to, count)) \
    X(cuGraphAddDependencies_v2, cuGraphAddDependencies, 12030, 0, NO, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count), (graph, from, to, edges, count)) \
    X(cuGraphDestroyNode, cuGraphDestroyNode, 10000, 0, NO, (CUgraphNode node), (node)) \
    X(cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030, 0, NO, (CUgraphConditionalHandle *handle, CUgraph graph, CUcontext ctx, unsigned int value, unsigned int flags), (handle, graph, ctx, value, flags)) \
    X(cuGraphInstantiate, cuGraphInstantiate, 10000, 0, NO, (CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t size), (exec, graph, bad, log, size)) \
    X(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, 0, NO, (CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t size), (exec, graph, bad, log, size)) \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, 0, NO, (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags)) \
    X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, 0, PTSZ, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (exec, graph, params)) \
    X(cuGraphExecGetFlags, cuGraphExecGetFlags, 12000, 0, NO, (CUgraphExec exec, cuuint64_t *flags), (exec, flags)) \
    X(cuGraphUpload, cuGraphUpload, 11010, 0, PTSZ, (CUgraphExec exec, CUstream stream), (exec, stream)) \
    X(cuGraphLaunch, cuGraphLaunch, 10000, 0, PTSZ, (CUgraphExec exec, CUstream stream), (exec, stream)) \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, 0, NO, (CUgraphExec exec), (exec)) \
    X(cuGraphExecUpdate, cuGraphExecUpdate, 10020, 0, NO, (CUgraphExec exec, CUgraph graph, CUgraphNode *bad, int *result), (exec, graph, bad, result)) \
    X(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, 0, NO, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info), (exec, graph, info)) \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, 0, NO, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params), (exec, node, params)) \
    X(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, 12000, 0, NO, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params), (exec, node, params)) \
    X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020, 0, NO, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params), (exec, node, params)) \
    X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, 0, NO, (CUgraphExec exec, CUgraphNode node, unsigned int enabled), (exec, node, enabled)) \
    X(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled, 11060, 0, NO, (CUgraphExec exec, CUgraphNode node, unsigned int *enabled), (exec, node, enabled)) \
    X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, 0, NO, (CUdevice dev), (dev)) \
    X(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, 11040, 0, NO, (CUdevice dev, int attribute, void *value), (dev, attribute, value)) \
    X(cuDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute, 11040, 0, NO, (CUdevice dev, int attribute, void *value), (dev, attribute, value)) \
    /* more of graphs */ \
    X(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes, 10000, 0, NO, (CUgraphNode node, CUgraphNode *nodes, size_t *count), (node, nodes, count)) \
    X(cuGraphNodeFindInClone, cuGraphNodeFindInClone, 10000, 0, NO, (CUgraphNode *node, CUgraphNode original, CUgraph clone), (node, original, clone)) \
    X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020, 0, NO, (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params), (exec, node, params)) \
    X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020, 0, NO, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext ctx), (exec, node, copy, ctx)) \
    X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020, 0, NO, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx), (exec, node, params, ctx))
// clang-format on

#endif
