// SPDX-License-Identifier: Apache-2.0
//
// Plain, pitched and managed memory, arrays, and pinned host memory.
#define _GNU_SOURCE
#include "plan.h"
#include "pools.h"
#include "rules.h"
#include "sizes.h"

int on_cuMemAlloc(fn_cuMemAlloc_v2 real, CUdeviceptr *ptr, size_t bytes) {
    struct plan p;
    if (!ptr || bytes == 0 || !plan_begin(&p)) return real(ptr, bytes);
    if (!plan_take(&p, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ptr, bytes));
    return plan_end(&p, result, KIND_MEMORY, *ptr, ACCOUNT_MEMORY);
}

int on_cuMemAlloc_v1(fn_cuMemAlloc real, unsigned *ptr, unsigned bytes) {
    struct plan p;
    if (!ptr || bytes == 0 || !plan_begin(&p)) return real(ptr, bytes);
    if (!plan_take(&p, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ptr, bytes));
    return plan_end(&p, result, KIND_MEMORY, *ptr, ACCOUNT_MEMORY);
}

int on_cuMemAllocPitch(fn_cuMemAllocPitch_v2 real, CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
                       unsigned element) {
    struct plan p;
    if (!ptr || !pitch || width == 0 || height == 0 || !plan_begin(&p)) return real(ptr, pitch, width, height, element);
    if (!plan_take(&p, sizes_pitched(width, height))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ptr, pitch, width, height, element));
    return plan_end(&p, result, KIND_MEMORY, *ptr, ACCOUNT_MEMORY);
}

int on_cuMemAllocPitch_v1(fn_cuMemAllocPitch real, unsigned *ptr, unsigned *pitch, unsigned width, unsigned height,
                          unsigned element) {
    struct plan p;
    if (!ptr || !pitch || width == 0 || height == 0 || !plan_begin(&p)) return real(ptr, pitch, width, height, element);
    if (!plan_take(&p, sizes_pitched(width, height))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ptr, pitch, width, height, element));
    return plan_end(&p, result, KIND_MEMORY, *ptr, ACCOUNT_MEMORY);
}

// Managed memory may be wholly on the device, so it counts as if it were.
int on_cuMemAllocManaged(fn_cuMemAllocManaged real, CUdeviceptr *ptr, size_t bytes, unsigned flags) {
    struct plan p;
    if (!ptr || bytes == 0 || !plan_begin(&p)) return real(ptr, bytes, flags);
    if (!plan_take(&p, bytes < SLAB_LIMIT ? SLAB_LIMIT : bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ptr, bytes, flags));
    return plan_end(&p, result, KIND_MEMORY, *ptr, ACCOUNT_MANAGED);
}

// Memory that is not in the book came from a pool, or from somebody else.
static int freed(int result, bool known) {
    if (result == CUDA_SUCCESS && !known) pools_refresh(slices_current());
    return result;
}

int on_cuMemFree(fn_cuMemFree_v2 real, CUdeviceptr ptr) {
    struct entry e;
    bool known = book_take(KIND_MEMORY, ptr, &e);
    int result = real(ptr);
    if (known && result == CUDA_SUCCESS) book_settle(&e);
    else if (known) book_add(&e);
    return freed(result, known);
}

int on_cuMemFree_v1(fn_cuMemFree real, unsigned ptr) {
    return PLAN_FREE(KIND_MEMORY, ptr, real(ptr));
}

int on_cuArrayCreate(fn_cuArrayCreate_v2 real, CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d) {
    struct plan p;
    if (!array || !d || !plan_begin(&p)) return real(array, d);
    if (!plan_take(&p, sizes_array(d->Width, d->Height, 0, d->Format, d->NumChannels))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(array, d));
    return plan_end(&p, result, KIND_ARRAY, (uintptr_t)*array, ACCOUNT_MEMORY);
}

