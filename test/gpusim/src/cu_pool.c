// SPDX-License-Identifier: Apache-2.0
#include "cu_pool.h"

#include <stdlib.h>

enum { STEP = 32 << 20 }; // growth of a pool

static struct CUmemPoolHandle_st *pools;

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static CUresult new_pool(int device, CUmemoryPool *out) {
    struct CUmemPoolHandle_st *p = calloc(1, sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (struct CUmemPoolHandle_st){.kind = CU_KIND_POOL, .device = device, .reuse = {1, 1, 1, 1}, .next = pools};
    pools = p;
    *out = p;
    return CUDA_SUCCESS;
}

CUresult cu_default_pool(int device, CUmemoryPool *out) {
    struct cu_device *d = &cu.device[device];
    if (!d->default_pool) CU_TRY(new_pool(device, &d->default_pool));
    *out = d->default_pool;
    return CUDA_SUCCESS;
}

CUresult cu_graph_pool(int device, CUmemoryPool *out) {
    struct cu_device *d = &cu.device[device];
    if (!d->graph_pool) {
        CU_TRY(new_pool(device, &d->graph_pool));
        d->graph_pool->graph = true;
    }
    *out = d->graph_pool;
    return CUDA_SUCCESS;
}

static CUresult grow(CUmemoryPool p, CUcontext ctx, uint64_t missing) {
    uint64_t step = cu_round_up(missing, STEP);
    if (p->limit && p->reserved + step > p->limit) step = cu_round_up(missing, CU_GRANULE);
    if (p->limit && p->reserved + step > p->limit) return CUDA_ERROR_OUT_OF_MEMORY;
    if (cu_charge(ctx, (int64_t)step) != CUDA_SUCCESS) {
        step = cu_round_up(missing, CU_GRANULE); // near the end a pool grows by what is needed
        CU_TRY(cu_charge(ctx, (int64_t)step));
    }
    p->reserved += step;
    p->reserved_high = larger(p->reserved_high, p->reserved);
    return CUDA_SUCCESS;
}

CUresult cu_pool_take(CUmemoryPool p, CUcontext any, uint64_t bytes) {
    CUcontext ctx = any->device == p->device ? any : cu_context_on(p->device);
    bytes = cu_round_up(bytes, CU_ALIGN);
    if (!ctx) return CUDA_ERROR_INVALID_CONTEXT;
    if (bytes > cu_room(&cu.device[p->device])) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!p->imported && p->used + bytes > p->reserved) CU_TRY(grow(p, ctx, p->used + bytes - p->reserved));
    p->used += bytes;
    p->used_high = larger(p->used_high, p->used);
    return CUDA_SUCCESS;
}

void cu_pool_give(CUmemoryPool p, uint64_t bytes) {
    p->used -= cu_round_up(bytes, CU_ALIGN);
}

CUresult cu_pool_range(CUmemoryPool p, CUcontext ctx, CUdeviceptr at, uint64_t bytes, struct cu_range **out) {
    CU_TRY(cu_pool_take(p, ctx, bytes));
    if (!at) at = cu_addresses(cu_round_up(bytes, CU_ALIGN), CU_ALIGN);
    struct cu_range *r = cu_range_new(at, bytes, CU_MEM_POOL, ctx);
    if (!r) {
        cu_pool_give(p, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->pool = p;
    *out = r;
    return CUDA_SUCCESS;
}

CUresult cu_pool_free(struct cu_range *r) {
    cu_pool_give(r->pool, r->size);
    if (!r->pool->graph) cu_addresses_free(r->base, cu_round_up(r->size, CU_ALIGN));
    cu_range_drop(r);
    return CUDA_SUCCESS;
}

void cu_pool_trim(CUmemoryPool p, uint64_t keep) {
    CUcontext ctx = cu_context_on(p->device);
    keep = cu_round_up(larger(keep, p->used), CU_GRANULE);
    if (p->imported || !ctx || p->reserved <= keep) return;
    cu_charge(ctx, -(int64_t)(p->reserved - keep));
    p->reserved = keep;
}

void cu_pools_settle(void) {
    for (struct CUmemPoolHandle_st *p = pools; p; p = p->next)
        if (!p->graph && p->reserved > p->threshold && p->reserved > p->used) cu_pool_trim(p, p->threshold);
}

// With its last context on a device a process gives back the pools' memory.
void cu_pools_end(int device) {
    for (struct CUmemPoolHandle_st *p = pools; p; p = p->next)
        if (p->device == device) p->reserved = p->used = 0;
}

static CUresult device_pool(CUmemoryPool *pool, CUdevice dev, bool current) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    CU_TRY(cu_default_pool(dev, pool));
    if (current && d->pool) *pool = d->pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev) {
    return device_pool(pool, dev, false);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev) {
    return device_pool(pool, dev, true);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!cu_is(pool, CU_KIND_POOL) || pool->device != dev) return CUDA_ERROR_INVALID_VALUE;
    d->pool = pool;
    return CUDA_SUCCESS;
}

// The forms of 13.0 know other places than devices; only devices have pools here.
static CUresult on_device(const CUmemLocation *location, int type) {
    if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, int type) {
    CU_TRY(on_device(location, type));
    return device_pool(pool, location->id, false);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, int type) {
    CU_TRY(on_device(location, type));
    return device_pool(pool, location->id, true);
}

CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool) {
    CU_TRY(on_device(location, type));
    return cuDeviceSetMemPool(location->id, pool);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    CU_CALL();
    if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (!cu_device_at(props->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    CU_TRY(new_pool(props->location.id, pool));
    (*pool)->limit = props->maxSize, (*pool)->handle_types = props->handleTypes;
    return CUDA_SUCCESS;
}

#define CU_POOL(pool) \
    CU_CALL();        \
    if (!cu_is(pool, CU_KIND_POOL)) return CUDA_ERROR_INVALID_VALUE

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    CU_POOL(pool);
    struct cu_device *d = &cu.device[pool->device];
    if (pool == d->default_pool || pool == d->graph_pool) return CUDA_ERROR_INVALID_VALUE;
    if (d->pool == pool) d->pool = NULL;
    // Allocations live on: the pool stays for them, out of the program's reach.
    pool->threshold = 0;
    cu_pool_trim(pool, 0);
    pool->kind = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    CU_POOL(pool);
    cu_pool_trim(pool, keep);
    return CUDA_SUCCESS;
}

static uint64_t *number_attribute(CUmemoryPool p, int attribute) {
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &p->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &p->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &p->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &p->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &p->used_high;
    }
    return NULL;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
    CU_POOL(pool);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    uint64_t *number = number_attribute(pool, attribute);
    if (number) *(cuuint64_t *)value = *number;
    else if (attribute >= 1 && attribute <= 3) *(int *)value = (int)pool->reuse[attribute];
    else return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// High marks can only be reset.
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
    CU_POOL(pool);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    uint64_t number = attribute > 3 ? *(cuuint64_t *)value : *(uint32_t *)value;
    if (attribute >= 1 && attribute <= 3) pool->reuse[attribute] = (uint32_t)number;
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) pool->threshold = number;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && !number) pool->reserved_high = pool->reserved;
    else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH && !number) pool->used_high = pool->used;
    else return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    CU_POOL(pool);
    if (!map && count) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!cu_device_at(map[i].location.id)) return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location) {
    CU_POOL(pool);
    if (!flags || !location) return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == pool->device ? 3 : 0;
    return CUDA_SUCCESS;
}
