// SPDX-License-Identifier: Apache-2.0
//
// Tickets, and the calls that share pools and plain memory.
#include "cu_share.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cu_pool.h"

struct cu_ticket cu_ticket_new(enum cu_ticket_kind kind, int device, uint64_t size, uint64_t base) {
    return (struct cu_ticket){.kind = kind,
                              .client = (uint32_t)cu.client,
                              .generation = cu.m.s->exec.client[cu.client].generation,
                              .device = cu.device[device].gpu,
                              .size = size,
                              .base = base};
}

bool cu_ticket_valid(const struct cu_ticket *t, enum cu_ticket_kind kind) {
    if (t->kind != kind || t->client >= GS_MAX_CLIENTS) return false;
    const struct gs_client *c = &cu.m.s->exec.client[t->client];
    return c->used && c->generation == t->generation;
}

int cu_ticket_to_fd(const struct cu_ticket *t) {
    int fd = memfd_create("gpusim-ticket", MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (write(fd, t, sizeof *t) == (ssize_t)sizeof *t) return fd;
    close(fd);
    return -1;
}

bool cu_ticket_from_fd(struct cu_ticket *t, int fd) {
    return pread(fd, t, sizeof *t, 0) == (ssize_t)sizeof *t;
}

static int device_of(uint32_t gpu) {
    for (int i = 0; i < cu.devices; i++)
        if (cu.device[i].gpu == gpu) return i;
    return -1;
}

CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool, int type, unsigned long long flags) {
    CU_CALL();
    if (!handle || flags || !cu_is(pool, CU_KIND_POOL) || pool->imported) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(pool->handle_types & type))
        return CUDA_ERROR_INVALID_VALUE;
    struct cu_ticket t = cu_ticket_new(CU_TICKET_POOL, pool->device, 0, 0);
    int fd = cu_ticket_to_fd(&t);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(handle, &fd, sizeof fd);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, int type, unsigned long long flags) {
    struct cu_ticket t;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    if (!pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_ticket_from_fd(&t, (int)(intptr_t)handle)) return CUDA_ERROR_INVALID_VALUE;
    {
        CU_CALL();
        if (!cu_ticket_valid(&t, CU_TICKET_POOL)) return CUDA_ERROR_INVALID_VALUE;
        props.location.id = device_of(t.device);
    }
    CU_TRY(cuMemPoolCreate(pool, &props));
    (*pool)->imported = true;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr) {
    CU_CALL();
    struct cu_range *r = cu_range_at(ptr);
    if (!data || !r || r->memory != CU_MEM_POOL || r->base != ptr) return CUDA_ERROR_INVALID_VALUE;
    struct cu_ticket t = cu_ticket_new(CU_TICKET_POINTER, r->pool->device, r->size, r->base);
    memset(data, 0, sizeof *data);
    memcpy(data, &t, sizeof t);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data) {
    CU_CONTEXT();
    struct cu_ticket t;
    struct cu_range *r;
    if (!ptr || !data || !cu_is(pool, CU_KIND_POOL) || !pool->imported) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&t, data, sizeof t);
    if (!cu_ticket_valid(&t, CU_TICKET_POINTER)) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_pool_range(pool, ctx, 0, t.size, &r));
    *ptr = r->base;
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr) {
    CU_CONTEXT();
    struct cu_range *r = cu_range_at(ptr);
    if (!handle || !r || r->memory != CU_MEM_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    struct cu_ticket t = cu_ticket_new(CU_TICKET_IPC, ctx->device, r->size, r->base);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &t, sizeof t);
    return CUDA_SUCCESS;
}

// A process cannot open its own handle.
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags) {
    CU_CONTEXT();
    struct cu_ticket t;
    memcpy(&t, &handle, sizeof t);
    if (!ptr || flags != 1) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_ticket_valid(&t, CU_TICKET_IPC)) return CUDA_ERROR_INVALID_HANDLE;
    if (t.client == (uint32_t)cu.client) return CUDA_ERROR_INVALID_CONTEXT;
    if (t.device != cu.device[ctx->device].gpu) return CUDA_ERROR_INVALID_DEVICE;
    CUdeviceptr base = cu_addresses(cu_round_up(t.size, CU_GRANULE), CU_GRANULE);
    struct cu_range *r = cu_range_new(base, t.size, CU_MEM_IPC, ctx);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = r->base;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags) {
    return cuIpcOpenMemHandle_v2(ptr, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_range *r = cu_range_at(ptr);
    if (!r || r->memory != CU_MEM_IPC || r->base != ptr) return CUDA_ERROR_INVALID_VALUE;
    cu_range_drop(r);
    return CUDA_SUCCESS;
}
