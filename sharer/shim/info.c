// SPDX-License-Identifier: Apache-2.0
//
// Init, the resolvers, and CUDA's questions whose answer is the slice's.
#define _GNU_SOURCE
#include "ledger.h"
#include "pools.h"
#include "rules.h"

// Init takes nothing that is the slices'; they are attached when something could.
// What the driver looks up here is its own.
int on_cuInit(fn_cuInit real, unsigned flags) {
    return real(flags);
}

int on_cuGetProcAddress(fn_cuGetProcAddress real, const char *name, void **function, int version, uint64_t flags) {
    int result = real(name, function, version, flags);
    if (result == CUDA_SUCCESS) resolve_proc(name, function);
    return result;
}

int on_cuGetProcAddress_v2(fn_cuGetProcAddress_v2 real, const char *name, void **function, int version, uint64_t flags,
                           int *status) {
    int result = real(name, function, version, flags, status);
    if (result == CUDA_SUCCESS) resolve_proc(name, function);
    return result;
}

int on_cuGetExportTable(fn_cuGetExportTable real, const void **table, const CUuuid *id) {
    slices_problem(AIPUB_PROBLEM_EXPORT_TABLE);
    return real(table, id);
}

// limited returns the slice's view of a GPU's memory; false: the GPU's own holds.
static bool limited(struct device *d, uint64_t *total, uint64_t *left) {
    if (!d) return false;
    pools_refresh(d);
    return ledger_info(d, total, left);
}

int on_cuMemGetInfo(fn_cuMemGetInfo_v2 real, size_t *available, size_t *total) {
    uint64_t limit, left;
    int result = real(available, total);
    if (result != CUDA_SUCCESS || !limited(slices_current(), &limit, &left)) return result;
    if (available && *available > left) *available = left;
    if (total && *total > limit) *total = limit;
    return result;
}

int on_cuMemGetInfo_v1(fn_cuMemGetInfo real, unsigned *available, unsigned *total) {
    uint64_t limit, left;
    int result = real(available, total);
    if (result != CUDA_SUCCESS || !limited(slices_current(), &limit, &left)) return result;
    if (available && *available > left) *available = (unsigned)left;
    if (total && *total > limit) *total = (unsigned)limit;
    return result;
}

int on_cuDeviceTotalMem(fn_cuDeviceTotalMem_v2 real, size_t *bytes, CUdevice dev) {
    uint64_t limit, left;
    int result = real(bytes, dev);
    struct device *d = slices_device(dev);
    if (result == CUDA_SUCCESS && d && ledger_info(d, &limit, &left) && *bytes > limit) *bytes = limit;
    return result;
}

int on_cuDeviceTotalMem_v1(fn_cuDeviceTotalMem real, unsigned *bytes, CUdevice dev) {
    uint64_t limit, left;
    int result = real(bytes, dev);
    struct device *d = slices_device(dev);
    if (result == CUDA_SUCCESS && d && ledger_info(d, &limit, &left) && *bytes > limit) *bytes = (unsigned)limit;
    return result;
}
