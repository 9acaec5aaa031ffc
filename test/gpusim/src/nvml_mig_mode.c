// SPDX-License-Identifier: Apache-2.0
//
// MIG mode.
#include <unistd.h>

#include "caps.h"
#include "lifecycle.h"
#include "nvml_mig.h"

nvmlReturn_t gs_mig_capable(const struct gs_target *t) {
    return t->gpu->spec.mig_capable ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gs_mig_may_change(const struct gs_call *c) {
    return c->s->machine.require_root && geteuid() ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
}

nvmlReturn_t gs_mig_enabled(const struct gs_target *t) {
    NVML_TRY(gs_mig_capable(t));
    return t->gpu->v.mig_mode ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

void gs_mig_changed(struct gs_call *c, const struct gs_target *t) {
    gs_caps_sync(c->s, t->index);
    gs_post(c->s, t->index, NVML_EVENT_MIG_CONFIG, 0, GS_NONE, GS_NONE);
}

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation) {
    NVML_GPU(nvmlDeviceSetMigMode, device);
    if (mode > NVML_ENABLED || !activation) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_capable(&t));
    NVML_TRY(gs_mig_may_change(&call));
    *activation = gs_set_mig_mode(&call.session->m, t.index, mode);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    NVML_GPU(nvmlDeviceGetMigMode, device);
    if (!current || !pending) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_mig_capable(&t));
    *current = t.gpu->v.mig_mode;
    *pending = gs_mig_mode_persists(t.gpu) ? t.gpu->inforom.mig_mode : t.gpu->v.mig_mode;
    return NVML_SUCCESS;
}
