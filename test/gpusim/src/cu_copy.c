// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills: they take time and check their ranges. No byte is moved,
// since contents of device memory are not modelled.
#include "cu_copy.h"

#include "cu_capture.h"
#include "cu_graph.h"

// Bytes in a nanosecond: PCIe 5 x16, and device memory read and written.
enum { BUS = 50, MEMORY = 2000, FILL = 4000, LEAST_NS = 2000 };

uint64_t cu_copy_ns(enum cu_copy_path path, uint64_t bytes) {
    uint64_t rate = path == CU_PATH_HOST ? BUS : path == CU_PATH_DEVICE ? MEMORY : FILL;
    return bytes / rate + LEAST_NS;
}

uint64_t cu_bus_ns(uint64_t bytes) {
    return cu_copy_ns(CU_PATH_HOST, bytes);
}

// inside: the bytes lie in memory that is known here.
static bool inside(CUdeviceptr p, uint64_t bytes) {
    while (bytes) {
        struct cu_range *r = cu_range_at(p);
        if (!r || r->memory == CU_MEM_RESERVED) return false;
        uint64_t here = r->base + r->size - p;
        if (here >= bytes) return true;
        if (r->memory != CU_MEM_MAPPED) return false; // only mappings join seamlessly
        p += here, bytes -= here;
    }
    return true;
}

// transfer submits a copy and, where the call is synchronous, waits for it.
static CUresult transfer(CUstream stream, enum cu_copy_path path, uint64_t bytes, bool wait) {
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    uint64_t ns = cu_copy_ns(path, bytes);
    if (cu_capturing(s)) {
        if (wait) return cu_refuse_capture(s->ctx, s);
        return cu_capture_work(s, path == CU_PATH_FILL ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_MEMCPY, ns);
    }
    if (wait) CU_TRY(cu_refuse_unsafe());
    CU_TRY(cu_refuse_implicit(s));
    if (!bytes) return CUDA_SUCCESS;
    CU_TRY(cu_push(s, (struct gs_command){.kind = GS_CMD_COPY, .left_ns = ns}));
    return wait ? cu_wait(s, s->pushed) : CUDA_SUCCESS;
}

static CUresult flat(CUdeviceptr a, CUdeviceptr b, uint64_t bytes, enum cu_copy_path path, CUstream stream, bool wait) {
    CU_CONTEXT();
    (void)ctx;
    if ((a && !inside(a, bytes)) || (b && !inside(b, bytes)) || (bytes && !a && !b)) return CUDA_ERROR_INVALID_VALUE;
    return transfer(stream, path, bytes, wait);
}

static bool is_host(CUdeviceptr p) {
    struct cu_range *r = cu_range_at(p);
    return r && (r->memory == CU_MEM_HOST || (r->memory == CU_MEM_MANAGED && !r->resident));
}

