// SPDX-License-Identifier: Apache-2.0
//
// Physical memory of the virtual memory calls: charged when it is created on a
// GPU, given back with the last of its handles and mappings. Imported memory is
// not charged, its exporter pays; memory of the host is not a GPU's.
#define _GNU_SOURCE
#include "plan.h"
#include "rules.h"

int on_cuMemCreate(fn_cuMemCreate real, uint64_t *handle, size_t bytes, const CUmemAllocationProp *prop,
                   unsigned long long flags) {
    bool ours = handle && bytes && prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    struct plan p = {.device = ours ? slices_device(prop->location.id) : NULL};
    if (!p.device) return real(handle, bytes, prop, flags);
    if (!plan_reserve(&p, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(handle, bytes, prop, flags));
    return plan_end(&p, result, KIND_PHYSICAL, *handle, ACCOUNT_MEMORY);
}

static void drop(uint64_t handle) {
    struct entry e;
    if (book_drop(handle, &e)) book_settle(&e);
}

int on_cuMemRelease(fn_cuMemRelease real, uint64_t handle) {
    int result = real(handle);
    if (result == CUDA_SUCCESS) drop(handle);
    return result;
}

int on_cuMemRetainAllocationHandle(fn_cuMemRetainAllocationHandle real, uint64_t *handle, void *address) {
    int result = real(handle, address);
    if (result == CUDA_SUCCESS) book_retain(*handle);
    return result;
}

int on_cuMemMap(fn_cuMemMap real, CUdeviceptr ptr, size_t bytes, size_t offset, uint64_t handle,
                unsigned long long flags) {
    int result = real(ptr, bytes, offset, handle, flags);
    if (result != CUDA_SUCCESS) return result;
    book_retain(handle);
    book_add(&(struct entry){.kind = KIND_MAPPING, .key = ptr, .bytes = bytes, .target = handle});
    return result;
}

int on_cuMemUnmap(fn_cuMemUnmap real, CUdeviceptr ptr, size_t bytes) {
    int result = real(ptr, bytes);
    struct entry e;
    while (result == CUDA_SUCCESS && book_take_mapping(ptr, bytes, &e)) drop(e.target);
    return result;
}
