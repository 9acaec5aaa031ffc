// SPDX-License-Identifier: Apache-2.0
//
// Copies, fills and prefetches. From COPY_WORTH bytes on they are work like a
// kernel: held back without a lease, and measured, by the kind of call and the
// power of two of their size. Smaller ones pass: they are over before a lease
// could change hands, and programs make very many of them.
#define _GNU_SOURCE
#include "gate.h"
#include "rules.h"

#define COPY_WORTH (UINT64_C(1) << 20)

// KEY stands for a copy of that size in the table of costs; no kernel's handle is
// so small an address.
#define KEY(kind, bytes) ((const void *)(uintptr_t)(64 * (kind) + (64 - __builtin_clzll((bytes) | 1)) + 1))

#define COPY(kind, bytes, stream, per_thread, call)                                                                    \
    ((bytes) < COPY_WORTH ? (call) : GATED(KEY(kind, bytes), stream, per_thread, call))

enum { PLAIN = 1, BATCH, PEER, TO_DEVICE, TO_HOST, ON_DEVICE, PLANE, VOLUME, FILL, PREFETCH };

static uint64_t together(const size_t *sizes, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; sizes && i < count; i++) sum += sizes[i];
    return sum;
}

static uint64_t plane(const CUDA_MEMCPY2D *c) {
    return c ? (uint64_t)c->WidthInBytes * c->Height : 0;
}

static uint64_t volume(const CUDA_MEMCPY3D *c) {
    return c ? (uint64_t)c->WidthInBytes * c->Height * c->Depth : 0;
}

int on_cuMemcpy(fn_cuMemcpy real, bool per_thread, CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    return COPY(PLAIN, bytes, NULL, per_thread, real(dst, src, bytes));
}

int on_cuMemcpyAsync(fn_cuMemcpyAsync real, bool per_thread, CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                     CUstream stream) {
    return COPY(PLAIN, bytes, stream, per_thread, real(dst, src, bytes, stream));
}

int on_cuMemcpyPeer(fn_cuMemcpyPeer real, bool per_thread, CUdeviceptr dst, CUcontext to, CUdeviceptr src,
                    CUcontext from, size_t bytes) {
    return COPY(PEER, bytes, NULL, per_thread, real(dst, to, src, from, bytes));
}

int on_cuMemcpyPeerAsync(fn_cuMemcpyPeerAsync real, bool per_thread, CUdeviceptr dst, CUcontext to, CUdeviceptr src,
                         CUcontext from, size_t bytes, CUstream stream) {
    return COPY(PEER, bytes, stream, per_thread, real(dst, to, src, from, bytes, stream));
}

int on_cuMemcpyHtoD(fn_cuMemcpyHtoD_v2 real, bool per_thread, CUdeviceptr dst, const void *src, size_t bytes) {
    return COPY(TO_DEVICE, bytes, NULL, per_thread, real(dst, src, bytes));
}

int on_cuMemcpyDtoH(fn_cuMemcpyDtoH_v2 real, bool per_thread, void *dst, CUdeviceptr src, size_t bytes) {
    return COPY(TO_HOST, bytes, NULL, per_thread, real(dst, src, bytes));
}

int on_cuMemcpyDtoD(fn_cuMemcpyDtoD_v2 real, bool per_thread, CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    return COPY(ON_DEVICE, bytes, NULL, per_thread, real(dst, src, bytes));
}

int on_cuMemcpyHtoDAsync(fn_cuMemcpyHtoDAsync_v2 real, bool per_thread, CUdeviceptr dst, const void *src,
                         size_t bytes, CUstream stream) {
    return COPY(TO_DEVICE, bytes, stream, per_thread, real(dst, src, bytes, stream));
}

int on_cuMemcpyDtoHAsync(fn_cuMemcpyDtoHAsync_v2 real, bool per_thread, void *dst, CUdeviceptr src, size_t bytes,
                         CUstream stream) {
    return COPY(TO_HOST, bytes, stream, per_thread, real(dst, src, bytes, stream));
}

int on_cuMemcpyDtoDAsync(fn_cuMemcpyDtoDAsync_v2 real, bool per_thread, CUdeviceptr dst, CUdeviceptr src,
                         size_t bytes, CUstream stream) {
    return COPY(ON_DEVICE, bytes, stream, per_thread, real(dst, src, bytes, stream));
}

int on_cuMemcpy2D(fn_cuMemcpy2D_v2 real, bool per_thread, const CUDA_MEMCPY2D *copy) {
    return COPY(PLANE, plane(copy), NULL, per_thread, real(copy));
}

