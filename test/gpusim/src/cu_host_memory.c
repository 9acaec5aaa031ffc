// SPDX-License-Identifier: Apache-2.0
//
// Host memory and what pointers are. Host memory costs no device memory.
#include <string.h>
#include <sys/mman.h>

#include "cu.h"
#include "cu_capture.h"

CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags) {
    CU_CONTEXT();
    if (!ptr || !bytes || flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    struct cu_range *r = cu_range_new((uintptr_t)p, bytes, CU_MEM_HOST, ctx);
    if (!r) {
        munmap(p, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->flags = flags;
    *ptr = p;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes) {
    return cuMemHostAlloc(ptr, bytes, 0);
}

CUresult cuMemAllocHost(void **ptr, unsigned int bytes) {
    return cuMemHostAlloc(ptr, bytes, 0);
}

static struct cu_range *host_at(const void *p) {
    struct cu_range *r = cu_range_at((uintptr_t)p);
    return r && r->memory == CU_MEM_HOST ? r : NULL;
}

CUresult cuMemFreeHost(void *ptr) {
    CU_CONTEXT();
    CU_TRY(cu_refuse_unsafe());
    struct cu_range *r = host_at(ptr);
    if (!r || r->registered || r->base != (uintptr_t)ptr) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_drain(ctx));
    if (host_at(ptr) == r) cu_release(r);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags) {
    CU_CONTEXT();
    if (!ptr || !bytes || flags & ~15u) return CUDA_ERROR_INVALID_VALUE;
    struct cu_range *r = cu_range_new((uintptr_t)ptr, bytes, CU_MEM_HOST, ctx);
    if (!r) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    r->registered = true, r->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *ptr, size_t bytes, unsigned int flags) {
    return cuMemHostRegister_v2(ptr, bytes, flags);
}

CUresult cuMemHostUnregister(void *ptr) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = host_at(ptr);
    if (!r || !r->registered || r->base != (uintptr_t)ptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    cu_release(r);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *host, unsigned int flags) {
    CU_CONTEXT();
    (void)ctx;
    if (!ptr || flags || !host_at(host)) return CUDA_ERROR_INVALID_VALUE;
    *ptr = (uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(unsigned int *ptr, void *host, unsigned int flags) {
    (void)ptr, (void)host, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED; // 32-bit device addresses
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *host) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = host_at(host);
    if (!flags || !r) return CUDA_ERROR_INVALID_VALUE;
    *flags = r->flags;
    return CUDA_SUCCESS;
}

static CUresult attribute_of(const struct cu_range *r, CUdeviceptr ptr, int attribute, void *data) {
    enum { CONTEXT = 1, TYPE, DEVICE_POINTER, HOST_POINTER, SYNC = 6, BUFFER_ID, IS_MANAGED, ORDINAL };
    enum { START = 11, SIZE, MAPPED, POOL = 17 };
    bool host = r->memory == CU_MEM_HOST || r->memory == CU_MEM_MANAGED;
    switch (attribute) {
    case CONTEXT: *(CUcontext *)data = r->ctx; break;
    case TYPE: *(unsigned *)data = r->memory == CU_MEM_HOST ? 1 : 2; break;
    case DEVICE_POINTER: *(CUdeviceptr *)data = ptr; break;
    case HOST_POINTER:
        if (!host) return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)ptr;
        break;
    case SYNC: *(unsigned *)data = 0; break;
    case BUFFER_ID: *(unsigned long long *)data = r->id; break;
    case IS_MANAGED: *(unsigned *)data = r->memory == CU_MEM_MANAGED; break;
    case ORDINAL: *(int *)data = r->ctx ? r->ctx->device : 0; break;
    case START: *(CUdeviceptr *)data = r->base; break;
    case SIZE: *(size_t *)data = r->size; break;
    case MAPPED: *(unsigned *)data = r->memory != CU_MEM_RESERVED; break;
    case POOL: *(void **)data = r->pool; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = cu_range_at(ptr);
    if (!data || !r) return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(r, ptr, attribute, data);
}

// What an attribute cannot say of this pointer stays 0; no error.
CUresult cuPointerGetAttributes(unsigned int count, int *attributes, void **data, CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    if (!count || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    struct cu_range *r = cu_range_at(ptr);
    for (unsigned i = 0; i < count; i++)
        if (!r || attribute_of(r, ptr, attributes[i], data[i]) != CUDA_SUCCESS) memset(data[i], 0, sizeof(int));
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    return value && attribute == 6 && cu_range_at(ptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
