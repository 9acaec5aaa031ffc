// SPDX-License-Identifier: Apache-2.0
//
// Many copies by one call, and copies with attributes, which are accepted and
// ignored.
#include "cu_copy.h"

static CUresult batch(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUstream stream,
                      size_t *failed) {
    // The default streams take no batches.
    if (!dsts || !srcs || !sizes || !count || (uintptr_t)stream < 4096) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult r = cu_copy_any(dsts[i], srcs[i], sizes[i], stream, false);
        if (r == CUDA_SUCCESS) continue;
        if (failed) *failed = i;
        return r;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes,
                            size_t *indices, size_t attributeCount, size_t *failed, CUstream stream) {
    (void)attributes, (void)indices, (void)attributeCount;
    return batch(dsts, srcs, sizes, count, stream, failed);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes,
                               size_t *indices, size_t attributeCount, CUstream stream) {
    (void)attributes, (void)indices, (void)attributeCount;
    return batch(dsts, srcs, sizes, count, stream, NULL);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *attributes,
                                     CUstream stream) {
    return attributes ? cu_copy_any(dst, src, bytes, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

// Operands are addresses or arrays; the size is the extent's, of an array in
// texels of one byte.
static CUresult one_3d(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream) {
    enum { POINTER = 1, ARRAY = 2 };
    if (op->src.type < POINTER || op->src.type > ARRAY || op->dst.type < POINTER || op->dst.type > ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D c = {.srcMemoryType = op->src.type == ARRAY ? 3 : 4, .dstMemoryType = op->dst.type == ARRAY ? 3 : 4,
                       .srcDevice = op->src.op.ptr.ptr, .dstDevice = op->dst.op.ptr.ptr,
                       .srcArray = op->src.op.array.array, .dstArray = op->dst.op.array.array,
                       .WidthInBytes = op->extent.width, .Height = op->extent.height, .Depth = op->extent.depth};
    return cuMemcpy3DAsync_v2(&c, stream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream) {
    return !op || flags ? CUDA_ERROR_INVALID_VALUE : one_3d(op, stream);
}

static CUresult batch_3d(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, CUstream stream) {
    if (!count || !ops || (uintptr_t)stream < 4096) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        CUresult r = one_3d(&ops[i], stream);
        if (r == CUDA_SUCCESS) continue;
        if (failed) *failed = i;
        return r;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, unsigned long long flags,
                              CUstream stream) {
    return flags ? CUDA_ERROR_INVALID_VALUE : batch_3d(count, ops, failed, stream);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
                                 CUstream stream) {
    return flags ? CUDA_ERROR_INVALID_VALUE : batch_3d(count, ops, NULL, stream);
}
