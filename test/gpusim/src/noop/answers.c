// SPDX-License-Identifier: Apache-2.0
//
// A driver that does nothing, to measure what a preloaded library adds to a
// call: every call of the list succeeds at once, without a lock or a machine.
// Here are the few calls that give something back, which a program needs to
// get as far as a launch; rest.c has all others.
#include <stdatomic.h>

#include "cu_symbols.h"
#include "noop/calls.h"

__thread uint64_t noop_calls;

static atomic_ullong address = 0x300000000000;
static char object[64];

__attribute__((visibility("default"))) uint64_t gpusim_noop_calls(void) {
    return noop_calls;
}

static CUdeviceptr take(size_t bytes) {
    enum { GRANULE = 2 << 20 };
    return atomic_fetch_add_explicit(&address, (bytes + GRANULE - 1) / GRANULE * GRANULE, memory_order_relaxed);
}

static CUresult give_object(void *handle) {
    noop_calls++;
    *(void **)handle = object;
    return CUDA_SUCCESS;
}

static CUresult give_int(int *out, int value) {
    noop_calls++;
    *out = value;
    return CUDA_SUCCESS;
}

static CUresult give_memory(CUdeviceptr *ptr, size_t bytes) {
    noop_calls++;
    *ptr = take(bytes);
    return CUDA_SUCCESS;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

CUresult cuDriverGetVersion(int *version) {
    return give_int(version, 13030);
}

CUresult cuDeviceGetCount(int *count) {
    return give_int(count, 1);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    return give_int(device, ordinal);
}

// The GPU's name is GPU-00010203-0405-0607-0809-0a0b0c0d0e0f, so that a library that
// has something to do with one GPU finds it here.
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    noop_calls++;
    for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)i;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    return cuDeviceGetUuid(uuid, dev);
}

// Whatever lies between two events took a microsecond.
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    noop_calls++;
    *ms = 0.001f;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end) {
    return cuEventElapsedTime(ms, start, end);
}

CUresult cuCtxGetDevice(CUdevice *dev) {
    return give_int(dev, 0);
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    return give_int(status, 0);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    noop_calls++;
    *free = *total = 1ull << 37;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    noop_calls++;
    *bytes = 1ull << 37;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes) {
    return give_memory(ptr, bytes);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags) {
    return give_memory(ptr, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element) {
    *pitch = (width + 511) / 512 * 512;
    return give_memory(ptr, *pitch * height);
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream) {
    return give_memory(ptr, bytes);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags) {
    noop_calls++;
    *handle = take(size);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx) {
    return give_object(ctx);
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev) {
    return give_object(ctx);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev) {
    return give_object(ctx);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return give_object(module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return give_object(function);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    return give_object(stream);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx) {
    return give_object(ctx);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    return give_object(event);
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags) {
    return give_object(graph);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    return give_object(exec);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, int *status) {
    bool exists = false;
    noop_calls++;
    *pfn = gs_cuda_symbol(symbol, version, 13030, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &exists);
    if (status) *status = *pfn ? 0 : exists ? 2 : 1;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags) {
    CUresult r = cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
    return r == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : r;
}
