// SPDX-License-Identifier: Apache-2.0
//
// Memory pools. A pool reserves device memory in steps and keeps it until it
// is trimmed or a synchronization finds more than its release threshold.
#ifndef GPUSIM_CU_POOL_H
#define GPUSIM_CU_POOL_H

#include "cu.h"

struct CUmemPoolHandle_st {
    uint32_t kind;
    int device;
    bool imported; // its memory is another process's
    bool graph;    // of graph allocations: no threshold, trimmed by its own call
    uint64_t reserved, reserved_high, used, used_high, threshold, limit;
    uint32_t reuse[4]; // attributes that are remembered only
    int handle_types;
    struct CUmemPoolHandle_st *next;
};

// cu_default_pool and cu_graph_pool of a device, made when first asked for.
CUresult cu_default_pool(int device, CUmemoryPool *out);
CUresult cu_graph_pool(int device, CUmemoryPool *out);

// cu_pool_take makes `bytes` of the pool used, growing it as needed.
CUresult cu_pool_take(CUmemoryPool p, CUcontext ctx, uint64_t bytes);
void cu_pool_give(CUmemoryPool p, uint64_t bytes);

// cu_pool_range is an allocation from the pool at an address (0: a new one).
CUresult cu_pool_range(CUmemoryPool p, CUcontext ctx, CUdeviceptr at, uint64_t bytes, struct cu_range **out);

// cu_pool_trim gives reserved memory above `keep` and what is used back.
void cu_pool_trim(CUmemoryPool p, uint64_t keep);

#endif
