// SPDX-License-Identifier: Apache-2.0
//
// GPU instance profiles and their placements.
#include <string.h>

#include "nvml_mig.h"

static void fill_v3(const struct gs_profile *p, nvmlGpuInstanceProfileInfo_v3_t *info) {
    unsigned version = info->version;
    memset(info, 0, sizeof *info);
    *info = (nvmlGpuInstanceProfileInfo_v3_t){.version = version,
                                              .id = p->driver_id,
                                              .sliceCount = p->compute,
                                              .instanceCount = p->max,
                                              .multiprocessorCount = p->sms,
                                              .copyEngineCount = p->copy,
                                              .decoderCount = p->decoder,
                                              .jpegCount = p->jpeg,
                                              .ofaCount = p->ofa,
                                              .memorySizeMB = p->memory_mib};
    strcpy(info->name, p->name);
}

static void fill_v2(const struct gs_profile *p, nvmlGpuInstanceProfileInfo_v2_t *info) {
    nvmlGpuInstanceProfileInfo_v3_t all = {.version = info->version};
    fill_v3(p, &all);
    *info = (nvmlGpuInstanceProfileInfo_v2_t){.version = all.version,
                                              .id = all.id,
                                              .sliceCount = all.sliceCount,
                                              .instanceCount = all.instanceCount,
                                              .multiprocessorCount = all.multiprocessorCount,
                                              .copyEngineCount = all.copyEngineCount,
                                              .decoderCount = all.decoderCount,
                                              .jpegCount = all.jpegCount,
                                              .ofaCount = all.ofaCount,
                                              .memorySizeMB = all.memorySizeMB};
    strcpy(info->name, p->name);
}

// Profiles are answered with MIG mode off too, as the guide's listings show.
static nvmlReturn_t profile_by_enum(const struct gs_target *t, unsigned int profile, const struct gs_profile **p) {
    if (profile >= GS_PROFILE_ENUMS) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_capable(t));
    *p = gs_profile_by_enum(t->model, profile);
    return *p ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gs_profile_of_id(const struct gs_target *t, unsigned int id, const struct gs_profile **p) {
    NVML_TRY(gs_mig_capable(t));
    *p = gs_profile_by_id(t->model, id);
    return *p ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                 nvmlGpuInstanceProfileInfo_t *info) {
    NVML_GPU(nvmlDeviceGetGpuInstanceProfileInfo, device);
    const struct gs_profile *p;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_enum(&t, profile, &p));
    *info = (nvmlGpuInstanceProfileInfo_t){.id = p->driver_id,
                                           .sliceCount = p->compute,
                                           .instanceCount = p->max,
                                           .multiprocessorCount = p->sms,
                                           .copyEngineCount = p->copy,
                                           .decoderCount = p->decoder,
                                           .jpegCount = p->jpeg,
                                           .ofaCount = p->ofa,
                                           .memorySizeMB = p->memory_mib};
    return NVML_SUCCESS;
}

static nvmlReturn_t fill_versioned(const struct gs_profile *p, nvmlGpuInstanceProfileInfo_v2_t *info) {
    if (info->version == NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v2_t, 2))
        fill_v2(p, info);
    else if (info->version == NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v3_t, 3))
        fill_v3(p, (nvmlGpuInstanceProfileInfo_v3_t *)info);
    else
        return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t *info) {
    NVML_GPU(nvmlDeviceGetGpuInstanceProfileInfoV, device);
    const struct gs_profile *p;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_enum(&t, profile, &p));
    return fill_versioned(p, info);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int profile_id,
                                                      nvmlGpuInstanceProfileInfo_v2_t *info) {
    NVML_GPU(nvmlDeviceGetGpuInstanceProfileInfoByIdV, device);
    const struct gs_profile *p;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_profile_of_id(&t, profile_id, &p));
    return fill_versioned(p, info);
}

static nvmlReturn_t placements_of(const struct gs_target *t, unsigned int id, nvmlGpuInstancePlacement_t *out,
                                  unsigned int *count) {
    const struct gs_profile *p;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_profile_of_id(t, id, &p));
    unsigned n = 0;
    for (unsigned s = 0; s < GS_MAX_SLICES; s++) {
        if (!(p->starts >> s & 1)) continue;
        if (out) out[n] = (nvmlGpuInstancePlacement_t){.start = s, .size = p->size};
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int profile_id,
                                                        nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstancePossiblePlacements, device);
    return placements_of(&t, profile_id, placements, count);
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int profile_id,
                                                           nvmlGpuInstancePlacement_t *placements,
                                                           unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device);
    return placements_of(&t, profile_id, placements, count);
}
