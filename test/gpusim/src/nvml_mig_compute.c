// SPDX-License-Identifier: Apache-2.0
//
// Compute instances.
#include <stdio.h>
#include <string.h>

#include "mig.h"
#include "nvml_mig.h"

#define NVML_GI(name, instance) \
    NVML_ENTER(name);           \
    struct gs_target t = {0};   \
    NVML_TRY(gs_resolve_gi(&call, instance, &t))

static const struct gs_profile *parent_of(const struct gs_target *t) {
    return gs_profile_by_id(t->model, t->gi->profile);
}

static nvmlReturn_t profile_by_enum(const struct gs_target *t, unsigned int profile, unsigned int engine,
                                    struct gs_ci_profile *c) {
    if (profile > 8 || engine > 0) return NVML_ERROR_INVALID_ARGUMENT;
    return gs_ci_profile(t->model, parent_of(t), profile, c) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

// The driver id of a compute profile is its enum.
static nvmlReturn_t profile_by_id(const struct gs_target *t, unsigned int id, struct gs_ci_profile *c) {
    return gs_ci_profile(t->model, parent_of(t), id, c) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance, unsigned int profile,
                                                          unsigned int engine, nvmlComputeInstanceProfileInfo_t *info) {
    NVML_GI(nvmlGpuInstanceGetComputeInstanceProfileInfo, instance);
    struct gs_ci_profile c;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_enum(&t, profile, engine, &c));
    const struct gs_profile *p = parent_of(&t);
    *info = (nvmlComputeInstanceProfileInfo_t){.id = c.id,
                                               .sliceCount = c.slices,
                                               .instanceCount = c.max,
                                               .multiprocessorCount = c.sms,
                                               .sharedCopyEngineCount = p->copy,
                                               .sharedDecoderCount = p->decoder,
                                               .sharedJpegCount = p->jpeg,
                                               .sharedOfaCount = p->ofa};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t instance, unsigned int profile,
                                                           unsigned int engine,
                                                           nvmlComputeInstanceProfileInfo_v2_t *info) {
    NVML_GI(nvmlGpuInstanceGetComputeInstanceProfileInfoV, instance);
    struct gs_ci_profile c;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    bool v3 = info->version == NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v3_t, 3);
    if (!v3 && info->version != NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v2_t, 2))
        return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_enum(&t, profile, engine, &c));
    const struct gs_profile *p = parent_of(&t);
    // Version 3 only adds a word at the end.
    *info = (nvmlComputeInstanceProfileInfo_v2_t){.version = info->version,
                                                  .id = c.id,
                                                  .sliceCount = c.slices,
                                                  .instanceCount = c.max,
                                                  .multiprocessorCount = c.sms,
                                                  .sharedCopyEngineCount = p->copy,
                                                  .sharedDecoderCount = p->decoder,
                                                  .sharedJpegCount = p->jpeg,
                                                  .sharedOfaCount = p->ofa};
    gs_ci_name(info->name, p, c.slices);
    if (v3) ((nvmlComputeInstanceProfileInfo_v3_t *)info)->capabilities = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                                unsigned int *count) {
    NVML_GI(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, instance);
    struct gs_ci_profile c;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_id(&t, profile_id, &c));
    *count = (unsigned)gs_ci_remaining(t.gi, &c);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                                 nvmlComputeInstancePlacement_t *placements,
                                                                 unsigned int *count) {
    NVML_GI(nvmlGpuInstanceGetComputeInstancePossiblePlacements, instance);
    struct gs_ci_profile c;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_id(&t, profile_id, &c));
    unsigned n = 0;
    for (unsigned s = 0; s < GS_MAX_SLICES; s++) {
        if (!(c.starts >> s & 1)) continue;
        if (placements) placements[n] = (nvmlComputeInstancePlacement_t){.start = s, .size = c.slices};
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

static nvmlReturn_t create(struct gs_call *c, struct gs_target *t, unsigned int id,
                           const nvmlComputeInstancePlacement_t *at, nvmlComputeInstance_t *compute) {
    struct gs_ci_profile p;
    if (!compute) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_may_change(c));
    NVML_TRY(profile_by_id(t, id, &p));
    if (at && at->size != p.slices) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_ci_create(c->s, t->gi, &p, at ? at->start : GS_NONE, &t->ci));
    *compute = gs_ci_handle(t);
    gs_mig_changed(c, t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                  nvmlComputeInstance_t *compute) {
    NVML_GI(nvmlGpuInstanceCreateComputeInstance, instance);
    return create(&call, &t, profile_id, NULL, compute);
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                               const nvmlComputeInstancePlacement_t *placement,
                                                               nvmlComputeInstance_t *compute) {
    NVML_GI(nvmlGpuInstanceCreateComputeInstanceWithPlacement, instance);
    return placement ? create(&call, &t, profile_id, placement, compute) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute) {
    NVML_ENTER(nvmlComputeInstanceDestroy);
    struct gs_target t = {0};
    NVML_TRY(gs_resolve_ci(&call, compute, &t));
    NVML_TRY(gs_mig_may_change(&call));
    NVML_TRY(gs_ci_destroy(t.gpu, t.gi, t.ci));
    gs_mig_changed(&call, &t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int profile_id,
                                                nvmlComputeInstance_t *computes, unsigned int *count) {
    NVML_GI(nvmlGpuInstanceGetComputeInstances, instance);
    struct gs_ci_profile c;
    if (!computes || !count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(profile_by_id(&t, profile_id, &c));
    *count = 0;
    for (uint32_t id = 0; id < GS_MAX_CIS; id++) {
        t.ci = gs_ci_find(t.gi, id);
        if (t.ci && t.ci->profile == profile_id) computes[(*count)++] = gs_ci_handle(&t);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned int id,
                                                   nvmlComputeInstance_t *compute) {
    NVML_GI(nvmlGpuInstanceGetComputeInstanceById, instance);
    if (!compute) return NVML_ERROR_INVALID_ARGUMENT;
    t.ci = gs_ci_find(t.gi, id);
    if (!t.ci) return NVML_ERROR_NOT_FOUND;
    *compute = gs_ci_handle(&t);
    return NVML_SUCCESS;
}

static nvmlReturn_t info_of(const struct gs_target *t, nvmlDevice_t device, nvmlComputeInstanceInfo_t *info) {
    *info = (nvmlComputeInstanceInfo_t){.device = device,
                                        .gpuInstance = gs_gi_handle(t),
                                        .id = t->ci->id,
                                        .profileId = t->ci->profile,
                                        .placement = {.start = t->ci->start, .size = t->ci->size}};
    return NVML_SUCCESS;
}

// The first version ends before the placement and names the GPU as the device.
nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info) {
    NVML_ENTER(nvmlComputeInstanceGetInfo);
    struct gs_target t = {0};
    nvmlComputeInstanceInfo_t full;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_ci(&call, compute, &t));
    info_of(&t, gs_gpu_handle(t.index), &full);
    memcpy(info, &full, offsetof(nvmlComputeInstanceInfo_t, placement));
    return NVML_SUCCESS;
}

// The second version's device is the MIG device: callers read its UUID.
nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info) {
    NVML_ENTER(nvmlComputeInstanceGetInfo_v2);
    struct gs_target t = {0};
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_ci(&call, compute, &t));
    return info_of(&t, gs_mig_handle(&t), info);
}
