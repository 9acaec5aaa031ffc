// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress gives the form of the asked version, of the asked kind.
#include "cuda.h"

static void *ask(const char *name, int version, cuuint64_t flags, int *status) {
    void *found = NULL;
    OK(cuGetProcAddress_v2(name, &found, version, flags, status));
    return found;
}

static void forms(void) {
    static const struct {
        const char *name;
        int version;
        cuuint64_t flags;
        CUresult (*want)(void);
    } cases[] = {
#define FORM(name, version, flags, symbol) {name, version, flags, (CUresult(*)(void))symbol}
        FORM("cuMemAlloc", 2000, 0, cuMemAlloc),
        FORM("cuMemAlloc", 3020, 0, cuMemAlloc_v2),
        FORM("cuMemAlloc", 13030, 2, cuMemAlloc_v2),
        FORM("cuCtxCreate", 11030, 0, cuCtxCreate_v2),
        FORM("cuCtxCreate", 12040, 0, cuCtxCreate_v3),
        FORM("cuCtxCreate", 13000, 0, cuCtxCreate_v4),
        FORM("cuLaunchKernel", 12000, 0, cuLaunchKernel),
        FORM("cuLaunchKernel", 12000, 1, cuLaunchKernel),
        FORM("cuLaunchKernel", 12000, 2, cuLaunchKernel_ptsz),
        FORM("cuLaunchKernel", 6000, 2, cuLaunchKernel),
        FORM("cuMemcpyHtoD", 12000, 2, cuMemcpyHtoD_v2_ptds),
        FORM("cuStreamGetCaptureInfo", 12000, 2, cuStreamGetCaptureInfo_v2_ptsz),
        FORM("cuGetProcAddress", 11040, 0, cuGetProcAddress),
        FORM("cuGetProcAddress", 12000, 0, cuGetProcAddress_v2),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = -1;
        void *got = ask(cases[i].name, cases[i].version, cases[i].flags, &status), *want;
        memcpy(&want, &cases[i].want, sizeof want);
        CHECK(got == want && status == 0, "%zu: %s %d", i, cases[i].name, cases[i].version);
    }
}

static void refusals(void) {
    int status = -1;
    void *found = (void *)1;
    CHECK(!ask("cuNoSuchCall", 12000, 0, &status) && status == 1);
    CHECK(!ask("cuMemAlloc_v2", 12000, 0, &status) && status == 1, "only base names are known");
    CHECK(!ask("cuMemAllocAsync", 11000, 0, &status) && status == 2);
    IS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchCall", &found, 12000, 0));
    CHECK(!found);
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &found, 14000, 0, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &found, 12000, 3, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(NULL, &found, 12000, 0, NULL));
}

static void error_names(void) {
    const char *name;
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
    CHECK(!strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY"));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(12345, &name));
    CHECK(!name);
}

void test_cuda_resolve(void) {
    forms();
    refusals();
    error_names();
}
