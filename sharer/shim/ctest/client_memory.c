// SPDX-License-Identifier: Apache-2.0
//
// Every way of taking device memory: the ledger holds at least what the GPU says
// that the process holds, and nothing is left when all is freed.
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

static uint64_t held(void) {
    struct aipub_slot *s = my_slot();
    return s->committed_bytes + s->overhead_bytes;
}

// covered checks the ledger against the GPU; what names the step.
static void covered(const char *what) {
    uint64_t real = used_bytes(), ours = held();
    CHECK(ours >= real, "after %s: ledger %lu MiB, GPU %lu MiB", what, (unsigned long)(ours / MIB),
          (unsigned long)(real / MIB));
    CHECK(my_slot()->pending_bytes == 0, "after %s", what);
}

static uint64_t committed(void) {
    return my_slot()->committed_bytes;
}

static void plain(void) {
    CUdeviceptr p[40], q, r;
    size_t pitch;
    uint64_t before = committed();
    OK(cuMemAlloc_v2, &q, 3 * MIB);
    CHECK(committed() == before + 4 * MIB, "in granules of 2 MiB");
    for (int i = 0; i < 40; i++) OK(cuMemAlloc_v2, &p[i], 100000);
    covered("small allocations");
    CHECK(committed() == before + 8 * MIB, "40 of 100000 bytes fit into two slabs");
    OK(cuMemAllocPitch_v2, &r, &pitch, 1000, 5000, 4);
    covered("a pitched allocation");
    for (int i = 0; i < 40; i++) OK(cuMemFree_v2, p[i]);
    OK(cuMemFree_v2, q);
    OK(cuMemFree_v2, r);
    CHECK(committed() == before, "but %lu more", (unsigned long)(committed() - before));
    OK(cuMemAllocManaged, &q, 8 * MIB, 1);
    CHECK(my_slot()->managed_bytes == 8 * MIB);
    OK(cuMemFree_v2, q);
    CHECK(my_slot()->managed_bytes == 0 && committed() == before);
}

static void arrays(void) {
    uint64_t before = committed();
    CUarray a, b;
    CUmipmappedArray m;
    CUDA_ARRAY_DESCRIPTOR d = {1000, 3000, 0x20, 4};
    CUDA_ARRAY3D_DESCRIPTOR e = {500, 500, 8, 0x10, 2, 0};
    OK(cuArrayCreate_v2, &a, &d);
    OK(cuArray3DCreate_v2, &b, &e);
    covered("arrays");
    OK(cuMipmappedArrayCreate, &m, &e, 4);
    covered("a mipmapped array");
    OK(cuArrayDestroy, a);
    OK(cuArrayDestroy, b);
    OK(cuMipmappedArrayDestroy, m);
    CHECK(committed() == before);
}

static void pools(void) {
    uint64_t before = committed();
    CUdeviceptr p, q;
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    OK(cuMemAllocAsync, &p, 50 * MIB, NULL);
    covered("an allocation in the stream's order");
    OK(cuMemPoolCreate, &pool, &props);
    OK(cuMemAllocFromPoolAsync, &q, 10 * MIB, pool, NULL);
    covered("an allocation from a pool");
    OK(cuMemFreeAsync, p, NULL);
    OK(cuMemFreeAsync, q, NULL);
    OK(cuCtxSynchronize, );
    CUmemoryPool standard;
    OK(cuDeviceGetDefaultMemPool, &standard, 0);
    OK(cuMemPoolTrimTo, standard, (size_t)0);
    OK(cuMemPoolTrimTo, pool, (size_t)0);
    covered("a trim");
    OK(cuMemPoolDestroy, pool);
    CHECK(committed() == before, "but %lu more", (unsigned long)(committed() - before));
}

