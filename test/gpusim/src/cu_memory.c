// SPDX-License-Identifier: Apache-2.0
//
// cuMemAlloc and its kin, managed memory, memory information.
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cu.h"
#include "cu_capture.h"

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    CU_CONTEXT();
    if (!free_bytes || !total) return CUDA_ERROR_INVALID_VALUE;
    const struct cu_device *d = &cu.device[ctx->device];
    gs_clients_reap(&cu.m);
    *total = cu_room(d);
    *free_bytes = *total - gs_process_memory(cu_gpu(d), d->gi, GS_NONE);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes) {
    CU_CONTEXT();
    struct cu_range *r;
    if (!ptr || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    CU_TRY(cu_allocate(ctx, bytes, &r));
    *ptr = r->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element) {
    CU_CONTEXT();
    struct cu_range *r;
    if (!ptr || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    uint64_t row = cu_round_up(width, CU_ALIGN);
    if (row > UINT64_MAX / 2 / height) return CUDA_ERROR_OUT_OF_MEMORY;
    CU_TRY(cu_allocate(ctx, row * height, &r));
    *ptr = r->base, *pitch = row;
    return CUDA_SUCCESS;
}

// Managed memory begins on the host and counts on the device from when a
// prefetch or a kernel's context touches it; here: from the prefetch.
CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags) {
    CU_CONTEXT();
    if (!ptr || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    struct cu_range *r = cu_range_new((uintptr_t)p, bytes, CU_MEM_MANAGED, ctx);
    if (!r) {
        munmap(p, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ptr = r->base;
    return CUDA_SUCCESS;
}

// Freeing waits for the context's work, as the real call does.
CUresult cuMemFree_v2(CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    if (!ptr) return CUDA_SUCCESS;
    CU_TRY(cu_refuse_unsafe());
    struct cu_range *r = cu_range_at(ptr);
    if (!r || r->base != ptr) return CUDA_ERROR_INVALID_VALUE;
    if (r->memory == CU_MEM_DEVICE || r->memory == CU_MEM_MANAGED) {
        CU_TRY(cu_drain(r->ctx));
        if (cu_range_at(ptr) != r) return CUDA_ERROR_INVALID_VALUE; // freed by another thread meanwhile
        cu_release(r);
        return CUDA_SUCCESS;
    }
    if (r->memory == CU_MEM_POOL) {
        CU_TRY(cu_drain(r->ctx));
        return cu_pool_free(r);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = cu_range_at(ptr);
    if (!r) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = r->base;
    if (size) *size = r->size;
    return CUDA_SUCCESS;
}

// The forms of before CUDA 3.2 had 32-bit device addresses, which no device
// has had since; they are there to be found, and refuse.
CUresult cuMemAlloc(unsigned int *ptr, unsigned int bytes) {
    (void)ptr, (void)bytes;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemAllocPitch(unsigned int *ptr, unsigned int *pitch, unsigned int width, unsigned int height,
                         unsigned int element) {
    (void)ptr, (void)pitch, (void)width, (void)height, (void)element;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemFree(unsigned int ptr) {
    (void)ptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetAddressRange(unsigned int *base, unsigned int *size, unsigned int ptr) {
    (void)base, (void)size, (void)ptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total) {
    (void)free_bytes, (void)total;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUcontext ending; // twalk has no argument
static struct cu_range *found;

static void find_one(const void *node, VISIT visit, int depth) {
    (void)depth;
    if ((visit == preorder || visit == leaf) && (*(struct cu_range *const *)node)->ctx == ending)
        found = *(struct cu_range *const *)node;
}

void cu_release_context(CUcontext ctx) {
    ending = ctx;
    for (;;) {
        found = NULL;
        twalk(cu.ranges, find_one);
        if (!found) return;
        if (found->memory == CU_MEM_POOL) cu_pool_free(found);
        else cu_release(found);
    }
}
