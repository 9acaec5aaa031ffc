// SPDX-License-Identifier: Apache-2.0
//
// GPU instances.
#include "nvml_mig.h"

#include "mig.h"

nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profile_id,
                                                       unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstanceRemainingCapacity, device);
    const struct gs_profile *p;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_enabled(&t));
    NVML_TRY(gs_profile_of_id(&t, profile_id, &p));
    *count = (unsigned)gs_gi_remaining(t.gpu, p);
    return NVML_SUCCESS;
}

static nvmlReturn_t create(struct gs_call *c, struct gs_target *t, unsigned int id,
                           const nvmlGpuInstancePlacement_t *at, nvmlGpuInstance_t *instance) {
    const struct gs_profile *p;
    if (!instance) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_enabled(t));
    NVML_TRY(gs_mig_may_change(c));
    NVML_TRY(gs_profile_of_id(t, id, &p));
    if (at && at->size != p->size) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_gi_create(c->s, t->gpu, p, at ? at->start : GS_NONE, &t->gi));
    *instance = gs_gi_handle(t);
    gs_mig_changed(c, t);
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
    NVML_TRY(gs_mig_may_change(&call));
    NVML_TRY(gs_gi_destroy(t.gpu, t.gi));
    gs_mig_changed(&call, &t);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t *instances,
                                       unsigned int *count) {
    NVML_GPU(nvmlDeviceGetGpuInstances, device);
    const struct gs_profile *p;
    if (!instances || !count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_enabled(&t));
    NVML_TRY(gs_profile_of_id(&t, profile_id, &p));
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
    NVML_TRY(gs_mig_enabled(&t));
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
    *info = (nvmlGpuInstanceInfo_t){.device = gs_gpu_handle(t.index),
                                    .id = t.gi->id,
                                    .profileId = t.gi->profile,
                                    .placement = {.start = t.gi->start, .size = t.gi->size}};
    return NVML_SUCCESS;
}