static void physical(void) {
    uint64_t before = committed(), handle, again;
    CUdeviceptr range;
    CUmemAllocationProp prop = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    OK(cuMemCreate, &handle, 4 * MIB, &prop, 0ULL);
    covered("physical memory");
    CHECK(committed() == before + 4 * MIB);
    OK(cuMemAddressReserve, &range, 4 * MIB, (size_t)0, 0ULL, 0ULL);
    OK(cuMemMap, range, 4 * MIB, (size_t)0, handle, 0ULL);
    OK(cuMemRetainAllocationHandle, &again, (void *)(uintptr_t)range);
    OK(cuMemRelease, handle);
    OK(cuMemRelease, again);
    CHECK(committed() == before + 4 * MIB, "a mapping keeps it");
    covered("released handles");
    OK(cuMemUnmap, range, 4 * MIB);
    CHECK(committed() == before);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
    if (CALL(cuMemCreate, &handle, 4 * MIB, &prop, 0ULL) == 0) {
        CHECK(committed() == before, "memory of the host is not the GPU's");
        OK(cuMemRelease, handle);
    }
}

static void host(void) {
    void *p;
    OK(cuMemHostAlloc, &p, 5 * MIB, 0);
    CHECK(my_slot()->host_bytes == 5 * MIB);
    OK(cuMemFreeHost, p);
    CHECK(my_slot()->host_bytes == 0);
}

static void contexts(void) {
    uint64_t before = my_slot()->overhead_bytes, was = committed();
    CUcontext c, old;
    CUdeviceptr p;
    OK(cuCtxCreate_v2, &c, 0, 0);
    covered("one more context");
    CHECK(my_slot()->overhead_bytes == before + 400 * MIB);
    OK(cuMemAlloc_v2, &p, 20 * MIB);
    OK(cuMemAlloc_v2, &p, (size_t)1000);
    OK(cuCtxPopCurrent_v2, &old);
    OK(cuCtxDestroy_v2, c);
    CHECK(my_slot()->overhead_bytes == before, "a context's memory goes with it");
    CHECK(committed() == was, "and what was allocated in it: %lu left", (unsigned long)(committed() - was));
}

static void graphs(void) {
    uint64_t before = committed();
    CUgraph graph;
    CUgraphNode alloc, gone;
    CUgraphExec exec;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytesize = 30 * MIB};
    OK(cuGraphCreate, &graph, 0);
    OK(cuGraphAddMemAllocNode, &alloc, graph, NULL, (size_t)0, &params);
    OK(cuGraphAddMemFreeNode, &gone, graph, &alloc, (size_t)1, params.dptr);
    OK(cuGraphInstantiateWithFlags, &exec, graph, 0ULL);
    OK(cuGraphLaunch, exec, NULL);
    OK(cuCtxSynchronize, );
    covered("a graph that allocates");
    CHECK(committed() > before);
    OK(cuGraphLaunch, exec, NULL);
    OK(cuCtxSynchronize, );
    OK(cuGraphExecDestroy, exec);
    OK(cuDeviceGraphMemTrim, 0);
    CHECK(committed() == before, "but %lu more", (unsigned long)(committed() - before));
}

void client_memory(void) {
    start();
    covered("the primary context");
    plain();
    arrays();
    pools();
    physical();
    host();
    contexts();
    graphs();
    OK(cuDevicePrimaryCtxRelease_v2, 0);
    CHECK(my_slot()->committed_bytes == 0 && my_slot()->overhead_bytes == 0, "all is given back");
}

// fill allocates until it is refused and returns how often it was not.
#define FILL(limit, call)                                                                                              \
    ({                                                                                                                 \
        int n = 0, r = 0;                                                                                              \
        while (n < limit && (r = call) == 0) n++;                                                                      \
        CHECK(n < limit && r == CUDA_ERROR_OUT_OF_MEMORY, "but %d after %d", r, n);                                     \
        n;                                                                                                             \
    })

// within checks that neither the ledger nor the GPU is above the slice's 1 GiB.
static void within(const char *what) {
    CHECK(held() <= 1024 * MIB && used_bytes() <= 1024 * MIB, "after %s: ledger %lu, GPU %lu MiB", what,
          (unsigned long)(held() / MIB), (unsigned long)(used_bytes() / MIB));
    covered(what);
}

