// SPDX-License-Identifier: Apache-2.0
//
// MIG mode and GPU instances.
#include <string.h>
#include <unistd.h>

#include "caps.h"
#include "lifecycle.h"
#include "mig.h"
#include "nvml_session.h"

// Steps that every MIG call takes, in the order in which hardware refuses:
// capable, permitted (for changes), enabled.
static nvmlReturn_t capable(const struct gs_target *t) {
    return t->gpu->spec.mig_capable ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t may_change(const struct gs_call *c) {
    return c->s->machine.require_root && geteuid() ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
}

static nvmlReturn_t enabled(const struct gs_target *t) {
    NVML_TRY(capable(t));
    return t->gpu->v.mig_mode ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation) {
    NVML_GPU(nvmlDeviceSetMigMode, device);
    if (mode > NVML_ENABLED || !activation) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(capable(&t));
    NVML_TRY(may_change(&call));
    *activation = gs_set_mig_mode(&call.session->m, t.index, mode);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    NVML_GPU(nvmlDeviceGetMigMode, device);
    if (!current || !pending) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(capable(&t));
    *current = t.gpu->v.mig_mode;
    *pending = gs_mig_mode_persists(t.gpu) ? t.gpu->inforom.mig_mode : t.gpu->v.mig_mode;
    return NVML_SUCCESS;
}

static void fill_v3(const struct gs_profile *p, nvmlGpuInstanceProfileInfo_v3_t *info) {
    unsigned version = info->version;
    memset(info, 0, sizeof *info);
    *info = (nvmlGpuInstanceProfileInfo_v3_t){.version = version, .id = p->driver_id, .sliceCount = p->compute,
                                              .instanceCount = p->max, .multiprocessorCount = p->sms,
                                              .copyEngineCount = p->copy, .decoderCount = p->decoder,
                                              .jpegCount = p->jpeg, .ofaCount = p->ofa,
                                              .memorySizeMB = p->memory_mib};
    strcpy(info->name, p->name);
}

static void fill_v2(const struct gs_profile *p, nvmlGpuInstanceProfileInfo_v2_t *info) {
    nvmlGpuInstanceProfileInfo_v3_t all = {.version = info->version};
    fill_v3(p, &all);
    *info = (nvmlGpuInstanceProfileInfo_v2_t){.version = all.version, .id = all.id, .sliceCount = all.sliceCount,
                                              .instanceCount = all.instanceCount,
                                              .multiprocessorCount = all.multiprocessorCount,
                                              .copyEngineCount = all.copyEngineCount,
                                              .decoderCount = all.decoderCount, .jpegCount = all.jpegCount,
                                              .ofaCount = all.ofaCount, .memorySizeMB = all.memorySizeMB};
    strcpy(info->name, p->name);
}

// Profiles are answered with MIG mode off too, as the guide's listings show.
static nvmlReturn_t profile_by_enum(const struct gs_target *t, unsigned int profile, const struct gs_profile **p) {
    if (profile >= GS_PROFILE_ENUMS) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(capable(t));
    *p = gs_profile_by_enum(t->model, profile);
    return *p ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

// An id that no profile of this GPU has is NOT_SUPPORTED.
static nvmlReturn_t profile_by_id(const struct gs_target *t, unsigned int id, const struct gs_profile **p) {
    NVML_TRY(capable(t));
    *p = gs_profile_by_id(t->model, id);
    return *p ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                 nvmlGpuInstanceProfileInfo_t *info) {
    NVML_GPU(nvmlDeviceGetGpuInstanceProfileInfo, device);
    const struct gs_profile *p;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_enum(&t, profile, &p));
    *info = (nvmlGpuInstanceProfileInfo_t){.id = p->driver_id, .sliceCount = p->compute, .instanceCount = p->max,
                                           .multiprocessorCount = p->sms, .copyEngineCount = p->copy,
                                           .decoderCount = p->decoder, .jpegCount = p->jpeg, .ofaCount = p->ofa,
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
    NVML_TRY(profile_by_id(&t, profile_id, &p));
    return fill_versioned(p, info);
}

static nvmlReturn_t placements_of(const struct gs_target *t, unsigned int id, nvmlGpuInstancePlacement_t *out,
                                  unsigned int *count) {
    const struct gs_profile *p;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_id(t, id, &p));
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
                                                        nvmlGpuInstancePlacement_t *placements,
                                                        unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstancePossiblePlacements, device);
    return placements_of(&t, profile_id, placements, count);
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int profile_id,
                                                           nvmlGpuInstancePlacement_t *placements,
                                                           unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device);
    return placements_of(&t, profile_id, placements, count);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profile_id,
                                                       unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstanceRemainingCapacity, device);
    const struct gs_profile *p;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(enabled(&t));
    NVML_TRY(profile_by_id(&t, profile_id, &p));
    *count = (unsigned)gs_gi_remaining(t.gpu, p);
    return NVML_SUCCESS;
}

