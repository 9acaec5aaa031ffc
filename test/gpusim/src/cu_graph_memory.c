// SPDX-License-Identifier: Apache-2.0
//
// Memory of graphs, device by device, and captured work.
#include "cu_graph.h"
#include "cu_pool.h"

CUresult cu_capture_kernel(CUstream s, const struct cu_launch *l) {
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .ns = l->ns, .launch = *l};
    return cu_capture_node(s, &w, NULL);
}

CUresult cu_capture_work(CUstream s, int type, uint64_t ns) {
    struct cu_work w = {.type = type, .ns = ns};
    return cu_capture_node(s, &w, NULL);
}

CUresult cu_capture_host(CUstream s, CUhostFn fn, void *user) {
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_HOST, .fn = fn, .user = user};
    return cu_capture_node(s, &w, NULL);
}

CUresult cu_capture_alloc(CUstream s, uint64_t bytes, CUdeviceptr *ptr) {
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .bytes = bytes};
    w.ptr = cu_addresses(cu_round_up(bytes, CU_GRANULE), CU_GRANULE);
    CU_TRY(cu_capture_node(s, &w, NULL));
    *ptr = w.ptr;
    return CUDA_SUCCESS;
}

CUresult cu_capture_free(CUstream s, CUdeviceptr ptr) {
    struct cu_work w = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .ptr = ptr};
    return ptr ? cu_capture_node(s, &w, NULL) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult graph_pool(CUdevice dev, CUmemoryPool *pool) {
    if (!cu_device_at(dev)) return CUDA_ERROR_INVALID_DEVICE;
    return cu_graph_pool(dev, pool);
}

CUresult cuDeviceGraphMemTrim(CUdevice dev) {
    CU_CALL();
    CUmemoryPool pool;
    CU_TRY(graph_pool(dev, &pool));
    cu_pool_trim(pool, 0);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, int attribute, void *value) {
    CU_CALL();
    CUmemoryPool pool;
    CU_TRY(graph_pool(dev, &pool));
    if (!value || attribute < 0 || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t numbers[] = {pool->used, pool->used_high, pool->reserved, pool->reserved_high};
    *(cuuint64_t *)value = numbers[attribute];
    return CUDA_SUCCESS;
}

// High marks can be reset, to 0 only.
CUresult cuDeviceSetGraphMemAttribute(CUdevice dev, int attribute, void *value) {
    CU_CALL();
    CUmemoryPool pool;
    CU_TRY(graph_pool(dev, &pool));
    if (!value || *(cuuint64_t *)value) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) pool->used_high = pool->used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) pool->reserved_high = pool->reserved;
    else return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