void client_limits(void) {
    static CUdeviceptr p[4096];
    size_t available, total, pitch;
    CUcontext c;
    uint64_t handle;
    start();
    OK(cuMemGetInfo_v2, &available, &total);
    CHECK(total == 1024 * MIB && available == total - held(), "total %zu, free %zu", total, available);
    OK(cuDeviceTotalMem_v2, &total, 0);
    CHECK(total == 1024 * MIB);

    CHECK(FILL(4096, CALL(cuMemAllocAsync, &p[n], 7 * MIB, NULL)) > 50);
    within("pools");
    OK(cuDevicePrimaryCtxReset_v2, 0);
    start();
    CHECK(FILL(4096, CALL(cuMemAllocPitch_v2, &p[n], &pitch, (size_t)10000, (size_t)700, 4)) > 50);
    within("pitched");
    OK(cuDevicePrimaryCtxReset_v2, 0);
    start();
    CUDA_ARRAY_DESCRIPTOR d = {2000, 3000, 0x20, 1};
    CUarray a;
    CHECK(FILL(4096, CALL(cuArrayCreate_v2, &a, &d)) > 20);
    within("arrays");
    OK(cuDevicePrimaryCtxReset_v2, 0);
    start();
    CUmemAllocationProp prop = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CHECK(FILL(4096, CALL(cuMemCreate, &handle, 10 * MIB, &prop, 0ULL)) > 50);
    within("physical memory");
    OK(cuDevicePrimaryCtxReset_v2, 0);
    start();
    CHECK(FILL(4096, CALL(cuMemAllocManaged, &p[n], 10 * MIB, 1)) == 0 || true);
    within("managed");
    OK(cuDevicePrimaryCtxReset_v2, 0);
    start();
    CHECK(FILL(5, CALL(cuCtxCreate_v2, &c, 0, 0)) <= 1, "contexts of 400 MiB");
    within("contexts");
    CHECK(my_slot()->refused > 0);
}

// Two slices of one GPU, 600 MiB each: the context takes 400 of one, and what does
// not fit beside it comes from the other.
void client_twice(void) {
    CUdeviceptr large, small, more;
    size_t available, total;
    start();
    OK(cuMemGetInfo_v2, &available, &total);
    CHECK(total == 1200 * MIB && available == 800 * MIB, "total %zu, free %zu", total, available);
    OK(cuMemAlloc_v2, &large, 500 * MIB);
    OK(cuMemAlloc_v2, &small, 150 * MIB);
    CHECK(CALL(cuMemAlloc_v2, &more, 150 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree_v2, large);
    OK(cuMemAlloc_v2, &more, 600 * MIB);
    OK(cuMemFree_v2, more);
    OK(cuMemFree_v2, small);
    OK(cuMemGetInfo_v2, &available, &total);
    CHECK(available == 800 * MIB, "free %zu", available);
}

void client_nulls(void) {
    static void *const none = NULL;
    start();
    CHECK(CALL(cuMemAlloc_v2, NULL, MIB) == 1);
    CHECK(CALL(cuMemAlloc_v2, none, (size_t)0) == 1);
    CHECK(CALL(cuMemAlloc_v2, none, (size_t)1 << 60) == 1, "the argument's error comes before ours");
    CHECK(CALL(cuMemAllocManaged, NULL, MIB, 1) == 1);
    CHECK(CALL(cuMemAllocPitch_v2, NULL, NULL, MIB, MIB, 4) == 1);
    CHECK(CALL(cuArrayCreate_v2, NULL, NULL) != 0);
    CHECK(CALL(cuArray3DCreate_v2, NULL, NULL) != 0);
    CHECK(CALL(cuMipmappedArrayCreate, NULL, NULL, 1) != 0);
    CHECK(CALL(cuMemAllocAsync, NULL, MIB, NULL) != 0);
    CHECK(CALL(cuMemCreate, NULL, MIB, NULL, 0ULL) != 0);
    CHECK(CALL(cuCtxCreate_v2, NULL, 0, 0) != 0);
    CHECK(CALL(cuDevicePrimaryCtxRetain, NULL, 0) != 0);
    CHECK(CALL(cuLaunchKernelEx, NULL, NULL, NULL, NULL) != 0);
    CHECK(CALL(cuGetProcAddress_v2, NULL, NULL, 12000, (uint64_t)0, NULL) != 0);
    OK(cuMemGetInfo_v2, &(size_t){0}, &(size_t){0});
    CHECK(CALL(cuMemFree_v2, (CUdeviceptr)0x1234) != 0, "a free of what is unknown is the driver's business");
    CHECK(my_slot()->pending_bytes == 0 && my_slot()->committed_bytes == 0);
}
