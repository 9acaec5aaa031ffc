// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory management: physical memory costs from its creation until
// its last reference - handle or mapping - is gone; addresses cost nothing.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu.h"
#include "cu_capture.h"
#include "cu_share.h"

struct cu_physical {
    struct cu_physical *next;
    uint64_t size, charged;
    CUmemAllocationProp prop;
    CUcontext payer; // a context on its device when it was made
    unsigned handles, mappings;
    bool multicast, imported;
};

static struct cu_physical *all;

static struct cu_physical *physical_of(CUmemGenericAllocationHandle handle) {
    for (struct cu_physical *p = all; p; p = p->next)
        if ((uintptr_t)p == handle && p->handles) return p;
    return NULL;
}

static void drop_if_unused(struct cu_physical *p) {
    if (p->handles || p->mappings) return;
    CUcontext ctx = p->charged ? cu_context_on(p->prop.location.id) : NULL;
    if (ctx) cu_charge(ctx, -(int64_t)p->charged);
    for (struct cu_physical **at = &all; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    free(p);
}

static CUresult add(const struct cu_physical *like, CUmemGenericAllocationHandle *handle) {
    struct cu_physical *p = malloc(sizeof *p);
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    *p = *like;
    p->handles = 1;
    p->next = all, all = p;
    *handle = (uintptr_t)p;
    return CUDA_SUCCESS;
}

static CUresult check_prop(const CUmemAllocationProp *prop) {
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    int where = prop->location.type;
    if (where < CU_MEM_LOCATION_TYPE_DEVICE || where > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    return where == CU_MEM_LOCATION_TYPE_DEVICE && !cu_device_at(prop->location.id) ? CUDA_ERROR_INVALID_DEVICE
                                                                                    : CUDA_SUCCESS;
}

// Only a device's memory is charged, host locations are not.
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                     unsigned long long flags) {
    CU_CALL();
    CU_TRY(check_prop(prop));
    if (!handle || flags || !size || size % CU_GRANULE) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    struct cu_physical p = {.size = size, .prop = *prop};
    if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        CUcontext ctx = cu_context_on(prop->location.id);
        if (!ctx) return CUDA_ERROR_INVALID_CONTEXT;
        if (size > cu_room(&cu.device[ctx->device])) return CUDA_ERROR_OUT_OF_MEMORY;
        CU_TRY(cu_charge(ctx, (int64_t)size));
        p.charged = size, p.payer = ctx;
    }
    CUresult r = add(&p, handle);
    if (r != CUDA_SUCCESS && p.charged) cu_charge(p.payer, -(int64_t)size);
    return r;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    CU_CALL();
    struct cu_physical *p = physical_of(handle);
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    p->handles--;
    drop_if_unused(p);
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    CU_CALL();
    (void)hint;
    if (!ptr || flags || !size || size % CU_GRANULE || alignment & (alignment - 1)) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr base = cu_addresses(size, alignment > CU_GRANULE ? alignment : CU_GRANULE);
    struct cu_range *r = cu_range_new(base, size, CU_MEM_RESERVED, NULL);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = base;
    return CUDA_SUCCESS;
}

// A reservation is split by what is mapped in it, so a range of it is looked
// for piece by piece: `covered` says whether all of it is of this kind.
static bool covered(CUdeviceptr ptr, uint64_t size, enum cu_memory kind) {
    for (CUdeviceptr at = ptr; at < ptr + size;) {
        struct cu_range *r = cu_range_at(at);
        if (!r || r->memory != kind) return false;
        at = r->base + r->size;
    }
    return true;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    CU_CALL();
    if (!size || !covered(ptr, size, CU_MEM_RESERVED)) return CUDA_ERROR_INVALID_VALUE;
    struct cu_range *r = cu_range_at(ptr);
    if (r->base != ptr) return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size;) {
        r = cu_range_at(at);
        at = r->base + r->size;
        cu_range_drop(r);
    }
    return CUDA_SUCCESS;
}

