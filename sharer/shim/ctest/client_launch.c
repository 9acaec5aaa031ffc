// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static CUgraphExec graph_of(CUfunction f, uint64_t us) {
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    OK(cuStreamCreate, &stream, 1);
    OK(cuStreamBeginCapture_v2, stream, 2);
    CHECK(launch(f, stream, us) == 0);
    OK(cuStreamEndCapture, stream, &graph);
    OK(cuGraphInstantiateWithFlags, &exec, graph, 0ULL);
    return exec;
}

// legacy launches as before CUDA 4: shape and parameters are the function's.
static int legacy(const char *how, CUfunction f, CUstream stream, uint64_t us) {
    OK(cuFuncSetBlockShape, f, 1, 1, 1);
    OK(cuParamSetv, f, 0, &us, sizeof us);
    OK(cuParamSetSize, f, (unsigned)sizeof us);
    if (strcmp(how, "legacy") == 0) return CALL(cuLaunch, f);
    if (strcmp(how, "legacy-grid") == 0) return CALL(cuLaunchGrid, f, 2, 2);
    return CALL(cuLaunchGridAsync, f, 2, 2, stream);
}

// issue launches once in the way that is named.
static int issue(const char *how, CUfunction f, CUstream stream, CUgraphExec exec, uint64_t us) {
    void *params[] = {&us};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, NULL, 0};
    if (strcmp(how, "ex") == 0) return CALL(cuLaunchKernelEx, &config, f, params, NULL);
    if (strcmp(how, "coop") == 0) return CALL(cuLaunchCooperativeKernel, f, 1, 1, 1, 1, 1, 1, 0, stream, params);
    if (strcmp(how, "graph") == 0) return CALL(cuGraphLaunch, exec, stream);
    if (strncmp(how, "legacy", 6) == 0) return legacy(how, f, stream, us);
    if (strcmp(how, "multi") == 0) {
        CUDA_LAUNCH_PARAMS one = {f, 1, 1, 1, 1, 1, 1, 0, stream, params};
        return CALL(cuLaunchCooperativeKernelMultiDevice, &one, 1, 0);
    }
    if (strcmp(how, "ptsz") == 0) return CALL(cuLaunchKernel_ptsz, f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    return launch(f, stream, us);
}

// launch HOW COUNT US: prints for how long it ran.
void client_launch(int argc, char **argv) {
    const char *how = argc > 0 ? argv[0] : "plain";
    int count = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t us = argc > 2 ? (uint64_t)atoi(argv[2]) : 100, begin;
    CUstream stream;
    start();
    CUfunction f = kernel("busy");
    CUgraphExec exec = strcmp(how, "graph") == 0 ? graph_of(f, us) : NULL;
    OK(cuStreamCreate, &stream, 1);
    begin = now_ns();
    for (int i = 0; i < count; i++) {
        int result = issue(how, f, stream, exec, us);
        CHECK(result == 0, "launch %d: %d", i, result);
        if (result) return;
    }
    OK(cuCtxSynchronize, );
    printf("%s: %d launches of %lu us in %lu us\n", how, count, (unsigned long)us, (unsigned long)((now_ns() - begin) / 1000));
    if (getenv("LINGER")) usleep((unsigned)atoi(getenv("LINGER")) * 1000);
}

// A capture that contains launches, allocations, copies and a second stream comes
// out whole, and its launches are not held back: there is no lease.
void client_capture(void) {
    CUstream a, b;
    CUevent fork_at, join_at;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr p, q;
    size_t nodes = 0;
    start();
    CUfunction f = kernel("busy");
    OK(cuStreamCreate, &a, 1);
    OK(cuStreamCreate, &b, 1);
    OK(cuEventCreate, &fork_at, 2);
    OK(cuEventCreate, &join_at, 2);
    OK(cuMemAlloc_v2, &p, 4 * MIB);
    for (int mode = 0; mode < 3; mode++) {
        OK(cuStreamBeginCapture_v2, a, mode);
        CHECK(launch(f, a, 100) == 0);
        OK(cuEventRecord, fork_at, a);
        OK(cuStreamWaitEvent, b, fork_at, 0);
        CHECK(launch(f, b, 100) == 0);
        OK(cuMemsetD8Async, p, 1, 2 * MIB, b);
        OK(cuEventRecord, join_at, b);
        OK(cuStreamWaitEvent, a, join_at, 0);
        OK(cuMemAllocAsync, &q, 4 * MIB, a);
        OK(cuMemFreeAsync, q, a);
        OK(cuStreamEndCapture, a, &graph);
        OK(cuGraphGetNodes, graph, NULL, &nodes);
        CHECK(nodes == 5, "but %zu", nodes);
    }
    CHECK(my_slot()->waits == 0, "nothing that is captured waits");
    OK(cuGraphInstantiateWithFlags, &exec, graph, 0ULL);
    OK(cuGraphLaunch, exec, a);
    OK(cuCtxSynchronize, );
    CHECK(my_slot()->waits == 1, "the launch did");
}