// cu_copy_any: unified addresses say where they are. An address that is not known is
// pageable host memory.
CUresult cu_copy_any(CUdeviceptr dst, CUdeviceptr src, uint64_t bytes, CUstream stream, bool wait) {
    CU_CONTEXT();
    (void)ctx;
    bool host = is_host(dst) || is_host(src) || !cu_range_at(dst) || !cu_range_at(src);
    if (!dst || !src || (!cu_range_at(dst) && !cu_range_at(src))) return CUDA_ERROR_INVALID_VALUE;
    if ((cu_range_at(dst) && !inside(dst, bytes)) || (cu_range_at(src) && !inside(src, bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    return transfer(stream, host ? CU_PATH_HOST : CU_PATH_DEVICE, bytes, wait);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    return cu_copy_any(dst, src, bytes, NULL, true);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    return cu_copy_any(dst, src, bytes, stream, false);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dstCtx, CUdeviceptr src, CUcontext srcCtx, size_t bytes) {
    return cuMemcpyPeerAsync(dst, dstCtx, src, srcCtx, bytes, NULL);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstCtx, CUdeviceptr src, CUcontext srcCtx, size_t bytes,
                           CUstream stream) {
    if (!cu_is(dstCtx, CU_KIND_CONTEXT) || !cu_is(srcCtx, CU_KIND_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    return flat(dst, src, bytes, CU_PATH_HOST, stream, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(dst, 0, bytes, CU_PATH_HOST, NULL, true);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(src, 0, bytes, CU_PATH_HOST, NULL, true);
}

// Between device addresses even the plain form does not wait.
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(dst, src, bytes, CU_PATH_DEVICE, NULL, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(dst, 0, bytes, CU_PATH_HOST, stream, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(src, 0, bytes, CU_PATH_HOST, stream, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
    return !src || !dst ? CUDA_ERROR_INVALID_VALUE : flat(dst, src, bytes, CU_PATH_DEVICE, stream, false);
}

enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3, TYPE_UNIFIED = 4 };

static bool end_ok(int type, const void *host, CUdeviceptr device, CUarray array) {
    switch (type) {
    case TYPE_HOST: return host;
    case TYPE_DEVICE: return cu_range_at(device);
    case TYPE_ARRAY: return cu_is(array, CU_KIND_ARRAY);
    case TYPE_UNIFIED: return device;
    }
    return false;
}

CUresult cu_copy3d(const CUDA_MEMCPY3D *c, enum cu_copy_path *path, uint64_t *bytes) {
    if (!c || !end_ok(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray) ||
        !end_ok(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray))
        return CUDA_ERROR_INVALID_VALUE;
    bool host = c->srcMemoryType == TYPE_HOST || c->dstMemoryType == TYPE_HOST;
    *path = host ? CU_PATH_HOST : CU_PATH_DEVICE;
    *bytes = (uint64_t)c->WidthInBytes * (c->Height ? c->Height : 1) * (c->Depth ? c->Depth : 1);
    return CUDA_SUCCESS;
}

static CUresult copy3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async) {
    CU_CONTEXT();
    (void)ctx;
    enum cu_copy_path path;
    uint64_t bytes;
    CU_TRY(cu_copy3d(c, &path, &bytes));
    return transfer(stream, path, bytes, !async && path == CU_PATH_HOST);
}

static CUresult copy2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async) {
    if (!c || (c->srcMemoryType != TYPE_ARRAY && c->srcPitch && c->srcPitch < c->WidthInBytes) ||
        (c->dstMemoryType != TYPE_ARRAY && c->dstPitch && c->dstPitch < c->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D d = {.srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost, .srcDevice = c->srcDevice,
                       .srcArray = c->srcArray, .dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost,
                       .dstDevice = c->dstDevice, .dstArray = c->dstArray, .WidthInBytes = c->WidthInBytes,
                       .Height = c->Height, .Depth = 1};
    return copy3d(&d, stream, async);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    return copy2d(copy, NULL, false);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) {
    return copy2d(copy, NULL, false);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    return copy2d(copy, stream, true);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) {
    return copy3d(copy, NULL, false);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
    return copy3d(copy, stream, true);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D *copy) {
    return copy3d(copy, NULL, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *copy, CUstream stream) {
    return copy3d(copy, stream, true);
}

static CUresult array_copy(CUarray array, CUdeviceptr other, size_t bytes, enum cu_copy_path path, CUstream stream,
                           bool wait) {
    if (!cu_is(array, CU_KIND_ARRAY)) return CUDA_ERROR_INVALID_HANDLE;
    CU_CONTEXT();
    (void)ctx;
    if (other && !inside(other, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return transfer(stream, path, bytes, wait);
}

CUresult cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes) {
    (void)offset;
    return dst ? array_copy(src, 0, bytes, CU_PATH_HOST, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes) {
    (void)offset;
    return src ? array_copy(dst, 0, bytes, CU_PATH_HOST, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes) {
    (void)offset;
    return dst ? array_copy(src, dst, bytes, CU_PATH_DEVICE, NULL, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes) {
    (void)offset;
    return src ? array_copy(dst, src, bytes, CU_PATH_DEVICE, NULL, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream) {
    (void)offset;
    return dst ? array_copy(src, 0, bytes, CU_PATH_HOST, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream) {
    (void)offset;
    return src ? array_copy(dst, 0, bytes, CU_PATH_HOST, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fill(CUdeviceptr dst, uint64_t bytes, unsigned unit, CUstream stream) {
    return !dst || dst % unit ? CUDA_ERROR_INVALID_VALUE : flat(dst, 0, bytes, CU_PATH_FILL, stream, false);
}

#define FILL_CALLS(bits, type)                                                                                  \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count) {                                  \
        (void)value;                                                                                            \
        return fill(dst, count * (bits / 8), bits / 8, NULL);                                                   \
    }                                                                                                           \
    CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count, CUstream stream) {               \
        (void)value;                                                                                            \
        return fill(dst, count * (bits / 8), bits / 8, stream);                                                 \
    }                                                                                                           \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height) {   \
        return cuMemsetD2D##bits##Async(dst, pitch, value, width, height, NULL);                                \
    }                                                                                                           \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,   \
                                      CUstream stream) {                                                        \
        (void)value;                                                                                            \
        if (height > 1 && pitch < width * (bits / 8)) return CUDA_ERROR_INVALID_VALUE;                          \
        if (!width || !height) return fill(dst, 0, bits / 8, stream);                                           \
        return fill(dst, pitch * (height - 1) + width * (bits / 8), bits / 8, stream);                          \
    }
FILL_CALLS(8, unsigned char)
FILL_CALLS(16, unsigned short)
FILL_CALLS(32, unsigned int)