// replace puts a range of another kind in the middle of one range.
static struct cu_range *replace(struct cu_range *old, CUdeviceptr ptr, uint64_t size, enum cu_memory kind) {
    CUdeviceptr base = old->base, end = old->base + old->size;
    cu_range_drop(old);
    if (ptr > base) cu_range_new(base, ptr - base, CU_MEM_RESERVED, NULL);
    if (end > ptr + size) cu_range_new(ptr + size, end - ptr - size, CU_MEM_RESERVED, NULL);
    return cu_range_new(ptr, size, kind, NULL);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    CU_CALL();
    struct cu_physical *p = physical_of(handle);
    struct cu_range *r = cu_range_at(ptr);
    if (!p || flags || !size || size % CU_GRANULE || offset % CU_GRANULE || offset + size > p->size)
        return CUDA_ERROR_INVALID_VALUE;
    if (!r || r->memory != CU_MEM_RESERVED || ptr + size > r->base + r->size) return CUDA_ERROR_INVALID_VALUE;
    struct cu_range *mapped = replace(r, ptr, size, CU_MEM_MAPPED);
    if (!mapped) return CUDA_ERROR_OUT_OF_MEMORY;
    mapped->physical = p;
    p->mappings++;
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    CU_CALL();
    if (!size || !covered(ptr, size, CU_MEM_MAPPED)) return CUDA_ERROR_INVALID_VALUE;
    if (cu_range_at(ptr)->base != ptr) return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size;) {
        struct cu_range *r = cu_range_at(at);
        struct cu_physical *p = r->physical;
        at = r->base + r->size;
        replace(r, r->base, r->size, CU_MEM_RESERVED);
        p->mappings--;
        drop_if_unused(p);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemMapArrayAsync(void *list, unsigned int count, CUstream stream) {
    (void)list, (void)count, (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED; // sparse arrays
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count) {
    CU_CALL();
    if (!desc || !count || !size || !covered(ptr, size, CU_MEM_MAPPED)) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr) {
    CU_CALL();
    struct cu_range *r = cu_range_at(ptr);
    if (!flags || !location || !r || r->memory != CU_MEM_MAPPED) return CUDA_ERROR_INVALID_VALUE;
    *flags = 3;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int option) {
    CU_CALL();
    CU_TRY(check_prop(prop));
    if (!granularity || option < 0 || option > 1) return CUDA_ERROR_INVALID_VALUE;
    *granularity = CU_GRANULE;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle) {
    CU_CALL();
    struct cu_physical *p = physical_of(handle);
    if (!prop || !p) return CUDA_ERROR_INVALID_VALUE;
    *prop = p->prop;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
    CU_CALL();
    struct cu_range *r = cu_range_at((uintptr_t)address);
    if (!handle || !r || r->memory != CU_MEM_MAPPED) return CUDA_ERROR_INVALID_VALUE;
    r->physical->handles++;
    *handle = (uintptr_t)r->physical;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags) {
    CU_CALL();
    struct cu_physical *p = physical_of(handle);
    if (!shareable || !p || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(p->prop.requestedHandleTypes & type))
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_ticket t = cu_ticket_new(CU_TICKET_MEMORY, p->prop.location.id, p->size, p->multicast);
    int fd = cu_ticket_to_fd(&t);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(shareable, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable, int type) {
    CU_CALL();
    struct cu_ticket t;
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_ticket_from_fd(&t, (int)(intptr_t)shareable) || !cu_ticket_valid(&t, CU_TICKET_MEMORY))
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_physical p = {.size = t.size, .imported = true, .multicast = t.base,
                            .prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = type,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}};
    return add(&p, handle);
}

// Multicast objects are addresses of memory that its devices pay for.
CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop) {
    CU_CALL();
    if (!handle || !prop || !prop->numDevices || !prop->size || prop->size % CU_GRANULE || prop->flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_physical p = {.size = prop->size, .multicast = true,
                            .prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .requestedHandleTypes = (int)prop->handleTypes,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}};
    return add(&p, handle);
}

static CUresult multicast(CUmemGenericAllocationHandle handle, size_t offset, size_t size) {
    CU_CALL();
    struct cu_physical *p = physical_of(handle);
    return p && p->multicast && offset % CU_GRANULE == 0 && offset + size <= p->size ? CUDA_SUCCESS
                                                                                     : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice dev) {
    return dev < 0 || dev >= cu.devices ? CUDA_ERROR_INVALID_DEVICE : multicast(handle, 0, 0);
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory,
                            size_t memoryOffset, size_t size, unsigned long long flags) {
    (void)memoryOffset;
    return flags || !memory || !size ? CUDA_ERROR_INVALID_VALUE : multicast(handle, offset, size);
}

CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset,
                               CUmemGenericAllocationHandle memory, size_t memoryOffset, size_t size,
                               unsigned long long flags) {
    (void)dev;
    return cuMulticastBindMem(handle, offset, memory, memoryOffset, size, flags);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr ptr, size_t size,
                             unsigned long long flags) {
    return flags || !ptr || !size ? CUDA_ERROR_INVALID_VALUE : multicast(handle, offset, size);
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, CUdeviceptr ptr,
                                size_t size, unsigned long long flags) {
    (void)dev;
    return cuMulticastBindAddr(handle, offset, ptr, size, flags);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, size_t size) {
    (void)dev;
    return multicast(handle, offset, size);
}

CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop, int option) {
    if (!granularity || !prop || option < 0 || option > 1) return CUDA_ERROR_INVALID_VALUE;
    *granularity = CU_GRANULE;
    return CUDA_SUCCESS;
}
