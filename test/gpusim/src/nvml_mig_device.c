// SPDX-License-Identifier: Apache-2.0
//
// MIG devices: compute instances seen through device handles.
#include "mig.h"
#include "nvml_session.h"

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig) {
    NVML_DEVICE(nvmlDeviceIsMigDeviceHandle, device);
    if (!is_mig) return NVML_ERROR_INVALID_ARGUMENT;
    *is_mig = t.ci != NULL;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) {
    NVML_DEVICE(nvmlDeviceGetGpuInstanceId, device);
    if (!t.ci || !id) return NVML_ERROR_INVALID_ARGUMENT;
    *id = t.gi->id;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id) {
    NVML_DEVICE(nvmlDeviceGetComputeInstanceId, device);
    if (!t.ci || !id) return NVML_ERROR_INVALID_ARGUMENT;
    *id = t.ci->id;
    return NVML_SUCCESS;
}

static unsigned max_devices(const struct gs_target *t) {
    return t->gpu->spec.mig_capable && t->gpu->v.mig_mode ? t->model->compute : 0;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
    NVML_DEVICE(nvmlDeviceGetMaxMigDeviceCount, device);
    if (t.ci || !count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = max_devices(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig) {
    NVML_DEVICE(nvmlDeviceGetMigDeviceHandleByIndex, device);
    if (t.ci || !mig) return NVML_ERROR_INVALID_ARGUMENT;
    if (!t.gpu->spec.mig_capable) return NVML_ERROR_NOT_SUPPORTED;
    if (!t.gpu->v.mig_mode) return NVML_ERROR_NOT_FOUND;
    if (index >= max_devices(&t)) return NVML_ERROR_INVALID_ARGUMENT;
    if (!gs_mig_device(t.gpu, index, &t.gi, &t.ci)) return NVML_ERROR_NOT_FOUND;
    *mig = gs_mig_handle(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device) {
    NVML_DEVICE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, mig);
    if (!t.ci || !device) return NVML_ERROR_INVALID_ARGUMENT;
    *device = gs_gpu_handle(t.index);
    return NVML_SUCCESS;
}

static nvmlReturn_t attributes_of(const struct gs_target *t, nvmlDeviceAttributes_t *a) {
    if (!a) return NVML_ERROR_INVALID_ARGUMENT;
    if (!t->ci) return NVML_ERROR_NOT_SUPPORTED; // only MIG devices have them
    const struct gs_profile *p = gs_profile_by_id(t->model, t->gi->profile);
    struct gs_ci_profile c;
    gs_ci_profile(t->model, p, t->ci->profile, &c);
    *a = (nvmlDeviceAttributes_t){.multiprocessorCount = c.sms,
                                  .sharedCopyEngineCount = p->copy,
                                  .sharedDecoderCount = p->decoder,
                                  .sharedJpegCount = p->jpeg,
                                  .sharedOfaCount = p->ofa,
                                  .gpuInstanceSliceCount = p->compute,
                                  .computeInstanceSliceCount = c.slices,
                                  .memorySizeMB = p->memory_mib};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    NVML_DEVICE(nvmlDeviceGetAttributes, device);
    return attributes_of(&t, attributes);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    NVML_DEVICE(nvmlDeviceGetAttributes_v2, device);
    return attributes_of(&t, attributes);
}