int on_cuMemcpy2DUnaligned(fn_cuMemcpy2DUnaligned_v2 real, bool per_thread, const CUDA_MEMCPY2D *copy) {
    return COPY(PLANE, plane(copy), NULL, per_thread, real(copy));
}

int on_cuMemcpy2DAsync(fn_cuMemcpy2DAsync_v2 real, bool per_thread, const CUDA_MEMCPY2D *copy, CUstream stream) {
    return COPY(PLANE, plane(copy), stream, per_thread, real(copy, stream));
}

int on_cuMemcpy3D(fn_cuMemcpy3D_v2 real, bool per_thread, const CUDA_MEMCPY3D *copy) {
    return COPY(VOLUME, volume(copy), NULL, per_thread, real(copy));
}

int on_cuMemcpy3DAsync(fn_cuMemcpy3DAsync_v2 real, bool per_thread, const CUDA_MEMCPY3D *copy, CUstream stream) {
    return COPY(VOLUME, volume(copy), stream, per_thread, real(copy, stream));
}

int on_cuMemsetD8(fn_cuMemsetD8_v2 real, bool per_thread, CUdeviceptr dst, unsigned char value, size_t count) {
    return COPY(FILL, (uint64_t)count, NULL, per_thread, real(dst, value, count));
}

int on_cuMemsetD16(fn_cuMemsetD16_v2 real, bool per_thread, CUdeviceptr dst, unsigned short value, size_t count) {
    return COPY(FILL, (uint64_t)count * 2, NULL, per_thread, real(dst, value, count));
}

int on_cuMemsetD32(fn_cuMemsetD32_v2 real, bool per_thread, CUdeviceptr dst, unsigned value, size_t count) {
    return COPY(FILL, (uint64_t)count * 4, NULL, per_thread, real(dst, value, count));
}

int on_cuMemsetD8Async(fn_cuMemsetD8Async real, bool per_thread, CUdeviceptr dst, unsigned char value, size_t count,
                       CUstream stream) {
    return COPY(FILL, (uint64_t)count, stream, per_thread, real(dst, value, count, stream));
}

int on_cuMemsetD16Async(fn_cuMemsetD16Async real, bool per_thread, CUdeviceptr dst, unsigned short value,
                        size_t count, CUstream stream) {
    return COPY(FILL, (uint64_t)count * 2, stream, per_thread, real(dst, value, count, stream));
}

int on_cuMemsetD32Async(fn_cuMemsetD32Async real, bool per_thread, CUdeviceptr dst, unsigned value, size_t count,
                        CUstream stream) {
    return COPY(FILL, (uint64_t)count * 4, stream, per_thread, real(dst, value, count, stream));
}

int on_cuMemPrefetchAsync(fn_cuMemPrefetchAsync real, bool per_thread, CUdeviceptr ptr, size_t bytes, CUdevice dev,
                          CUstream stream) {
    return COPY(PREFETCH, bytes, stream, per_thread, real(ptr, bytes, dev, stream));
}

int on_cuMemPrefetchAsync_v2(fn_cuMemPrefetchAsync_v2 real, bool per_thread, CUdeviceptr ptr, size_t bytes,
                             CUmemLocation place, unsigned flags, CUstream stream) {
    return COPY(PREFETCH, bytes, stream, per_thread, real(ptr, bytes, place, flags, stream));
}

int on_cuMemcpyBatchAsync(fn_cuMemcpyBatchAsync real, bool per_thread, CUdeviceptr *dsts, CUdeviceptr *srcs,
                          size_t *sizes, size_t count, void *attrs, size_t *indexes, size_t kinds, size_t *failed,
                          CUstream stream) {
    uint64_t bytes = together(sizes, count);
    return COPY(BATCH, bytes, stream, per_thread,
                real(dsts, srcs, sizes, count, attrs, indexes, kinds, failed, stream));
}

int on_cuMemcpyBatchAsync_v2(fn_cuMemcpyBatchAsync_v2 real, bool per_thread, CUdeviceptr *dsts, CUdeviceptr *srcs,
                             size_t *sizes, size_t count, void *attrs, size_t *indexes, size_t kinds, CUstream stream) {
    uint64_t bytes = together(sizes, count);
    return COPY(BATCH, bytes, stream, per_thread, real(dsts, srcs, sizes, count, attrs, indexes, kinds, stream));
}
