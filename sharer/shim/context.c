// SPDX-License-Identifier: Apache-2.0
//
// Contexts cost memory before anything is allocated. The agent measures how much
// on this GPU and driver, and it is charged when a context is created; what the
// agent finds later it writes over overhead_bytes.
#define _GNU_SOURCE
#include "context.h"

#include "gate.h"
#include "plan.h"
#include "pools.h"
#include "rules.h"
#include "sizes.h"

static _Atomic int alive; // contexts, primary ones included

// begin says whether there is anything to account for. Contexts of GPUs that are
// not shared are counted too, and cost nothing.
static bool begin(struct plan *p, CUdevice dev) {
    unsigned shared;
    slices_devices(&shared);
    *p = (struct plan){.device = slices_device(dev)};
    return shared > 0;
}

static bool reserve(struct plan *p) {
    return plan_reserve(p, p->device ? LOAD(p->device->slices[0]->grant->context_bytes) : 0);
}

static int made(struct plan *p, int result, uint64_t key, CUcontext context) {
    plan_end(p, result, KIND_CONTEXT, key, ACCOUNT_OVERHEAD);
    if (result != CUDA_SUCCESS) return result;
    gate_use(p->device);
    gate_contexts(atomic_fetch_add(&alive, 1) + 1, p->device, context);
    return result;
}

// die gives back a context and everything that went with it.
static void die(CUcontext context, uint64_t key) {
    struct entry e;
    if (!book_take(KIND_CONTEXT, key, &e)) return;
    book_settle(&e);
    gate_contexts(atomic_fetch_sub(&alive, 1) - 1, NULL, NULL);
    while (context && book_take_context(context, &e)) book_settle(&e);
    pools_refresh(e.device);
}

int on_cuCtxCreate(fn_cuCtxCreate_v2 real, CUcontext *ctx, unsigned flags, CUdevice dev) {
    struct plan p;
    if (slices_accepted() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!ctx || !begin(&p, dev)) return real(ctx, flags, dev);
    if (!reserve(&p)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ctx, flags, dev));
    return made(&p, result, (uintptr_t)*ctx, *ctx);
}

int on_cuCtxCreate_v3(fn_cuCtxCreate_v3 real, CUcontext *ctx, void *affinity, int count, unsigned flags, CUdevice dev) {
    struct plan p;
    if (slices_accepted() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!ctx || !begin(&p, dev)) return real(ctx, affinity, count, flags, dev);
    if (!reserve(&p)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ctx, affinity, count, flags, dev));
    return made(&p, result, (uintptr_t)*ctx, *ctx);
}

