// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pools.h"

#include <stdlib.h>

#include "book.h"
#include "capture.h"
#include "rules.h"
#include "short.h"

// Pools grow in steps; 32 MiB is the largest that was seen.
#define LARGEST_STEP (UINT64_C(32) << 20)
#define SMALLEST_STEP (UINT64_C(2) << 20)

struct pool {
    CUmemoryPool handle; // NULL: graphs
    struct device *device;
    bool dead; // destroyed; what it held when it was stays charged
    uint64_t step;
    uint64_t held[MAX_SLICES]; // by the device's slices
    struct pool *next;
};

static struct lock lock;
static struct pool *pools;

// add enters a pool. The lock is held. A NULL device: its memory is not a GPU's.
static struct pool *add(struct device *d, CUmemoryPool handle) {
    struct pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    *p = (struct pool){.handle = handle, .device = d, .step = LARGEST_STEP, .next = pools};
    pools = p;
    return p;
}

// look_up finds a pool, or enters it: somebody else made it. The lock is held.
static struct pool *look_up(struct device *d, CUmemoryPool handle) {
    for (struct pool *p = pools; p; p = p->next)
        if (p->handle == handle && !p->dead && (handle || p->device == d)) return p;
    return add(d, handle);
}

// read_pool asks the driver; false: it does not say.
static bool read_pool(const struct pool *p, bool used, uint64_t *bytes) {
    int (*of_pool)(CUmemoryPool, int, void *) = DRIVER(cuMemPoolGetAttribute, CUmemoryPool, int, void *);
    int (*of_graphs)(CUdevice, int, void *) = DRIVER(cuDeviceGetGraphMemAttribute, CUdevice, int, void *);
    *bytes = 0;
    if (!p->handle) {
        int attribute = used ? CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT : CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
        return of_graphs && of_graphs(p->device->id, attribute, bytes) == CUDA_SUCCESS;
    }
    int attribute = used ? CU_MEMPOOL_ATTR_USED_MEM_CURRENT : CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
    return of_pool && of_pool(p->handle, attribute, bytes) == CUDA_SUCCESS;
}

static uint64_t held_by(const struct pool *p) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < p->device->count; i++) sum += p->held[i];
    return sum;
}

static void shrink(struct pool *p, uint64_t bytes) {
    for (unsigned i = p->device->count; i-- > 0 && bytes > 0;) {
        uint64_t part = p->held[i] < bytes ? p->held[i] : bytes;
        if (part) ledger_release(p->device->slices[i], part, ACCOUNT_MEMORY);
        p->held[i] -= part;
        bytes -= part;
    }
}

static void grow(struct pool *p, struct charge *c, uint64_t bytes) {
    struct slice *s = c->slice ? c->slice : p->device->slices[0];
    c->slice = s;
    ledger_commit(c, bytes, ACCOUNT_MEMORY);
    for (unsigned i = 0; i < p->device->count; i++)
        if (p->device->slices[i] == s) p->held[i] += bytes;
    uint64_t power = bytes & (~bytes + 1);
    if (power >= SMALLEST_STEP && power < p->step) p->step = power;
}

// settle makes the charge what the driver says; *c is what was reserved for it,
// and is used up. It returns how much more than that the pool grew by. The lock
// is held.
static uint64_t settle(struct pool *p, struct charge *c) {
    uint64_t now, before = held_by(p), reserved = c->bytes;
    if (p->dead || !read_pool(p, false, &now)) now = before;
    if (now > before) grow(p, c, now - before);
    else if (now < before) shrink(p, before - now);
    if (c->bytes) ledger_cancel(c);
    return now > before && now - before > reserved ? now - before - reserved : 0;
}

static bool reserve(struct device *d, uint64_t bytes, struct charge *c) {
    return ledger_reserve(d, bytes, c) || (pools_refresh(d) && ledger_reserve(d, bytes, c));
}

bool pools_draw(struct device *d, CUmemoryPool handle, uint64_t bytes, struct draw *w) {
    uint64_t held = 0, used = 0;
    lock_take(&lock);
    *w = (struct draw){.pool = look_up(d, handle)};
    struct pool *p = w->pool;
    if (p && p->device && read_pool(p, false, &held) && read_pool(p, true, &used)) {
        bool has_room = held >= used && held - used >= bytes;
        bytes = has_room ? 0 : bytes > UINT64_MAX - p->step ? bytes : (bytes + p->step - 1) & ~(p->step - 1);
    } else {
        w->pool = NULL;
    }
    lock_give(&lock);
    return !w->pool || reserve(p->device, bytes, &w->charge);
}

bool pools_drawn(struct draw *w) {
    if (!w->pool) return true;
    lock_take(&lock);
    uint64_t more = settle(w->pool, &w->charge);
    lock_give(&lock);
    uint64_t total, left;
    if (more == 0 || !ledger_info(w->pool->device, &total, &left)) return true;
    return left > 0;
}

bool pools_refresh(struct device *d) {
    lock_take(&lock);
    for (struct pool *p = pools; p; p = p->next) {
        struct charge none = {0};
        if (p->device && p->device == d) settle(p, &none);
    }
    lock_give(&lock);
    return true;
}

