// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"

static CUfunction busy;

uint64_t used_mib(void) {
    size_t free_bytes = 0, total = 0;
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    return (total - free_bytes) >> 20;
}

CUfunction busy_kernel(void) {
    return busy;
}

void launch_us(CUstream s, uint64_t us) {
    void *params[] = {&us};
    OK(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

void test_cuda(void) {
    static const char description[] = "[machine]\ncuda-version = 13.3\n[gpu]\nmodel = H200-141\ncount = 2\n";
    struct gs_machine m = {0};
    CUcontext ctx;
    CUmodule module;
    make_machine(&m, description);
    IS(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    OK(cuModuleLoadData(&module, "gpusim-module 1\nkernel busy us=param0\n"));
    OK(cuModuleGetFunction(&busy, module, "busy"));
    uint64_t before = used_mib();
    test_cuda_resolve();
    test_cuda_contexts();
    test_cuda_memory();
    test_cuda_pools();
    test_cuda_streams();
    test_cuda_capture();
    test_cuda_graphs();
    test_cuda_ipc();
    CHECK(used_mib() == before, "%llu MiB, %llu before", (unsigned long long)used_mib(), (unsigned long long)before);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    gs_lock(&m);
    for (int i = 0; i < GS_MAX_PROCESSES; i++) CHECK(!m.s->gpu[0].v.process[i].used);
    gs_unlock(&m);
    drop_machine(&m);
}
