// SPDX-License-Identifier: Apache-2.0
//
// Allocation in stream order. An allocation is made at the call; a free counts
// as done at the call, and its memory leaves the pool at a synchronization.
#include "cu_capture.h"
#include "cu_graph.h"
#include "cu_pool.h"

static CUresult allocate(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream) {
    CU_CALL();
    CUstream s;
    struct cu_range *r;
    if (!ptr || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_stream(stream, &s));
    if (pool && !cu_is(pool, CU_KIND_POOL)) return CUDA_ERROR_INVALID_VALUE;
    if (!pool && !(pool = cu.device[s->ctx->device].pool)) CU_TRY(cu_default_pool(s->ctx->device, &pool));
    if (cu_capturing(s)) return cu_capture_alloc(s, bytes, ptr);
    CU_TRY(cu_refuse_implicit(s));
    if (pool->imported) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_pool_range(pool, s->ctx, 0, bytes, &r));
    *ptr = r->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream) {
    return allocate(ptr, bytes, NULL, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream) {
    return pool ? allocate(ptr, bytes, pool, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (cu_capturing(s)) return cu_capture_free(s, ptr);
    CU_TRY(cu_refuse_implicit(s));
    struct cu_range *r = cu_range_at(ptr);
    if (!r || r->base != ptr || (r->memory != CU_MEM_POOL && r->memory != CU_MEM_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    if (r->memory == CU_MEM_POOL) return cu_pool_free(r);
    cu_release(r);
    return CUDA_SUCCESS;
}
