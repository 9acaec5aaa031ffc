// SPDX-License-Identifier: Apache-2.0
//
// What every way of allocating costs, exactly, and that it comes back.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients.h"
#include "cuda.h"
#include "process.h"

static void granules(void) {
    static const struct {
        uint64_t bytes, costs_mib;
    } cases[] = {{1, 2}, {MIB(1) - 1, 2}, {MIB(1), 2}, {MIB(2), 2}, {MIB(2) + 1, 4}, {MIB(1000) + 1, 1002}};
    uint64_t before = used_mib();
    CUdeviceptr p;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(cuMemAlloc_v2(&p, cases[i].bytes));
        CHECK(used_mib() - before == cases[i].costs_mib, "%zu", i);
        OK(cuMemFree_v2(p));
        CHECK(used_mib() == before, "%zu", i);
    }
}

// Small allocations share a granule until it is full.
static void slabs(void) {
    enum { EACH = 4096, COUNT = 512 };
    CUdeviceptr p[COUNT], one_more;
    uint64_t before = used_mib();
    for (int i = 0; i < COUNT; i++) {
        OK(cuMemAlloc_v2(&p[i], EACH - 511));
        CHECK(p[i] % 512 == 0);
    }
    CHECK(used_mib() - before == 2);
    OK(cuMemAlloc_v2(&one_more, 1));
    CHECK(used_mib() - before == 4);
    for (int i = 1; i < COUNT; i++) OK(cuMemFree_v2(p[i]));
    CHECK(used_mib() - before == 4, "a granule goes back when nothing in it is used");
    OK(cuMemFree_v2(p[0]));
    OK(cuMemFree_v2(one_more));
    CHECK(used_mib() == before);
}

static void full(void) {
    size_t free_bytes, total;
    CUdeviceptr big, p;
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&big, free_bytes + 1));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&big, SIZE_MAX));
    OK(cuMemAlloc_v2(&big, free_bytes / MIB(2) * MIB(2)));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p, 1));
    CUcontext ctx;
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuCtxCreate_v2(&ctx, 0, 0));
    OK(cuMemFree_v2(big));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&p, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(big));
}

static void arrays(void) {
    CUarray a;
    CUmipmappedArray m;
    size_t pitch;
    CUdeviceptr p;
    uint64_t before = used_mib();
    CUDA_ARRAY_DESCRIPTOR d = {4096, 4096, 0x20, 4}; // 16 bytes a texel
    OK(cuArrayCreate_v2(&a, &d));
    CHECK(used_mib() - before == 256);
    OK(cuArrayDestroy(a));
    CUDA_ARRAY3D_DESCRIPTOR d3 = {.Width = 4096, .Height = 4096, .Format = 0x20, .NumChannels = 4};
    OK(cuMipmappedArrayCreate(&m, &d3, 2));
    CHECK(used_mib() - before == 256 + 64);
    OK(cuMipmappedArrayDestroy(m));
    OK(cuMemAllocPitch_v2(&p, &pitch, 513, 4096, 4));
    CHECK(pitch == 1024 && used_mib() - before == 4);
    OK(cuMemFree_v2(p));
    CHECK(used_mib() == before);
}

// Physical memory counts from creation until its last reference is gone.
static void virtual_memory(void) {
    CUmemGenericAllocationHandle h, again, imported;
    CUmemAllocationProp prop = {.type = 1, .requestedHandleTypes = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUdeviceptr va;
    int fd;
    uint64_t before = used_mib();
    IS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, MIB(1), &prop, 0));
    OK(cuMemCreate(&h, MIB(64), &prop, 0));
    CHECK(used_mib() - before == 64);
    OK(cuMemAddressReserve(&va, MIB(128), 0, 0, 0));
    OK(cuMemMap(va + MIB(32), MIB(64), 0, h, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(va, MIB(64), 0, h, 0)); // over the first
    OK(cuMemRelease(h));
    CHECK(used_mib() - before == 64, "mapped memory is in use");
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(va + MIB(40))));
    OK(cuMemExportToShareableHandle(&fd, again, 1, 0));
    OK(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd, 1));
    close(fd);
    OK(cuMemRelease(imported));
    OK(cuMemUnmap(va + MIB(32), MIB(64)));
    CHECK(used_mib() - before == 64, "a retained handle is a reference");
    OK(cuMemRelease(again));
    CHECK(used_mib() == before);
    OK(cuMemAddressFree(va, MIB(128)));
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    OK(cuMemCreate(&h, MIB(64), &prop, 0));
    CHECK(used_mib() == before, "host memory costs no device memory");
    OK(cuMemRelease(h));
}

