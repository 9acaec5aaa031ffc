// SPDX-License-Identifier: Apache-2.0
//
// Memory and load of a device.
#include "mig.h"
#include "nvml_session.h"
#include "process.h"

#define MIB(n) ((unsigned long long)(n) << 20)

// memory_of: the device's total, what the driver keeps, what clients hold.
static void memory_of(const struct gs_target *t, nvmlMemory_v2_t *m) {
    uint32_t gi = t->gi ? t->gi->id : GS_NONE;
    m->total = MIB(t->gi ? gs_profile_by_id(t->model, t->gi->profile)->memory_mib : t->gpu->spec.memory_mib);
    m->reserved = t->gi ? 0 : MIB(t->model->reserved_mib);
    m->used = gs_process_memory(t->gpu, gi, GS_NONE);
    m->free = m->total - m->reserved - m->used;
}

// Version 1 has no field for reserved memory and counts it as used.
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    NVML_DEVICE(nvmlDeviceGetMemoryInfo, device);
    nvmlMemory_v2_t m;
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    memory_of(&t, &m);
    *memory = (nvmlMemory_t){.total = m.total, .free = m.free, .used = m.used + m.reserved};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    NVML_DEVICE(nvmlDeviceGetMemoryInfo_v2, device);
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != NVML_VERSION_OF(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory_of(&t, memory);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory) {
    NVML_DEVICE(nvmlDeviceGetBAR1MemoryInfo, device);
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned long long total = MIB(t.model->bar1_mib);
    if (t.gi) total = total / t.model->memory * t.gi->size;
    *memory = (nvmlBAR1Memory_t){.bar1Total = total, .bar1Free = total - MIB(1), .bar1Used = MIB(1)};
    return NVML_SUCCESS;
}

// In MIG mode the counters of the whole GPU do not exist, nor do an instance's.
static nvmlReturn_t load_available(const struct gs_target *t) {
    return t->gi || t->gpu->v.mig_mode ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
    NVML_DEVICE(nvmlDeviceGetUtilizationRates, device);
    NVML_TRY(load_available(&t));
    if (!utilization) return NVML_ERROR_INVALID_ARGUMENT;
    *utilization = (nvmlUtilization_t){.gpu = t.gpu->v.util_gpu, .memory = t.gpu->v.util_memory};
    return NVML_SUCCESS;
}

static nvmlReturn_t idle_engine(const struct gs_target *t, unsigned int *value, unsigned int *period) {
    NVML_TRY(load_available(t));
    if (!value || !period) return NVML_ERROR_INVALID_ARGUMENT;
    *value = 0;
    *period = 167000; // microseconds
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *value, unsigned int *period) {
    NVML_DEVICE(nvmlDeviceGetEncoderUtilization, device);
    return idle_engine(&t, value, period);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *value, unsigned int *period) {
    NVML_DEVICE(nvmlDeviceGetDecoderUtilization, device);
    return idle_engine(&t, value, period);
}