// changed tells the world about a change of instances: files and events.
static void changed(struct gs_call *c, const struct gs_target *t) {
    gs_caps_sync(c->s, t->index);
    gs_post(c->s, t->index, NVML_EVENT_MIG_CONFIG, 0, GS_NONE, GS_NONE);
}

static nvmlReturn_t create(struct gs_call *c, struct gs_target *t, unsigned int id,
                           const nvmlGpuInstancePlacement_t *at, nvmlGpuInstance_t *instance) {
    const struct gs_profile *p;
    if (!instance) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(enabled(t));
    NVML_TRY(may_change(c));
    NVML_TRY(profile_by_id(t, id, &p));
    if (at && at->size != p->size) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_gi_create(c->s, t->gpu, p, at ? at->start : GS_NONE, &t->gi));
    *instance = gs_gi_handle(t);
    changed(c, t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t *instance) {
    NVML_GPU(nvmlDeviceCreateGpuInstance, device);
    return create(&call, &t, profile_id, NULL, instance);
}

nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profile_id,
                                                      const nvmlGpuInstancePlacement_t *placement,
                                                      nvmlGpuInstance_t *instance) {
    NVML_GPU(nvmlDeviceCreateGpuInstanceWithPlacement, device);
    return placement ? create(&call, &t, profile_id, placement, instance) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
    NVML_ENTER(nvmlGpuInstanceDestroy);
    struct gs_target t = {0};
    NVML_TRY(gs_resolve_gi(&call, instance, &t));
    NVML_TRY(may_change(&call));
    NVML_TRY(gs_gi_destroy(t.gpu, t.gi));
    changed(&call, &t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t *instances,
                                       unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstances, device);
    const struct gs_profile *p;
    if (!instances || !count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(enabled(&t));
    NVML_TRY(profile_by_id(&t, profile_id, &p));
    *count = 0;
    for (uint32_t id = 0; id < 15; id++) {
        t.gi = gs_gi_find(t.gpu, id);
        if (t.gi && t.gi->profile == profile_id) instances[(*count)++] = gs_gi_handle(&t);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *instance) {
    NVML_GPU(nvmlDeviceGetGpuInstanceById, device);
    if (!instance) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(enabled(&t));
    t.gi = gs_gi_find(t.gpu, id);
    if (!t.gi) return NVML_ERROR_NOT_FOUND;
    *instance = gs_gi_handle(&t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info) {
    NVML_ENTER(nvmlGpuInstanceGetInfo);
    struct gs_target t = {0};
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_gi(&call, instance, &t));
    *info = (nvmlGpuInstanceInfo_t){.device = gs_gpu_handle(t.index), .id = t.gi->id, .profileId = t.gi->profile,
                                    .placement = {.start = t.gi->start, .size = t.gi->size}};
    return NVML_SUCCESS;
}