static void managed_and_host(void) {
    CUdeviceptr p;
    void *host;
    uint64_t before = used_mib();
    OK(cuMemAllocManaged(&p, MIB(10), CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)p, 1, MIB(10));
    CHECK(used_mib() == before);
    OK(cuMemPrefetchAsync(p, MIB(10), 0, NULL));
    OK(cuCtxSynchronize());
    CHECK(used_mib() - before == 10);
    OK(cuMemPrefetchAsync(p, MIB(10), -1, NULL));
    CHECK(used_mib() == before);
    OK(cuMemPrefetchAsync(p, MIB(10), 0, NULL));
    OK(cuMemFree_v2(p));
    OK(cuMemHostAlloc(&host, MIB(1), 0));
    memset(host, 1, MIB(1));
    CHECK(used_mib() == before);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2((uintptr_t)host));
    OK(cuMemFreeHost(host));
}

// What a checkpoint takes from the device comes back with the restore.
static void checkpoint(void) {
    CUdeviceptr p;
    int state, pid = getpid();
    struct gs_machine m = {0};
    char why[1024];
    OK(cuMemAlloc_v2(&p, MIB(100)));
    uint64_t before = used_mib();
    CHECK(gs_machine_open(&m, getenv("GPUSIM_DIR"), why, sizeof why) == GS_OPEN_OK);
    IS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessCheckpoint(pid, NULL));
    OK(cuCheckpointProcessLock(pid, NULL));
    IS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessLock(pid, NULL));
    OK(cuCheckpointProcessCheckpoint(pid, NULL));
    uint64_t held = 0;
    for (int i = 0; i < GS_MAX_PROCESSES; i++) held += m.s->gpu[0].v.process[i].used * m.s->gpu[0].v.process[i].memory;
    CHECK(held == 0);
    OK(cuCheckpointProcessGetState(pid, &state));
    CHECK(state == 2);
    IS(CUDA_ERROR_ILLEGAL_STATE, cuCheckpointProcessUnlock(pid, NULL));
    OK(cuCheckpointProcessRestore(pid, NULL));
    OK(cuCheckpointProcessUnlock(pid, NULL));
    CHECK(used_mib() == before);
    gs_machine_close(&m);
    OK(cuMemFree_v2(p));
}

// hold_and_die is a process that has so much of device 0 and ends without a word.
static void hold_and_die(struct gs_machine *m, uint64_t bytes) {
    gs_lock(m);
    struct gs_process p = {.pid = (uint32_t)getpid(), .gi = GS_NONE, .ci = GS_NONE, .memory = bytes};
    p.client = (uint32_t)gs_client_attach(m) + 1;
    nvmlReturn_t r = p.client ? gs_process_add(&m->s->gpu[0], &p) : NVML_ERROR_UNKNOWN;
    gs_unlock(m);
    _exit(r == NVML_SUCCESS ? 0 : 1);
}

// Who is restored finds the room of those that died meanwhile.
static void restore_beside_the_dead(void) {
    CUdeviceptr p;
    int status, pid = getpid();
    struct gs_machine m = {0};
    char why[1024];
    size_t left = 0, total = 0;
    OK(cuMemAlloc_v2(&p, MIB(100)));
    OK(cuMemGetInfo_v2(&left, &total));
    CHECK(gs_machine_open(&m, getenv("GPUSIM_DIR"), why, sizeof why) == GS_OPEN_OK);
    OK(cuCheckpointProcessLock(pid, NULL));
    OK(cuCheckpointProcessCheckpoint(pid, NULL));
    pid_t child = fork();
    if (child == 0) hold_and_die(&m, left + MIB(50));
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CUresult restored = cuCheckpointProcessRestore(pid, NULL);
    CHECK(restored == CUDA_SUCCESS, "but %d", (int)restored);
    gs_lock(&m);
    gs_clients_reap(&m);
    gs_unlock(&m);
    if (restored != CUDA_SUCCESS) OK(cuCheckpointProcessRestore(pid, NULL)); // or every call would wait for it
    OK(cuCheckpointProcessUnlock(pid, NULL));
    gs_machine_close(&m);
    OK(cuMemFree_v2(p));
}

void test_cuda_memory(void) {
    granules();
    slabs();
    full();
    arrays();
    virtual_memory();
    managed_and_host();
    checkpoint();
    restore_beside_the_dead();
}
