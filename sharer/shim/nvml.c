// SPDX-License-Identifier: Apache-2.0
//
// NVML's view of a shared GPU: the slice's memory, and no say in what is
// everybody's. The lists of processes stay as they are: NVML shows a container
// what its namespace lets it see.
#define _GNU_SOURCE
#include "ledger.h"
#include "rules.h"

// The slices are known before CUDA is initialised, so a program that uses only
// NVML sees them too.
static bool is_shared(nvmlDevice_t dev, struct device *d) {
    int (*name)(nvmlDevice_t, char *, unsigned) = DRIVER(nvmlDeviceGetUUID, nvmlDevice_t, char *, unsigned);
    char gpu_name[96] = "";
    return name && name(dev, gpu_name, sizeof gpu_name) == 0 && slices_named(gpu_name, d);
}

static bool is_limited(nvmlDevice_t dev, uint64_t *total, uint64_t *left) {
    struct device d;
    return is_shared(dev, &d) && ledger_info(&d, total, left);
}

int on_nvmlDeviceGetMemoryInfo(fn_nvmlDeviceGetMemoryInfo real, nvmlDevice_t dev, nvmlMemory_t *memory) {
    uint64_t limit, left;
    int result = real(dev, memory);
    if (result != 0 || !is_limited(dev, &limit, &left)) return result;
    if (memory->total > limit) memory->total = limit;
    memory->free = left < memory->total ? left : memory->total;
    memory->used = memory->total - memory->free;
    return result;
}

int on_nvmlDeviceGetMemoryInfo_v2(fn_nvmlDeviceGetMemoryInfo_v2 real, nvmlDevice_t dev, nvmlMemory_v2_t *memory) {
    uint64_t limit, left;
    int result = real(dev, memory);
    if (result != 0 || !is_limited(dev, &limit, &left)) return result;
    if (memory->total > limit) memory->total = limit;
    memory->reserved = 0; // of the whole GPU, and not of the slice's
    memory->free = left < memory->total ? left : memory->total;
    memory->used = memory->total - memory->free;
    return result;
}

// The mode would be everybody's.
int on_nvmlDeviceSetComputeMode(fn_nvmlDeviceSetComputeMode real, nvmlDevice_t dev, int mode) {
    struct device d;
    return is_shared(dev, &d) ? NVML_ERROR_NO_PERMISSION : real(dev, mode);
}
