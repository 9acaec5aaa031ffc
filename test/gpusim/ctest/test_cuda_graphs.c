// SPDX-License-Identifier: Apache-2.0
//
// Graphs do the work of their nodes, and hold the memory of their allocations
// until it is trimmed.
#include "cuda.h"

static float time_of(CUgraphExec exec, int launches) {
    CUstream s;
    CUevent a, b;
    float ms = -1;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&a, 0));
    OK(cuEventCreate(&b, 0));
    OK(cuEventRecord(a, s));
    for (int i = 0; i < launches; i++) OK(cuGraphLaunch(exec, s));
    OK(cuEventRecord(b, s));
    OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&ms, a, b));
    OK(cuEventDestroy_v2(a));
    OK(cuEventDestroy_v2(b));
    OK(cuStreamDestroy_v2(s));
    return ms;
}

static CUDA_KERNEL_NODE_PARAMS kernel_of(uint64_t *us, void **params) {
    params[0] = us;
    return (CUDA_KERNEL_NODE_PARAMS){.func = busy_kernel(), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                     .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
}

static void build(void) {
    CUgraph g, child;
    CUgraphNode a, b, c, nodes[4];
    CUgraphExec exec;
    uint64_t us = 2000;
    void *params[1];
    CUDA_KERNEL_NODE_PARAMS k = kernel_of(&us, params);
    size_t count = 4;
    OK(cuGraphCreate(&child, 0));
    OK(cuGraphAddKernelNode_v2(&a, child, NULL, 0, &k));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&a, g, NULL, 0, &k));
    OK(cuGraphAddKernelNode_v2(&b, g, &a, 1, &k));
    OK(cuGraphAddChildGraphNode(&c, g, &b, 1, child));
    OK(cuGraphDestroy(child));
    OK(cuGraphGetRootNodes(g, nodes, &count));
    CHECK(count == 1 && nodes[0] == a);
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    float before = time_of(exec, 2);
    CHECK(before >= 11.9f, "%f", (double)before);
    us = 10000; // parameters are read when they are set
    OK(cuGraphExecKernelNodeSetParams_v2(exec, a, &k));
    CHECK(time_of(exec, 1) >= 13.9f);
    OK(cuGraphNodeSetEnabled(exec, a, 0));
    OK(cuGraphAddDependencies(g, &c, &a, 1));
    CUgraphExec cyclic;
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&cyclic, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuGraphExecDestroy(exec));
}

static void update(void) {
    CUgraph g, other;
    CUgraphNode a;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    uint64_t us = 100;
    void *params[1];
    CUDA_KERNEL_NODE_PARAMS k = kernel_of(&us, params);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode_v2(&a, g, NULL, 0, &k));
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphCreate(&other, 0));
    us = 5000;
    OK(cuGraphAddKernelNode_v2(&a, other, NULL, 0, &k));
    OK(cuGraphExecUpdate_v2(exec, other, &info));
    CHECK(time_of(exec, 1) >= 4.9f);
    OK(cuGraphAddEmptyNode(&a, other, NULL, 0));
    IS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, other, &info));
    CHECK(info.result != 0);
    OK(cuGraphDestroy(g));
    OK(cuGraphDestroy(other));
    OK(cuGraphExecDestroy(exec));
}

static uint64_t reserved_mib(void) {
    cuuint64_t bytes = 0;
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes >> 20;
}

static CUgraphExec capture(CUdeviceptr *kept) {
    CUstream s;
    CUgraph g;
    CUgraphExec exec = NULL;
    CUdeviceptr p;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(s, 2));
    OK(cuMemAllocAsync(&p, MIB(100), s));
    launch_us(s, 100);
    OK(cuMemFreeAsync(p, s));
    if (kept) OK(cuMemAllocAsync(kept, MIB(30), s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphInstantiateWithFlags(&exec, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
    return exec;
}

static void memory(void) {
    uint64_t before = used_mib();
    CUdeviceptr kept;
    CUgraphExec exec = capture(NULL);
    CHECK(used_mib() == before, "instantiation reserves nothing");
    time_of(exec, 3);
    CHECK(used_mib() - before == reserved_mib() && reserved_mib() >= 100 && reserved_mib() < 160);
    OK(cuDeviceGraphMemTrim(0));
    CHECK(reserved_mib() >= 100, "an executable graph keeps its memory");
    OK(cuGraphExecDestroy(exec));
    CHECK(used_mib() > before, "reserved until it is trimmed");
    OK(cuDeviceGraphMemTrim(0));
    CHECK(used_mib() == before && reserved_mib() == 0);

    exec = capture(&kept);
    time_of(exec, 1);
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, NULL)); // what it gave out is not freed
    OK(cuMemFree_v2(kept));
    time_of(exec, 1);
    OK(cuMemFreeAsync(kept, NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuDeviceGraphMemTrim(0));
    CHECK(used_mib() == before);
}

void test_cuda_graphs(void) {
    build();
    update();
    memory();
}
