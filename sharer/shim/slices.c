// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "slices.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book.h"
#include "context.h"
#include "gate.h"
#include "pools.h"
#include "resolve.h"
#include "slabs.h"
#include "sys.h"

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

static struct lock lock;
static _Atomic int state; // 0 not attached, 1 attached, 2 refused
static struct slice slices[MAX_SLICES];
static unsigned slice_count;
static struct device devices[MAX_DEVICES];
static _Atomic unsigned device_count;
static atomic_bool matched;

static uint64_t patience; // the answer to the greeting is waited for until then
static atomic_bool accepted; // it was waited for

static _Atomic uint32_t problems; // all that were found, also before there was a slot

static bool greet(void) {
    patience = sys_now() + 100 * MILLISECOND;
    for (unsigned i = 0; i < slice_count; i++) {
        OR(slices[i].slot->problems, atomic_load(&problems));
        agent_hello(&slices[i]);
    }
    return true;
}

static bool welcomed(void) {
    for (unsigned i = 0; i < slice_count; i++) {
        if (agent_welcomed(&slices[i], patience)) continue;
        sys_tell("cannot use the GPU: the node's agent does not accept this process; restart the pod: ", slices[i].path);
        return false;
    }
    return true;
}

// In a child CUDA does not work until exec; its parent's slots are not its own.
static void after_fork(void) {
    lock = (struct lock){0};
    for (unsigned i = 0; i < slice_count; i++) {
        if (slices[i].socket >= 0) close(slices[i].socket);
        if (slices[i].grant) munmap((void *)slices[i].grant, sizeof *slices[i].grant);
        if (slices[i].page) munmap(slices[i].page, sizeof *slices[i].page);
        slices[i] = (struct slice){.socket = -1};
    }
    slice_count = 0;
    atomic_store(&device_count, 0);
    atomic_store(&state, 0);
    atomic_store(&matched, false);
    atomic_store(&accepted, false);
    resolve_after_fork();
    context_after_fork();
    book_after_fork();
    slabs_after_fork();
    pools_after_fork();
    gate_after_fork();
}

int slices_attach(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == 0) {
        static atomic_flag watched = ATOMIC_FLAG_INIT;
        int error = errno;
        lock_take(&lock);
        if (atomic_load(&state) == 0) {
            if (!atomic_flag_test_and_set(&watched)) __register_atfork(NULL, NULL, after_fork, NULL);
            atomic_store_explicit(&state, slices_open(slices, &slice_count) && greet() ? 1 : 2, memory_order_release);
        }
        now = atomic_load(&state);
        lock_give(&lock);
        errno = error;
    }
    return now == 1 ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

static struct device *device_for(CUdevice id) {
    unsigned n = atomic_load(&device_count);
    for (unsigned i = 0; i < n; i++)
        if (devices[i].id == id) return &devices[i];
    if (n == MAX_DEVICES) return NULL;
    devices[n] = (struct device){.id = id};
    return &devices[n];
}

static void match_device(CUdevice id, const CUuuid *uuid) {
    struct device *d = device_for(id);
    for (unsigned i = 0; d && i < slice_count; i++)
        if (memcmp(uuid->bytes, slices[i].grant->gpu_uuid, 16) == 0) d->slices[d->count++] = &slices[i];
    if (!d || d->count == 0) return;
    int (*total)(size_t *, CUdevice) = (fn_cuDeviceTotalMem_v2)resolve_load(H_cuDeviceTotalMem_v2);
    size_t bytes = 0;
    if (total && total(&bytes, id) == CUDA_SUCCESS) d->total = bytes;
    atomic_fetch_add(&device_count, 1);
}

// look matches the slices with the driver's GPUs; false: it is not initialised.
static bool look(void) {
    int (*get_count)(int *) = DRIVER(cuDeviceGetCount, int *);
    int (*get)(CUdevice *, int) = DRIVER(cuDeviceGet, CUdevice *, int);
    int (*get_uuid)(CUuuid *, CUdevice) = DRIVER(cuDeviceGetUuid, CUuuid *, CUdevice);
    int n = 0;
    if (!get_uuid) get_uuid = resolve_symbol("cuDeviceGetUuid_v2");
    if (!get_count || !get || !get_uuid || get_count(&n) != CUDA_SUCCESS) return false;
    CUdevice id;
    CUuuid uuid;
    for (int i = 0; i < n; i++)
        if (get(&id, i) == CUDA_SUCCESS && get_uuid(&uuid, id) == CUDA_SUCCESS) match_device(id, &uuid);
    return true;
}

static void describe_driver(void) {
    int (*get_version)(int *) = DRIVER(cuDriverGetVersion, int *);
    int version = 0;
    if (get_version) get_version(&version);
    for (unsigned i = 0; i < slice_count; i++) {
        STORE(slices[i].slot->driver_version, (uint32_t)version);
        STORE(slices[i].slot->found, resolve_found());
    }
}

int slices_known(void) {
    if (slices_attach() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (slices_matched()) return CUDA_SUCCESS;
    lock_take(&lock);
    if (!slices_matched() && (slice_count == 0 || look())) {
        if (slice_count > 0) describe_driver();
        atomic_store_explicit(&matched, true, memory_order_release);
    }
    lock_give(&lock);
    return CUDA_SUCCESS;
}

bool slices_matched(void) {
    return atomic_load_explicit(&matched, memory_order_acquire);
}

int slices_accepted(void) {
    if (slices_known() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (atomic_load_explicit(&accepted, memory_order_acquire)) return CUDA_SUCCESS;
    int error = errno;
    lock_take(&lock);
    if (!atomic_load(&accepted) && !welcomed()) atomic_store(&state, 2);
    atomic_store_explicit(&accepted, true, memory_order_release);
    int now = atomic_load(&state);
    lock_give(&lock);
    errno = error;
    return now == 1 ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

struct device *slices_devices(unsigned *count) {
    *count = atomic_load_explicit(&device_count, memory_order_acquire);
    return devices;
}

struct device *slices_device(CUdevice id) {
    unsigned n = atomic_load_explicit(&device_count, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (devices[i].id == id) return &devices[i];
    return NULL;
}

struct device *slices_current(void) {
    CUdevice id;
    if (atomic_load_explicit(&device_count, memory_order_acquire) == 0) return NULL;
    int (*get)(CUdevice *) = DRIVER(cuCtxGetDevice, CUdevice *);
    return get && get(&id) == CUDA_SUCCESS ? slices_device(id) : NULL;
}

bool slices_named(const char *gpu_name, struct device *d) {
    *d = (struct device){0};
    if (slices_attach() != CUDA_SUCCESS) return false;
    for (unsigned i = 0; i < slice_count; i++)
        if (strncmp(slices[i].grant->gpu_name, gpu_name, 64) == 0) d->slices[d->count++] = &slices[i];
    return d->count > 0;
}

void slices_unknown(void) {
    uint32_t n = resolve_unknown();
    for (unsigned i = 0; n && i < slice_count; i++)
        if (slices[i].slot) STORE(slices[i].slot->unknown, n);
}

void slices_problem(uint32_t bit) {
    atomic_fetch_or(&problems, bit);
    for (unsigned i = 0; i < slice_count; i++)
        if (slices[i].slot) OR(slices[i].slot->problems, bit);
}