void pools_trim(struct device *d) {
    fn_cuMemPoolTrimTo trim = REAL(cuMemPoolTrimTo);
    fn_cuDeviceGraphMemTrim trim_graphs = REAL(cuDeviceGraphMemTrim);
    lock_take(&lock);
    for (struct pool *p = pools; p; p = p->next) {
        if (p->device != d || p->dead) continue;
        if (p->handle && trim) trim(p->handle, 0);
        if (!p->handle && trim_graphs) trim_graphs(d->id);
    }
    lock_give(&lock);
    pools_refresh(d);
}

void pools_after_fork(void) {
    lock = (struct lock){0};
    pools = NULL;
}

static CUmemoryPool current_pool(struct device *d) {
    int (*get)(CUmemoryPool *, CUdevice) = DRIVER(cuDeviceGetMemPool, CUmemoryPool *, CUdevice);
    CUmemoryPool handle = NULL;
    return get && get(&handle, d->id) == CUDA_SUCCESS ? handle : NULL;
}

// drawn ends an allocation from a pool; what does not fit is freed again.
static int drawn(struct draw *w, int result, CUdeviceptr *ptr, CUstream stream, bool per_thread) {
    fn_cuMemFreeAsync undo = per_thread ? (fn_cuMemFreeAsync)REAL(cuMemFreeAsync_ptsz) : REAL(cuMemFreeAsync);
    if (pools_drawn(w) || result != CUDA_SUCCESS || !undo) return result;
    undo(*ptr, stream);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

int on_cuMemAllocAsync(fn_cuMemAllocAsync real, bool per_thread, CUdeviceptr *ptr, size_t bytes, CUstream stream) {
    struct device *d = ptr && bytes && !capture_on(stream, per_thread) ? slices_current() : NULL;
    CUmemoryPool pool = d ? current_pool(d) : NULL;
    struct draw w;
    if (!pool) return real(ptr, bytes, stream);
    if (!pools_draw(d, pool, bytes, &w)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = SHORT_CALL(d, w.charge.slice, w.charge.bytes, real(ptr, bytes, stream));
    return drawn(&w, result, ptr, stream, per_thread);
}

int on_cuMemAllocFromPoolAsync(fn_cuMemAllocFromPoolAsync real, bool per_thread, CUdeviceptr *ptr, size_t bytes,
                               CUmemoryPool pool, CUstream stream) {
    struct device *d = ptr && bytes && pool && !capture_on(stream, per_thread) ? slices_current() : NULL;
    struct draw w;
    if (!d) return real(ptr, bytes, pool, stream);
    if (!pools_draw(d, pool, bytes, &w)) return CUDA_ERROR_OUT_OF_MEMORY;
    int result = SHORT_CALL(d, w.charge.slice, w.charge.bytes, real(ptr, bytes, pool, stream));
    return drawn(&w, result, ptr, stream, per_thread);
}

int on_cuMemFreeAsync(fn_cuMemFreeAsync real, bool per_thread, CUdeviceptr ptr, CUstream stream) {
    bool capturing = capture_on(stream, per_thread);
    struct entry e;
    bool known = !capturing && book_take(KIND_MEMORY, ptr, &e);
    int result = real(ptr, stream);
    if (known && result == CUDA_SUCCESS) book_settle(&e);
    else if (known) book_add(&e);
    return result;
}

int on_cuMemPoolCreate(fn_cuMemPoolCreate real, CUmemoryPool *pool, const CUmemPoolProps *props) {
    int result = real(pool, props);
    if (result != CUDA_SUCCESS) return result;
    struct device *d = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? slices_device(props->location.id) : NULL;
    lock_take(&lock);
    add(d, *pool);
    lock_give(&lock);
    return result;
}

// What is still in use when a pool is destroyed stays on the GPU until it is
// freed, which nobody can see then: it stays charged.
int on_cuMemPoolDestroy(fn_cuMemPoolDestroy real, CUmemoryPool handle) {
    uint64_t used = 0;
    lock_take(&lock);
    struct pool *p = pools;
    while (p && (p->handle != handle || p->dead)) p = p->next;
    if (p && p->device) read_pool(p, true, &used);
    int result = real(handle);
    if (p && result == CUDA_SUCCESS) {
        p->dead = true;
        if (p->device && held_by(p) > used) shrink(p, held_by(p) - used);
    }
    lock_give(&lock);
    return result;
}

int on_cuMemPoolTrimTo(fn_cuMemPoolTrimTo real, CUmemoryPool pool, size_t keep) {
    int result = real(pool, keep);
    pools_refresh(slices_current());
    return result;
}

int on_cuMemPoolSetAttribute(fn_cuMemPoolSetAttribute real, CUmemoryPool pool, int attribute, void *value) {
    int result = real(pool, attribute, value);
    pools_refresh(slices_current());
    return result;
}

int on_cuDeviceGraphMemTrim(fn_cuDeviceGraphMemTrim real, CUdevice dev) {
    int result = real(dev);
    pools_refresh(slices_device(dev));
    return result;
}
