// SPDX-License-Identifier: Apache-2.0
//
// Field values: readings by number.
#include "nvml_sensors.h"

// ecc_field: the four counters that exist only where ECC is on.
static bool ecc_field(const struct gs_target *t, nvmlFieldValue_t *f) {
    const struct gs_ecc *now = &t->gpu->v.ecc, *ever = &t->gpu->inforom.ecc;
    switch (f->fieldId) {
    case NVML_FI_ECC_SBE_VOL_TOTAL: f->value.ullVal = now->corrected; break;
    case NVML_FI_ECC_DBE_VOL_TOTAL: f->value.ullVal = now->uncorrected; break;
    case NVML_FI_ECC_SBE_AGG_TOTAL: f->value.ullVal = ever->corrected; break;
    case NVML_FI_ECC_DBE_AGG_TOTAL: f->value.ullVal = ever->uncorrected; break;
    default: return false;
    }
    f->valueType = NVML_VALUE_ULL;
    if (!t->gpu->spec.ecc) f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return true;
}

// read_field fills one field; what the simulator does not measure says NOT_SUPPORTED.
static void read_field(const struct gs_target *t, nvmlFieldValue_t *f) {
    f->timestamp = (long long)gs_wall_us();
    f->latencyUsec = 0;
    f->nvmlReturn = NVML_SUCCESS;
    f->valueType = NVML_VALUE_UINT;
    f->value = (nvmlValue_t){0};
    if (ecc_field(t, f)) return;
    switch (f->fieldId) {
    case NVML_FI_TOTAL_ENERGY:
        f->valueType = NVML_VALUE_ULL;
        f->value.ullVal = gs_energy(t);
        break;
    case NVML_FI_MEMORY_TEMP: f->value.uiVal = gs_celsius(t) + 5; break;
    case NVML_FI_POWER_AVERAGE:
    case NVML_FI_POWER_INSTANT: f->value.uiVal = gs_milliwatt(t); break;
    case NVML_FI_RECOVERY_ACTION: f->value.uiVal = t->gpu->v.recovery_action; break;
    case NVML_FI_REMAPPED_COR:
    case NVML_FI_REMAPPED_UNC:
    case NVML_FI_REMAPPED_PENDING:
    case NVML_FI_REMAPPED_FAILURE: break; // none remapped
    default: f->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
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
