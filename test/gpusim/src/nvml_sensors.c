// SPDX-License-Identifier: Apache-2.0
//
// What a GPU measures: temperature, power, clocks, ECC.
#include "nvml_sensors.h"

#include <sys/time.h>

// Sensors follow the set utilization linearly, so that tests can tell them apart.
unsigned gs_celsius(const struct gs_target *t) {
    return 30 + t->gpu->v.util_gpu * 40 / 100;
}

unsigned gs_milliwatt(const struct gs_target *t) {
    unsigned limit = t->model->power_limit_w * 1000u;
    return limit / 10 + limit * 8 / 10 * t->gpu->v.util_gpu / 100;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetTemperature, device);
    if (sensor || !out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = gs_celsius(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
    NVML_GPU(nvmlDeviceGetTemperatureV, device);
    if (!temperature || temperature->sensorType) return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != NVML_VERSION_OF(nvmlTemperature_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    temperature->temperature = (int)gs_celsius(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *out) {
    NVML_GPU(nvmlDeviceGetPowerUsage, device);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = gs_milliwatt(&t);
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

uint64_t gs_wall_us(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_usec;
}

// Energy of an idle GPU since the epoch: grows steadily, which is all that it promises.
unsigned long long gs_energy(const struct gs_target *t) {
    return gs_wall_us() / 1000000 * t->model->power_limit_w * 100;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *out) {
    NVML_GPU(nvmlDeviceGetTotalEnergyConsumption, device);
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = gs_energy(&t);
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