int on_cuCtxCreate_v4(fn_cuCtxCreate_v4 real, CUcontext *ctx, void *params, unsigned flags, CUdevice dev) {
    struct plan p;
    if (slices_accepted() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!ctx || !begin(&p, dev)) return real(ctx, params, flags, dev);
    if (!reserve(&p)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = PLAN_CALL(&p, real(ctx, params, flags, dev));
    return made(&p, result, (uintptr_t)*ctx, *ctx);
}

int on_cuCtxDestroy(fn_cuCtxDestroy_v2 real, CUcontext ctx) {
    gate_forget_context(ctx);
    int result = real(ctx);
    if (result == CUDA_SUCCESS) die(ctx, (uintptr_t)ctx);
    return result;
}

// A primary context is entered under its GPU's number, which no context's address
// is: retained many times, it exists once.
static uint64_t primary_key(CUdevice dev) {
    return (uint64_t)(unsigned)dev + 1;
}

static bool is_active(CUdevice dev) {
    int (*get)(CUdevice, unsigned *, int *) = DRIVER(cuDevicePrimaryCtxGetState, CUdevice, unsigned *, int *);
    unsigned flags;
    int active = 0;
    return get && get(dev, &flags, &active) == CUDA_SUCCESS && active;
}

static struct {
    CUcontext context;
    unsigned retained;
} primary[MAX_DEVICES];
static struct lock primary_lock;

int on_cuDevicePrimaryCtxRetain(fn_cuDevicePrimaryCtxRetain real, CUcontext *ctx, CUdevice dev) {
    struct plan p;
    if (slices_accepted() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!ctx || dev < 0 || dev >= MAX_DEVICES || !begin(&p, dev)) return real(ctx, dev);
    lock_take(&primary_lock);
    bool first = !is_active(dev), room = !first || reserve(&p);
    int result = room ? PLAN_CALL(&p, real(ctx, dev)) : CUDA_ERROR_OUT_OF_MEMORY;
    if (first && room) made(&p, result, primary_key(dev), *ctx);
    if (result == CUDA_SUCCESS) primary[dev].context = *ctx, primary[dev].retained++;
    lock_give(&primary_lock);
    return result;
}

int on_cuDevicePrimaryCtxRelease(fn_cuDevicePrimaryCtxRelease real, CUdevice dev) {
    if (dev < 0 || dev >= MAX_DEVICES) return real(dev);
    lock_take(&primary_lock);
    if (primary[dev].retained == 1) gate_forget_context(primary[dev].context);
    int result = real(dev);
    if (result == CUDA_SUCCESS && primary[dev].retained > 0) primary[dev].retained--;
    if (result == CUDA_SUCCESS && !is_active(dev)) die(primary[dev].context, primary_key(dev));
    lock_give(&primary_lock);
    return result;
}

int on_cuDevicePrimaryCtxReset(fn_cuDevicePrimaryCtxReset real, CUdevice dev) {
    if (dev < 0 || dev >= MAX_DEVICES) return real(dev);
    lock_take(&primary_lock);
    gate_forget_context(primary[dev].context);
    int result = real(dev);
    if (result == CUDA_SUCCESS && !is_active(dev)) die(primary[dev].context, primary_key(dev));
    lock_give(&primary_lock);
    return result;
}

// A green context is a part of the primary one, which it keeps alive.
int on_cuGreenCtxCreate(fn_cuGreenCtxCreate real, CUgreenCtx *green, void *desc, CUdevice dev, unsigned flags) {
    struct plan p;
    if (slices_accepted() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (!green || !begin(&p, dev)) return real(green, desc, dev, flags);
    lock_take(&primary_lock);
    bool first = !is_active(dev), room = !first || reserve(&p);
    int result = room ? PLAN_CALL(&p, real(green, desc, dev, flags)) : CUDA_ERROR_OUT_OF_MEMORY;
    if (first && room) made(&p, result, primary_key(dev), NULL);
    lock_give(&primary_lock);
    return result;
}

void context_after_fork(void) {
    primary_lock = (struct lock){0};
    atomic_store(&alive, 0);
}

// Code is loaded into the context's memory. The image's size is what it takes at
// most; it is charged after the fact, since a loader that is refused cannot retry.
static int loaded(int result, CUmodule *module, uint64_t bytes) {
    struct plan p;
    if (result != CUDA_SUCCESS || bytes == 0 || !plan_begin(&p)) return result;
    p.charge.slice = p.device->slices[0];
    p.bytes = bytes;
    return plan_end(&p, result, KIND_MODULE, (uintptr_t)*module, ACCOUNT_OVERHEAD);
}

int on_cuModuleLoad(fn_cuModuleLoad real, CUmodule *module, const char *path) {
    int result = real(module, path);
    return loaded(result, module, sizes_file(path));
}

int on_cuModuleLoadData(fn_cuModuleLoadData real, CUmodule *module, const void *image) {
    int result = real(module, image);
    return loaded(result, module, result == CUDA_SUCCESS ? sizes_image(image) : 0);
}

int on_cuModuleLoadDataEx(fn_cuModuleLoadDataEx real, CUmodule *module, const void *image, unsigned count, int *options,
                          void **values) {
    int result = real(module, image, count, options, values);
    return loaded(result, module, result == CUDA_SUCCESS ? sizes_image(image) : 0);
}

int on_cuModuleUnload(fn_cuModuleUnload real, CUmodule module) {
    return PLAN_FREE(KIND_MODULE, (uintptr_t)module, real(module));
}
