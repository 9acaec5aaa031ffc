// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../../test/gpusim/include/gpusim_module.h"

int failures;

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
    printf("%s: not in %s\n", name, file);
    exit(1);
}

struct aipub_page *page_of(const char *slice) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", getenv("AIPUB_SLICES_DIR"), slice, AIPUB_PAGE_FILE);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct aipub_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

struct aipub_slot *my_slot(void) {
    static struct aipub_page *page;
    if (!page) page = page_of("a");
    for (unsigned i = 0; page && i < AIPUB_SLOTS; i++)
        if (page->slot[i].owner == (uint64_t)getpid()) return &page->slot[i];
    printf("this process has no slot\n");
    exit(1);
}

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gi, ci;
};

uint64_t used_bytes(void) {
    static void *device;
    struct process list[64];
    unsigned count = 64;
    if (!device && (CALL(nvmlInit_v2) || CALL(nvmlDeviceGetHandleByIndex_v2, 0, &device))) exit(1);
    if (CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, list)) exit(1);
    for (unsigned i = 0; i < count; i++)
        if (list[i].pid == (unsigned)getpid()) return list[i].used;
    return 0;
}

CUcontext start(void) {
    CUcontext context = NULL;
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    return context;
}

CUfunction kernel(const char *name) {
    static CUmodule module;
    CUfunction f = NULL;
    if (!module) OK(cuModuleLoadData, &module, GPUSIM_MODULE);
    OK(cuModuleGetFunction, &f, module, name);
    return f;
}

int launch(CUfunction f, CUstream stream, uint64_t us) {
    void *params[] = {&us};
    return CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static int init_only(void) {
    CUcontext context;
    int result = CALL(cuInit, 0);
    printf("cuInit: %d\n", result);
    if (result == CUDA_SUCCESS) {
        result = CALL(cuDevicePrimaryCtxRetain, &context, 0);
        printf("cuDevicePrimaryCtxRetain: %d\n", result);
    }
    return result;
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "init") == 0) return init_only() == CUDA_ERROR_SYSTEM_NOT_READY ? 42 : 0;
    if (strcmp(verb, "take") == 0 && argc == 4) return client_take(argv[2], argv[3]) | failures;
    if (strcmp(verb, "lazy") == 0 && argc == 3) return client_lazy(argv[2]) | failures;
    if (strcmp(verb, "crowded") == 0) return client_crowded() | failures;
    if (strcmp(verb, "memory") == 0) client_memory();
    else if (strcmp(verb, "limits") == 0) client_limits();
    else if (strcmp(verb, "launch") == 0) client_launch(argc - 2, argv + 2);
    else if (strcmp(verb, "capture") == 0) client_capture();
    else if (strcmp(verb, "resolve") == 0) client_resolve();
    else if (strcmp(verb, "abi") == 0) client_abi(argv[2]);
    else if (strcmp(verb, "nulls") == 0) client_nulls();
    else if (strcmp(verb, "fork") == 0) client_fork();
    else if (strcmp(verb, "bench") == 0) client_bench();
    else if (strcmp(verb, "two") == 0) client_two();
    else if (strcmp(verb, "multi") == 0) client_multi();
    else if (strcmp(verb, "streams") == 0) client_streams();
    else if (strcmp(verb, "reclaim") == 0) client_reclaim(argc > 2 ? argv[2] : "");
    else if (strcmp(verb, "twice") == 0) client_twice();
    else if (strcmp(verb, "try") == 0) client_try();
    else return 2;
    return failures ? 1 : 0;
}