// Version 1 of the descriptors has 32-bit sizes: width, height, (depth,) format,
// channels.
int on_cuArrayCreate_v1(fn_cuArrayCreate real, CUarray *array, const unsigned *d) {
    struct plan p;
    if (!array || !d || !plan_begin(&p)) return real(array, d);
    if (!plan_take(&p, sizes_array(d[0], d[1], 0, (int)d[2], d[3]))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(array, d));
    return plan_end(&p, result, KIND_ARRAY, (uintptr_t)*array, ACCOUNT_MEMORY);
}

int on_cuArray3DCreate(fn_cuArray3DCreate_v2 real, CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    struct plan p;
    if (!array || !d || sizes_unbacked(d->Flags) || !plan_begin(&p)) return real(array, d);
    if (!plan_take(&p, sizes_array(d->Width, d->Height, d->Depth, d->Format, d->NumChannels)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(array, d));
    return plan_end(&p, result, KIND_ARRAY, (uintptr_t)*array, ACCOUNT_MEMORY);
}

int on_cuArray3DCreate_v1(fn_cuArray3DCreate real, CUarray *array, const unsigned *d) {
    struct plan p;
    if (!array || !d || sizes_unbacked(d[5]) || !plan_begin(&p)) return real(array, d);
    if (!plan_take(&p, sizes_array(d[0], d[1], d[2], (int)d[3], d[4]))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(array, d));
    return plan_end(&p, result, KIND_ARRAY, (uintptr_t)*array, ACCOUNT_MEMORY);
}

int on_cuMipmappedArrayCreate(fn_cuMipmappedArrayCreate real, CUmipmappedArray *array,
                              const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels) {
    struct plan p;
    if (!array || !d || sizes_unbacked(d->Flags) || !plan_begin(&p)) return real(array, d, levels);
    if (!plan_take(&p, sizes_mipmap(d, levels))) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(array, d, levels));
    return plan_end(&p, result, KIND_MIPMAP, (uintptr_t)*array, ACCOUNT_MEMORY);
}

int on_cuArrayDestroy(fn_cuArrayDestroy real, CUarray array) {
    return PLAN_FREE(KIND_ARRAY, (uintptr_t)array, real(array));
}

int on_cuMipmappedArrayDestroy(fn_cuMipmappedArrayDestroy real, CUmipmappedArray array) {
    return PLAN_FREE(KIND_MIPMAP, (uintptr_t)array, real(array));
}

static int pinned(int result, void *ptr, size_t bytes) {
    struct device *d = result == CUDA_SUCCESS ? slices_current() : NULL;
    if (!d) return result;
    ledger_host(d, (int64_t)bytes);
    book_add(&(struct entry){.kind = KIND_HOST, .key = (uintptr_t)ptr, .device = d, .bytes = bytes});
    return result;
}

int on_cuMemHostAlloc(fn_cuMemHostAlloc real, void **ptr, size_t bytes, unsigned flags) {
    int result = real(ptr, bytes, flags);
    return pinned(result, ptr ? *ptr : NULL, bytes);
}

int on_cuMemAllocHost(fn_cuMemAllocHost_v2 real, void **ptr, size_t bytes) {
    int result = real(ptr, bytes);
    return pinned(result, ptr ? *ptr : NULL, bytes);
}

int on_cuMemAllocHost_v1(fn_cuMemAllocHost real, void **ptr, unsigned bytes) {
    int result = real(ptr, bytes);
    return pinned(result, ptr ? *ptr : NULL, bytes);
}

int on_cuMemHostRegister(fn_cuMemHostRegister_v2 real, void *ptr, size_t bytes, unsigned flags) {
    return pinned(real(ptr, bytes, flags), ptr, bytes);
}

int on_cuMemFreeHost(fn_cuMemFreeHost real, void *ptr) {
    return PLAN_FREE(KIND_HOST, (uintptr_t)ptr, real(ptr));
}

int on_cuMemHostUnregister(fn_cuMemHostUnregister real, void *ptr) {
    return PLAN_FREE(KIND_HOST, (uintptr_t)ptr, real(ptr));
}
