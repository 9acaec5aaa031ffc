// SPDX-License-Identifier: Apache-2.0
#include "tenant/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../include/gpusim_module.h"

// The loop counts turns and not time, so that a kernel that is preempted has
// as much left as before.
static const char spin[] = ".version 6.0\n"
                           ".target sm_60\n"
                           ".address_size 64\n"
                           ".visible .entry busy(.param .u64 us, .param .u64 turns)\n"
                           "{\n"
                           ".reg .u64 %r<4>;\n"
                           ".reg .pred %p<2>;\n"
                           "ld.param.u64 %r1, [us];\n"
                           "ld.param.u64 %r2, [turns];\n"
                           "mul.lo.u64 %r1, %r1, %r2;\n"
                           "AGAIN:\n"
                           "mov.u64 %r3, %clock64;\n" // keeps the loop from being folded
                           "sub.u64 %r1, %r1, 1;\n"
                           "setp.ne.u64 %p1, %r1, 0;\n"
                           "@%p1 bra AGAIN;\n"
                           "ret;\n"
                           "}\n";

static void die(const char *what, const char *why) {
    fprintf(stderr, "tenant: %s: %s\n", what, why);
    exit(1);
}

void driver_must(const struct driver *d, const char *call, CUresult r) {
    const char *name = NULL;
    if (r == CUDA_SUCCESS) return;
    if (!d->ErrorName || d->ErrorName(r, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    fprintf(stderr, "tenant: %s: %d %s\n", call, r, name);
    exit(1);
}

typedef CUresult (*resolver)(const char *symbol, void **pfn, int version, cuuint64_t flags, int *status);
typedef CUresult (*old_resolver)(const char *symbol, void **pfn, int version, cuuint64_t flags);

static void *symbol(void *lib, const char *base, int version) {
    void *found = NULL;
    resolver ask = (resolver)dlsym(lib, "cuGetProcAddress_v2");
    old_resolver ask_old = (old_resolver)dlsym(lib, "cuGetProcAddress");
    if (ask && ask(base, &found, version, 0, NULL) == CUDA_SUCCESS && found) return found;
    if (!ask && ask_old && ask_old(base, &found, version, 0) == CUDA_SUCCESS && found) return found;
    return dlsym(lib, base);
}

static void load_kernel(struct driver *d) {
    CUmodule module;
    if (d->Load(&module, spin) != CUDA_SUCCESS) driver_must(d, "cuModuleLoadData", d->Load(&module, GPUSIM_MODULE));
    MUST(d, Function, &d->busy, module, "busy");
}

// calibrate finds how many turns take a microsecond: the shortest of some
// runs, since others may use the GPU meanwhile. A simulated kernel takes the
// asked time whatever the turns.
static void calibrate(struct driver *d) {
    enum { RUNS = 5, US = 500 };
    CUevent start, end;
    uint64_t us = US, turns = 50;
    void *params[] = {&us, &turns};
    float best = 0, ms = 0;
    MUST(d, EventCreate, &start, 0);
    MUST(d, EventCreate, &end, 0);
    for (int i = 0; i < RUNS; i++) {
        MUST(d, EventRecord, start, NULL);
        MUST(d, Launch, d->busy, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
        MUST(d, EventRecord, end, NULL);
        MUST(d, EventSync, end);
        MUST(d, Elapsed, &ms, start, end);
        if (!i || ms < best) best = ms;
    }
    // A driver that does nothing tells no time.
    d->turns_per_us = best > 0 ? (uint64_t)(turns * (US / 1000.0) / best + 0.5) : 0;
    if (!d->turns_per_us) d->turns_per_us = 1;
}

void driver_open(struct driver *d, int device) {
    enum { OLDEST = 11040 }; // what this version has is there, later calls may be
    CUcontext ctx;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) die("open libcuda.so.1", dlerror());
#define X(member, base, version, params)                        \
    d->member = (CUresult(*) params)symbol(lib, base, version); \
    if (!d->member && version <= OLDEST) die("find " base, "the driver lacks it");
    TENANT_CALLS(X)
#undef X
    MUST(d, Init, 0);
    MUST(d, PrimaryRetain, &ctx, device);
    MUST(d, SetCurrent, ctx);
    load_kernel(d);
    calibrate(d);
}
