// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../gpusim/include/gpusim_module.h"

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void *look_up(const char *name) {
    static void *cuda, *nvml;
    const char *file = name[0] == 'n' ? "libnvidia-ml.so.1" : "libcuda.so.1";
    void **library = name[0] == 'n' ? &nvml : &cuda;
    if (!*library) *library = dlopen(file, RTLD_NOW);
    void *p = *library ? dlsym(*library, name) : NULL;
    if (p) return p;
    fprintf(stderr, "probe: %s is not in %s\n", name, file);
    exit(1);
}

void must(const char *name, int result) {
    if (result == 0) return;
    fprintf(stderr, "probe: %s: %d\n", name, result);
    exit(1);
}

void start(void) {
    CUcontext context;
    MUST(cuInit, 0);
    MUST(cuDevicePrimaryCtxRetain, &context, 0);
    MUST(cuCtxSetCurrent, context);
}

CUfunction kernel(const char *name) {
    CUmodule module;
    CUfunction f = NULL;
    MUST(cuModuleLoadData, &module, GPUSIM_MODULE);
    MUST(cuModuleGetFunction, &f, module, name);
    return f;
}

static double launches(CUfunction f, int (*go)(), int n) {
    uint64_t begin = now_ns();
    for (int i = 0; i < n; i++) go(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return (double)(now_ns() - begin) / n;
}

static double allocations(int (*get)(), int (*put)(), int n) {
    CUdeviceptr p;
    uint64_t begin = now_ns();
    for (int i = 0; i < n; i++) {
        if (get(&p, 2 * MIB)) exit(1);
        put(p);
    }
    return (double)(now_ns() - begin) / n;
}

// cost prints, batch by batch, nanoseconds of a launch and of an allocation with
// its free.
static void cost(int batches) {
    enum { LAUNCHES = 20000, ALLOCATIONS = 2000 };
    start();
    CUfunction f = kernel("noop");
    int (*go)() = look_up("cuLaunchKernel"), (*get)() = look_up("cuMemAlloc_v2"), (*put)() = look_up("cuMemFree_v2");
    launches(f, go, LAUNCHES);
    allocations(get, put, ALLOCATIONS);
    for (int i = 0; i < batches; i++)
        printf("%.2f %.2f\n", launches(f, go, LAUNCHES), allocations(get, put, ALLOCATIONS));
}

// work does some of everything that changes the ledger or needs a lease.
static void work(void) {
    CUdeviceptr p[4];
    uint64_t us = 500;
    void *params[] = {&us};
    start();
    CUfunction f = kernel("busy");
    for (int i = 0; i < 4; i++) MUST(cuMemAlloc_v2, &p[i], 10 * MIB);
    if (CALL(cuMemAlloc_v2, &p[0], (size_t)1 << 50) == 0) exit(1);
    for (int i = 0; i < 8; i++) MUST(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    MUST(cuCtxSynchronize, );
    for (int i = 1; i < 4; i++) MUST(cuMemFree_v2, p[i]);
    usleep(50000); // idle, so the lease is given back
    MUST(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    MUST(cuCtxSynchronize, );
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    if (strcmp(verb, "cost") == 0) cost(atoi(argument));
    else if (strcmp(verb, "work") == 0) work();
    else if (strcmp(verb, "overrun") == 0) overrun(argument);
    else if (strcmp(verb, "storm") == 0) storm(atoi(argument), false);
    else if (strcmp(verb, "contexts") == 0) storm(atoi(argument), true);
    else if (strcmp(verb, "execs") == 0) execs(atoi(argument), argc > 3 ? argv[3] : "");
    else return 2;
    return 0;
}
