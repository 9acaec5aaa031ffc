// SPDX-License-Identifier: Apache-2.0
//
// Every way to take device memory, each until it is refused: how much the GPU says
// that this process has then.
#define _GNU_SOURCE
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 100000 };

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gi, ci;
};

static uint64_t used_bytes(void) {
    void *device;
    struct process list[64];
    unsigned count = 64;
    MUST(nvmlInit_v2, );
    MUST(nvmlDeviceGetHandleByIndex_v2, 0, &device);
    MUST(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, list);
    for (unsigned i = 0; i < count; i++)
        if (list[i].pid == (unsigned)getpid()) return list[i].used;
    return 0;
}

static int plain(void) {
    CUdeviceptr p;
    return CALL(cuMemAlloc_v2, &p, 3 * MIB);
}

static int small(void) {
    CUdeviceptr p;
    return CALL(cuMemAlloc_v2, &p, (size_t)70000);
}

static int pitched(void) {
    CUdeviceptr p;
    size_t pitch;
    return CALL(cuMemAllocPitch_v2, &p, &pitch, (size_t)10000, (size_t)700, 4);
}

static int managed(void) {
    CUdeviceptr p;
    return CALL(cuMemAllocManaged, &p, 7 * MIB, 1);
}

static int stream(void) {
    CUdeviceptr p;
    return CALL(cuMemAllocAsync, &p, 7 * MIB, NULL);
}

static CUmemPoolProps pool_props = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static int pool(void) {
    CUdeviceptr p;
    CUmemoryPool created;
    int r = CALL(cuMemPoolCreate, &created, &pool_props);
    return r ? r : CALL(cuMemAllocFromPoolAsync, &p, 9 * MIB, created, NULL);
}

static int array(void) {
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = {2000, 3000, 0x20, 1};
    return CALL(cuArrayCreate_v2, &a, &d);
}

static int array3d(void) {
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR d = {500, 500, 8, 0x10, 2, 0};
    return CALL(cuArray3DCreate_v2, &a, &d);
}

static int mipmap(void) {
    CUmipmappedArray a;
    CUDA_ARRAY3D_DESCRIPTOR d = {500, 500, 8, 0x10, 2, 0};
    return CALL(cuMipmappedArrayCreate, &a, &d, 4);
}

static int physical(void) {
    uint64_t handle;
    CUmemAllocationProp prop = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    return CALL(cuMemCreate, &handle, 10 * MIB, &prop, 0ULL);
}

static int context(void) {
    CUcontext c;
    return CALL(cuCtxCreate_v2, &c, 0, 0);
}

// in_context takes small memory in contexts of their own: a slab each.
static int in_context(void) {
    int r = context();
    return r ? r : small();
}

// graph launches a new graph that allocates and does not free.
static int graph(void) {
    CUgraph g;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = pool_props, .bytesize = 30 * MIB};
    int r = CALL(cuGraphCreate, &g, 0);
    if (!r) r = CALL(cuGraphAddMemAllocNode, &node, g, NULL, (size_t)0, &params);
    if (!r) r = CALL(cuGraphInstantiateWithFlags, &exec, g, 0ULL);
    if (!r) r = CALL(cuGraphLaunch, exec, NULL);
    return r ? r : CALL(cuCtxSynchronize, );
}

static const struct {
    const char *name;
    int (*take)(void);
} ways[] = {
    {"plain", plain},     {"small", small},       {"pitched", pitched},   {"managed", managed}, {"stream", stream},
    {"pool", pool},       {"array", array},       {"array3d", array3d},   {"mipmap", mipmap},   {"physical", physical},
    {"context", context}, {"in_context", in_context}, {"graph", graph},
};

// all goes round all ways, each until it is refused.
static int all(void) {
    int r = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int n = 0; n < MOST && (r = ways[i].take()) == 0; n++) {}
    return r;
}

// overrun prints what the GPU holds for this process at the end, how often memory
// was had, and the result that ended it. Without a WAY it prints their names.
void overrun(const char *way) {
    int (*take)(void) = strcmp(way, "all") == 0 ? all : NULL;
    int n = 0, r = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!*way) printf("%s\n", ways[i].name);
        if (strcmp(way, ways[i].name) == 0) take = ways[i].take;
    }
    if (!*way) return;
    if (!take) exit(2);
    start();
    while (n < MOST && (r = take()) == 0) n++;
    printf("%lu %d %d\n", (unsigned long)used_bytes(), n, r);
}
