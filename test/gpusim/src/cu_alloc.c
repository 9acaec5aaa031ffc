// SPDX-License-Identifier: Apache-2.0
//
// Device memory as the driver hands it out: 1 MiB and more in granules of
// 2 MiB; less from slabs of one granule that a context keeps while anything
// in them is in use.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cu.h"

enum { UNITS = CU_GRANULE / CU_ALIGN };

struct cu_slab {
    struct cu_slab *next;
    CUdeviceptr base;
    uint32_t used; // units in use
    uint8_t taken[UNITS];
};

static bool fits(const struct cu_slab *s, uint32_t at, uint32_t units) {
    for (uint32_t i = 0; i < units; i++)
        if (s->taken[at + i]) return false;
    return true;
}

static int find_units(const struct cu_slab *s, uint32_t units) {
    if (UNITS - s->used < units) return -1;
    for (uint32_t at = 0; at + units <= UNITS; at++)
        if (!s->taken[at] && fits(s, at, units)) return (int)at;
    return -1;
}

static CUresult new_slab(CUcontext ctx, struct cu_slab **out) {
    struct cu_slab *s = calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = cu_charge(ctx, CU_GRANULE);
    if (r != CUDA_SUCCESS) {
        free(s);
        return r;
    }
    s->base = cu_addresses(CU_GRANULE, CU_GRANULE);
    s->next = ctx->slabs, ctx->slabs = s;
    *out = s;
    return CUDA_SUCCESS;
}

static CUresult allocate_small(CUcontext ctx, uint64_t size, struct cu_range **out) {
    uint32_t units = (uint32_t)(cu_round_up(size, CU_ALIGN) / CU_ALIGN);
    struct cu_slab *s = ctx->slabs;
    int at = -1;
    for (; s; s = s->next)
        if ((at = find_units(s, units)) >= 0) break;
    if (!s) CU_TRY(new_slab(ctx, &s));
    if (at < 0) at = 0;
    struct cu_range *r = cu_range_new(s->base + (uint64_t)at * CU_ALIGN, size, CU_MEM_DEVICE, ctx);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(s->taken + at, 1, units);
    s->used += units;
    r->slab = s;
    *out = r;
    return CUDA_SUCCESS;
}

CUresult cu_allocate(CUcontext ctx, uint64_t size, struct cu_range **out) {
    if (size < CU_SMALL) return allocate_small(ctx, size, out);
    if (size > cu_room(&cu.device[ctx->device])) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t charged = cu_round_up(size, CU_GRANULE);
    CU_TRY(cu_charge(ctx, (int64_t)charged));
    struct cu_range *r = cu_range_new(cu_addresses(charged, CU_GRANULE), size, CU_MEM_DEVICE, ctx);
    if (!r) {
        cu_charge(ctx, -(int64_t)charged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->charged = charged;
    *out = r;
    return CUDA_SUCCESS;
}

static void drop_slab(CUcontext ctx, struct cu_slab *s) {
    for (struct cu_slab **p = &ctx->slabs; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    cu_addresses_free(s->base, CU_GRANULE);
    cu_charge(ctx, -(int64_t)CU_GRANULE);
    free(s);
}

static void release_small(struct cu_range *r) {
    struct cu_slab *s = r->slab;
    uint32_t units = (uint32_t)(cu_round_up(r->size, CU_ALIGN) / CU_ALIGN);
    memset(s->taken + (r->base - s->base) / CU_ALIGN, 0, units);
    s->used -= units;
    if (!s->used) drop_slab(r->ctx, s);
}

void cu_release(struct cu_range *r) {
    if (r->slab) release_small(r);
    else if (r->charged) cu_charge(r->ctx, -(int64_t)r->charged);
    if (r->memory == CU_MEM_DEVICE && !r->slab) cu_addresses_free(r->base, r->charged);
    if ((r->memory == CU_MEM_HOST && !r->registered) || r->memory == CU_MEM_MANAGED)
        munmap((void *)(uintptr_t)r->base, r->size);
    cu_range_drop(r);
}
