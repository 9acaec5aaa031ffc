// SPDX-License-Identifier: Apache-2.0
//
// Contexts: what they cost, who has which current, and when they end.
#include <stdlib.h>
#include <string.h>

#include "cu.h"

enum { STACK = 64 };
static __thread struct {
    CUcontext ctx[STACK];
    int top; // entries in use
} current;

CUresult cu_check_context(CUcontext ctx) {
    if (!cu_is(ctx, CU_KIND_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    if (ctx->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    // A GPU that fell off the bus takes its contexts with it, also when it is back.
    const struct gs_context *c = &cu.m.s->exec.context[ctx->slot];
    bool gone = cu_gpu(&cu.device[ctx->device])->v.lost || !c->used || c->client != (uint32_t)cu.client;
    return gone ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult cu_current(CUcontext *ctx) {
    *ctx = current.top ? current.ctx[current.top - 1] : NULL;
    return *ctx ? cu_check_context(*ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUcontext cu_context_on(int device) {
    for (struct CUctx_st *c = cu.contexts; c; c = c->next)
        if (c->device == device) return c;
    return NULL;
}

CUresult cu_charge(CUcontext ctx, int64_t bytes) {
    struct gs_gpu *g = cu_gpu(&cu.device[ctx->device]);
    if (gs_process_charge(g, ctx->process, bytes) == NVML_SUCCESS) return CUDA_SUCCESS;
    // Full, unless a process is gone that nobody has missed yet.
    if (gs_clients_reap(&cu.m) && gs_process_charge(g, ctx->process, bytes) == NVML_SUCCESS) return CUDA_SUCCESS;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// process_entry finds or makes this process's entry in the GPU's table.
static int process_entry(const struct cu_device *d) {
    struct gs_gpu *g = cu_gpu(d);
    int i = gs_process_find(g, (uint32_t)cu.client, d->gi, d->ci);
    if (i >= 0) return i;
    struct gs_process p = {.pid = cu.m.s->exec.client[cu.client].pid,
                           .gi = d->gi,
                           .ci = d->ci,
                           .kind = GS_COMPUTE,
                           .client = (uint32_t)cu.client + 1};
    if (gs_process_add(g, &p) != NVML_SUCCESS) return -1;
    return gs_process_find(g, (uint32_t)cu.client, d->gi, d->ci);
}

static void leave_process(const struct CUctx_st *c) {
    struct gs_process *p = &cu_gpu(&cu.device[c->device])->v.process[c->process];
    if (--p->contexts) return;
    p->used = 0;
    cu_pools_end(c->device);
}

static CUresult admit(struct CUctx_st *c) {
    const struct cu_device *d = &cu.device[c->device];
    int entry = process_entry(d);
    if (entry < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    c->process = (uint32_t)entry;
    cu_gpu(d)->v.process[entry].contexts++;
    c->overhead = (uint64_t)cu.m.s->machine.context_mib << 20;
    int slot = -1;
    CUresult r = cu_charge(c, (int64_t)c->overhead);
    if (r == CUDA_SUCCESS) {
        slot = gs_exec_context_new(cu.m.s, (uint32_t)cu.client, d->gpu, c->process, d->place);
        if (slot < 0) cu_charge(c, -(int64_t)c->overhead), r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r != CUDA_SUCCESS) leave_process(c);
    c->slot = (uint32_t)slot;
    return r;
}

CUresult cu_context_create(int device, unsigned flags, CUcontext *out) {
    if (cu_gpu(&cu.device[device])->v.lost) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    struct CUctx_st *c = calloc(1, sizeof *c);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    c->kind = CU_KIND_CONTEXT, c->device = device, c->flags = flags, c->id = cu_id();
    c->limit[0] = 1024, c->limit[1] = 7 << 20, c->limit[2] = 8 << 20;
    CUresult r = admit(c);
    if (r == CUDA_SUCCESS && (r = cu_stream_create(c, 0, 0, &c->legacy)) != CUDA_SUCCESS) {
        cu_charge(c, -(int64_t)c->overhead);
        gs_exec_context_free(cu.m.s, c->slot);
        leave_process(c);
    }
    if (r != CUDA_SUCCESS) {
        free(c);
        return r;
    }
    cu.m.s->exec.stream[c->legacy->slot].flags = GS_STREAM_LEGACY;
    cu.m.s->exec.context[c->slot].legacy = c->legacy->slot;
    c->next = cu.contexts, cu.contexts = c;
    *out = c;
    return CUDA_SUCCESS;
}

// The object stays, so that later use of the handle is told from garbage.
void cu_context_destroy(CUcontext c) {
    cu_streams_end(c);
    cu_release_context(c);
    cu_modules_end(c);
    cu_charge(c, -(int64_t)c->overhead);
    gs_exec_context_free(cu.m.s, c->slot);
    leave_process(c);
    c->destroyed = true;
    for (struct CUctx_st **p = &cu.contexts; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    c->next = cu.ended, cu.ended = c;
    gs_exec_pulse(cu.m.s);
}

static CUresult push(CUcontext ctx) {
    if (current.top == STACK) return CUDA_ERROR_INVALID_VALUE;
    current.ctx[current.top++] = ctx;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice dev) {
    CU_CALL();
    if (!out || flags & ~0xffu) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_device_at(dev)) return CUDA_ERROR_INVALID_DEVICE;
    CUcontext ctx;
    CU_TRY(cu_context_create(dev, flags, &ctx));
    *out = ctx;
    return push(ctx);
}

CUresult cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev) {
    return create(ctx, flags, dev);
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev) {
    return create(ctx, flags, dev);
}

// Execution affinity exists under MPS only.
CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int count, unsigned int flags, CUdevice dev) {
    if (count < 0 || (count && !params)) return CUDA_ERROR_INVALID_VALUE;
    return count ? CUDA_ERROR_NOT_SUPPORTED : create(ctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev) {
    if (params && params->numExecAffinityParams) return CUDA_ERROR_NOT_SUPPORTED;
    return create(ctx, flags, dev);
}

static bool is_primary(CUcontext ctx) {
    return cu.device[ctx->device].primary == ctx;
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    if (is_primary(ctx) || ctx->green) return CUDA_ERROR_INVALID_CONTEXT;
    cu_context_destroy(ctx);
    if (current.top && current.ctx[current.top - 1] == ctx) current.top--;
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx) {
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxAttach(CUcontext *out, unsigned int flags) {
    CU_CONTEXT();
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    *out = ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext ctx) {
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    return push(ctx);
}

CUresult cuCtxPushCurrent(CUcontext ctx) {
    return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx) {
    CU_CALL();
    if (!current.top) return CUDA_ERROR_INVALID_CONTEXT;
    current.top--;
    if (ctx) *ctx = current.ctx[current.top];
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *ctx) {
    return cuCtxPopCurrent_v2(ctx);
}

// It replaces the top of the stack; NULL takes it away.
CUresult cuCtxSetCurrent(CUcontext ctx) {
    CU_CALL();
    if (ctx) CU_TRY(cu_check_context(ctx));
    if (current.top) current.top--;
    return ctx ? push(ctx) : CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx) {
    CU_CALL();
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    *ctx = current.top ? current.ctx[current.top - 1] : NULL;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!d->primary) CU_TRY(cu_context_create(dev, d->primary_flags, &d->primary));
    d->primary_refs++;
    *ctx = d->primary;
    return CUDA_SUCCESS;
}

static CUresult end_primary(CUdevice dev, bool reset) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!d->primary) return reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (!reset && --d->primary_refs) return CUDA_SUCCESS;
    d->primary_refs = 0;
    cu_context_destroy(d->primary);
    d->primary = NULL;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    return end_primary(dev, false);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    return end_primary(dev, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    return end_primary(dev, true);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    return end_primary(dev, true);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    d->primary_flags = flags;
    if (d->primary) d->primary->flags = flags;
    return CUDA_SUCCESS;
}

// Before 11.0 the flags of an active primary context were fixed.
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (d->primary) return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    d->primary_flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active) {
    CU_CALL();
    struct cu_device *d = cu_device_at(dev);
    if (!d) return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    *flags = d->primary_flags, *active = d->primary != NULL;
    return CUDA_SUCCESS;
}
