// SPDX-License-Identifier: Apache-2.0
//
// Where managed memory is. A prefetch moves a whole allocation; advice is
// accepted and ignored.
#include "cu.h"
#include "cu_capture.h"

// move brings a range to a device, or to the host with dev < 0, at the speed
// of the bus.
static CUresult move(struct cu_range *r, int dev, CUstream s) {
    bool to_device = dev >= 0;
    if (r->memory != CU_MEM_MANAGED || r->resident == to_device) return CUDA_SUCCESS;
    uint64_t size = cu_round_up(r->size, CU_GRANULE);
    // Pages that do not fit stay where they are: managed memory may exceed the device.
    if (cu_charge(r->ctx, to_device ? (int64_t)size : -(int64_t)size) != CUDA_SUCCESS) return CUDA_SUCCESS;
    r->resident = to_device;
    r->charged = to_device ? size : 0;
    return cu_push(s, (struct gs_command){.kind = GS_CMD_COPY, .left_ns = cu_bus_ns(size)});
}

static CUresult prefetch(CUdeviceptr ptr, size_t bytes, int dev, CUstream stream) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    struct cu_range *r = cu_range_at(ptr);
    if (!bytes || !r || ptr + bytes > r->base + r->size) return CUDA_ERROR_INVALID_VALUE;
    if (dev >= 0 && !cu_device_at(dev)) return CUDA_ERROR_INVALID_DEVICE;
    if (cu_capturing(s)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CU_TRY(cu_refuse_implicit(s));
    return move(r, dev, s);
}

static int device_of(CUmemLocation location) {
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : -1;
}

CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream) {
    return dev < -1 ? CUDA_ERROR_INVALID_DEVICE : prefetch(ptr, bytes, dev, stream);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
    return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(ptr, bytes, device_of(location), stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
                                 size_t *indices, size_t locationCount, unsigned long long flags, CUstream stream) {
    if (!ptrs || !sizes || !count || !locations || !indices || !locationCount || flags) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k + 1 < locationCount && indices[k + 1] <= i) k++;
        CU_TRY(prefetch(ptrs[i], sizes[i], device_of(locations[k]), stream));
    }
    return CUDA_SUCCESS;
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags,
                                CUstream stream) {
    if (!ptrs || !sizes || !count || flags) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) CU_TRY(prefetch(ptrs[i], sizes[i], -1, stream));
    return CUDA_SUCCESS;
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations,
                                           size_t *indices, size_t locationCount, unsigned long long flags,
                                           CUstream stream) {
    return cuMemPrefetchBatchAsync(ptrs, sizes, count, locations, indices, locationCount, flags, stream);
}

static CUresult advise(CUdeviceptr ptr, size_t bytes, int advice) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = cu_range_at(ptr);
    if (!bytes || !r || advice < 1 || advice > 8) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice dev) {
    (void)dev;
    return advise(ptr, bytes, advice);
}

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation location) {
    (void)location;
    return advise(ptr, bytes, advice);
}
