// SPDX-License-Identifier: Apache-2.0
//
// Every context costs memory, and everything in it ends with it.
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

static void cost(void) {
    uint64_t before = used_mib();
    CUcontext ctx, popped, now;
    CUdeviceptr p;
    CUstream s;
    OK(cuCtxCreate_v2(&ctx, 0, 0));
    CHECK(used_mib() - before == 400);
    OK(cuMemAlloc_v2(&p, MIB(10)));
    OK(cuMemAllocAsync(&p, MIB(1), NULL));
    OK(cuStreamCreate(&s, 0));
    OK(cuCtxPopCurrent_v2(&popped));
    CHECK(popped == ctx);
    OK(cuCtxDestroy_v2(ctx));
    IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxPushCurrent_v2(ctx));
    OK(cuCtxGetCurrent(&now));
    CHECK(now && now != ctx);
    CUmemoryPool pool;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK(used_mib() == before);
}

static void green(void) {
    uint64_t before = used_mib();
    CUdevResource all, part, rest;
    CUdevResourceDesc desc;
    CUgreenCtx g;
    CUstream s;
    unsigned groups = 1;
    OK(cuDeviceGetDevResource(0, &all, 1));
    OK(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, 30));
    CHECK(part.sm.smCount == 32 && part.sm.smCount + rest.sm.smCount == all.sm.smCount);
    OK(cuDevResourceGenerateDesc(&desc, &part, 1));
    OK(cuGreenCtxCreate(&g, desc, 0, 1));
    CHECK(used_mib() - before == 400);
    OK(cuGreenCtxStreamCreate(&s, g, CU_STREAM_NON_BLOCKING, 0));
    launch_us(s, 100);
    OK(cuStreamSynchronize(s));
    OK(cuGreenCtxDestroy(g));
    CHECK(used_mib() == before);
}

// The child of a fork cannot use the parent's CUDA, and leaves it alone.
static void forked(void) {
    uint64_t before = used_mib();
    CUdeviceptr p;
    int status;
    pid_t child = fork();
    if (!child) _exit(cuMemAlloc_v2(&p, 1) != CUDA_ERROR_NOT_INITIALIZED || cuInit(0) != CUDA_ERROR_NOT_INITIALIZED);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(used_mib() == before);
}

static void code(void) {
    uint64_t before = used_mib();
    CUmodule m;
    CUfunction f;
    CUlibrary l;
    CUkernel k;
    uint64_t us = 10;
    void *params[] = {&us};
    OK(cuModuleLoadData(&m, "gpusim-module 1\nkernel a us=1\ncode 50\n"));
    CHECK(used_mib() - before == 50);
    IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "b"));
    OK(cuModuleUnload(m));
    CHECK(used_mib() == before);
    IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, "no image"));
    IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, "gpusim-module 1\nkernel a\n"));
    static const char ptx[] = "// made\n.version 8.0\n.target sm_90\n.visible .entry busy(.param .u64 us)\n{ret;}\n";
    OK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, l, "busy"));
    OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
    OK(cuLibraryUnload(l));
}

void test_cuda_contexts(void) {
    cost();
    green();
    forked();
    code();
}
