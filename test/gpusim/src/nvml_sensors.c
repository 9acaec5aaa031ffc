// SPDX-License-Identifier: Apache-2.0
//
// What a GPU measures: memory, load, temperature, power, clocks, ECC, fields.
#include <string.h>
#include <sys/time.h>

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

// Sensors follow the set utilization linearly, so that tests can tell them apart.
static unsigned celsius(const struct gs_target *t) {
    return 30 + t->gpu->v.util_gpu * 40 / 100;
}

static unsigned milliwatt(const struct gs_target *t) {
    unsigned limit = t->model->power_limit_w * 1000u;
    return limit / 10 + limit * 8 / 10 * t->gpu->v.util_gpu / 100;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetTemperature, device);
    if (sensor || !out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = celsius(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
    NVML_GPU(nvmlDeviceGetTemperatureV, device);
    if (!temperature || temperature->sensorType) return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != NVML_VERSION_OF(nvmlTemperature_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    temperature->temperature = (int)celsius(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetPowerUsage, device);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = milliwatt(&t);
    return NVML_SUCCESS;
}

static nvmlReturn_t power_limit(const struct gs_target *t, unsigned int *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = t->model->power_limit_w * 1000u;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetEnforcedPowerLimit, device);
    return power_limit(&t, out);
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetPowerManagementLimit, device);
    return power_limit(&t, out);
}

static uint64_t wall_us(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

// Energy of an idle GPU since the epoch: grows steadily, which is all that it promises.
static unsigned long long energy(const struct gs_target *t) {
    return wall_us() / 1000000 * t->model->power_limit_w * 100;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *out) {
    NVML_GPU(nvmlDeviceGetTotalEnergyConsumption, device);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = energy(&t);
    return NVML_SUCCESS;
}

static nvmlReturn_t clock_of(const struct gs_target *t, int type, unsigned busy_percent, unsigned int *mhz) {
    if (type < 0 || type > 3 || !mhz) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned max = type == 2 ? t->model->memory_clock_mhz : t->model->clock_mhz;
    *mhz = type == 2 ? max : 345 + (max - 345) * busy_percent / 100;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz) {
    NVML_GPU(nvmlDeviceGetClockInfo, device);
    return clock_of(&t, type, t.gpu->v.util_gpu ? 100 : 0, mhz);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned int *mhz) {
    NVML_GPU(nvmlDeviceGetMaxClockInfo, device);
    return clock_of(&t, type, 100, mhz);
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, int *pstate) {
    NVML_GPU(nvmlDeviceGetPerformanceState, device);
    if (!pstate) return NVML_ERROR_INVALID_ARGUMENT;
    *pstate = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending) {
    NVML_GPU(nvmlDeviceGetEccMode, device);
    if (!current || !pending) return NVML_ERROR_INVALID_ARGUMENT;
    *current = *pending = t.gpu->spec.ecc;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter, unsigned long long *n) {
    NVML_GPU(nvmlDeviceGetTotalEccErrors, device);
    if (type < 0 || type > 1 || counter < 0 || counter > 1 || !n) return NVML_ERROR_INVALID_ARGUMENT;
    if (!t.gpu->spec.ecc) return NVML_ERROR_NOT_SUPPORTED;
    const struct gs_ecc *e = counter ? &t.gpu->inforom.ecc : &t.gpu->v.ecc;
    *n = type ? e->uncorrected : e->corrected;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
                                       unsigned int *pending, unsigned int *failed) {
    NVML_GPU(nvmlDeviceGetRemappedRows, device);
    if (!corrected || !uncorrected || !pending || !failed) return NVML_ERROR_INVALID_ARGUMENT;
    if (t.model->arch < NVML_ARCH_AMPERE) return NVML_ERROR_NOT_SUPPORTED;
    *corrected = *uncorrected = *pending = *failed = 0;
    return NVML_SUCCESS;
}

// read_field fills one field; what the simulator does not measure says NOT_SUPPORTED.
static void read_field(const struct gs_target *t, nvmlFieldValue_t *f) {
    f->timestamp = (long long)wall_us();
    f->latencyUsec = 0;
    f->nvmlReturn = NVML_SUCCESS;
    f->valueType = NVML_VALUE_ULL;
    f->value = (nvmlValue_t){0};
    bool ecc = t->gpu->spec.ecc;
    switch (f->fieldId) {
    case NVML_FI_ECC_SBE_VOL_TOTAL: f->value.ullVal = t->gpu->v.ecc.corrected; break;
    case NVML_FI_ECC_DBE_VOL_TOTAL: f->value.ullVal = t->gpu->v.ecc.uncorrected; break;
    case NVML_FI_ECC_SBE_AGG_TOTAL: f->value.ullVal = t->gpu->inforom.ecc.corrected; break;
    case NVML_FI_ECC_DBE_AGG_TOTAL: f->value.ullVal = t->gpu->inforom.ecc.uncorrected; break;
    case NVML_FI_TOTAL_ENERGY: f->value.ullVal = energy(t); return;
    default:
        f->valueType = NVML_VALUE_UINT;
        ecc = true;
        switch (f->fieldId) {
        case NVML_FI_MEMORY_TEMP: f->value.uiVal = celsius(t) + 5; break;
        case NVML_FI_POWER_AVERAGE:
        case NVML_FI_POWER_INSTANT: f->value.uiVal = milliwatt(t); break;
        case NVML_FI_RECOVERY_ACTION: f->value.uiVal = t->gpu->v.recovery_action; break;
        case NVML_FI_REMAPPED_COR:
        case NVML_FI_REMAPPED_UNC:
        case NVML_FI_REMAPPED_PENDING:
        case NVML_FI_REMAPPED_FAILURE: break;
        default: f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        }
    }
    if (!ecc) f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    NVML_GPU(nvmlDeviceGetFieldValues, device);
    if (count < 1 || !values) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++) read_field(&t, &values[i]);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support) {
    NVML_DEVICE(nvmlGpmQueryDeviceSupport, device);
    if (!support) return NVML_ERROR_INVALID_ARGUMENT;
    if (support->version != 1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = 0; // the simulator has no GPM samples
    return NVML_SUCCESS;
}