// A child that CUDA is of no use to leaves its parent's slot alone, and one that
// calls exec has a slot of its own.
void client_fork(void) {
    CUdeviceptr p;
    start();
    OK(cuMemAlloc_v2, &p, 4 * MIB);
    uint64_t held = my_slot()->committed_bytes;
    pid_t child = fork();
    if (child == 0) {
        int refused = CALL(cuMemFree_v2, p) != 0;
        if (refused) execl("/proc/self/exe", "client", "memory", (char *)NULL);
        _exit(9);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
    CHECK(my_slot()->committed_bytes == held);
    OK(cuMemFree_v2, p);
    CHECK(my_slot()->committed_bytes == 0);
}

// used is the thread's own time: other programs of the machine are not in it.
static uint64_t used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double measure(CUfunction f, int n, int (*go)()) {
    uint64_t begin = used();
    for (int i = 0; i < n; i++) go(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return (double)(used() - begin) / n;
}

// bench prints what a launch costs on a driver that does nothing.
void client_bench(void) {
    enum { N = 2000000 };
    CUdeviceptr p;
    start();
    CUfunction f = kernel("noop");
    int (*go)() = look_up("cuLaunchKernel");
    int (*get)() = look_up("cuMemAlloc_v2");
    int (*put)() = look_up("cuMemFree_v2");
    double best = 1e9, alloc = 1e9;
    measure(f, N / 10, go);
    for (int i = 0; i < 7; i++) {
        double ns = measure(f, N, go);
        if (ns < best) best = ns;
        uint64_t begin = used();
        for (int k = 0; k < N / 20; k++) {
            get(&p, 2 * MIB);
            put(p);
        }
        ns = (double)(used() - begin) / (N / 20);
        if (ns < alloc) alloc = ns;
    }
    printf("launch %.1f ns, alloc + free %.1f ns, of CPU time\n", best, alloc);
}

// Two GPUs of which one is shared: what runs on the other one does not wait, and a
// thread may go from one to the other as it likes.
void client_two(void) {
    CUcontext own, other;
    CUfunction f[2];
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &own, 0);
    OK(cuDevicePrimaryCtxRetain, &other, 1);
    for (int i = 0; i < 2; i++) {
        CUmodule module;
        OK(cuCtxSetCurrent, i ? other : own);
        OK(cuModuleLoadData, &module, "gpusim-module 1\nkernel busy us=param0\n");
        OK(cuModuleGetFunction, &f[i], module, "busy");
    }
    for (int i = 0; i < 10; i++) CHECK(launch(f[1], NULL, 100) == 0);
    CHECK(my_slot()->launches == 0 && my_slot()->waits == 0);
    for (int i = 0; i < 20; i++) {
        OK(cuCtxSetCurrent, i % 2 ? other : own);
        CHECK(launch(f[i % 2], NULL, 100) == 0);
    }
    OK(cuCtxSetCurrent, own);
    OK(cuCtxSynchronize, );
    usleep(300000);
    CHECK(my_slot()->launches == 10 && my_slot()->waits == 1, "but %lu launches", (unsigned long)my_slot()->launches);
}

// One launch on both GPUs, which are named the other way round.
void client_multi(void) {
    CUDA_LAUNCH_PARAMS list[2];
    uint64_t us = 1000;
    void *params[] = {&us};
    OK(cuInit, 0);
    for (int i = 0; i < 2; i++) {
        CUcontext context;
        CUmodule module;
        CUfunction f;
        CUstream stream;
        OK(cuDevicePrimaryCtxRetain, &context, 1 - i);
        OK(cuCtxSetCurrent, context);
        OK(cuModuleLoadData, &module, "gpusim-module 1\nkernel busy us=param0\n");
        OK(cuModuleGetFunction, &f, module, "busy");
        OK(cuStreamCreate, &stream, 1);
        list[i] = (CUDA_LAUNCH_PARAMS){f, 1, 1, 1, 1, 1, 1, 0, stream, params};
    }
    for (int n = 0; n < 5; n++) OK(cuLaunchCooperativeKernelMultiDevice, list, 2, 0);
    for (int i = 0; i < 2; i++) OK(cuStreamSynchronize, list[i].hStream);
    CHECK(CALL(cuLaunchCooperativeKernelMultiDevice, NULL, 2, 0) != 0);
    list[1].hStream = list[0].hStream;
    CHECK(CALL(cuLaunchCooperativeKernelMultiDevice, list, 2, 0) != 0, "one GPU twice is the driver's to refuse");
    usleep(300000);
}

// Many streams that overlap: their time is counted once.
void client_streams(void) {
    CUstream s[16];
    start();
    CUfunction f = kernel("busy");
    for (int i = 0; i < 16; i++) OK(cuStreamCreate, &s[i], 1);
    CHECK(launch(f, s[0], 500) == 0);
    OK(cuCtxSynchronize, );
    uint64_t begin = now_ns();
    for (int i = 0; i < 320; i++) CHECK(launch(f, s[i % 16], 500) == 0);
    OK(cuCtxSynchronize, );
    uint64_t wall = now_ns() - begin;
    usleep(300000);
    uint64_t busy = my_slot()->busy_ns;
    CHECK(busy <= wall + 1000000, "busy %lu of %lu us", (unsigned long)busy / 1000, (unsigned long)wall / 1000);
    CHECK(busy >= 320 * 500 * 1000 / 16, "busy %lu us", (unsigned long)busy / 1000);
    for (int i = 0; i < 16; i++) OK(cuStreamDestroy_v2, s[i]);
    CHECK(launch(f, NULL, 100) == 0);
}

// What happens does not matter here, only that it ends.
void client_try(void) {
    CUcontext context;
    CUdeviceptr p[20] = {0};
    if (CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context)) return;
    for (int i = 0; i < 20; i++) CALL(cuMemAlloc_v2, &p[i], (size_t)i << 16);
    for (int i = 0; i < 20; i++) CALL(cuMemFree_v2, p[i]);
    CALL(cuMemGetInfo_v2, &(size_t){0}, &(size_t){0});
    CALL(cuCtxSynchronize);
}
