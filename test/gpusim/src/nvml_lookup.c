// SPDX-License-Identifier: Apache-2.0
//
// Finding devices: by index, UUID, serial, PCI bus id.
#include <stdio.h>
#include <string.h>

#include "mig.h"
#include "nvml_session.h"

static nvmlReturn_t count(struct gs_call *c, unsigned int *out) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = c->s->machine.gpu_count;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *out) {
    NVML_ENTER(nvmlDeviceGetCount);
    return count(&call, out);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *out) {
    NVML_ENTER(nvmlDeviceGetCount_v2);
    return count(&call, out);
}

static nvmlReturn_t by_index(struct gs_call *c, unsigned int index, nvmlDevice_t *device) {
    struct gs_target t;
    if (!device) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_target_gpu(c, index, &t));
    *device = gs_gpu_handle(index);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByIndex);
    return by_index(&call, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByIndex_v2);
    return by_index(&call, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleBySerial);
    if (!serial || !device) return NVML_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < call.s->machine.gpu_count; i++)
        if (!strcmp(call.s->gpu[i].spec.serial, serial)) return by_index(&call, i, device);
    return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t mig_by_uuid(struct gs_call *c, const char *uuid, nvmlDevice_t *device) {
    for (uint32_t i = 0; i < c->s->machine.gpu_count; i++) {
        struct gs_target t = {.index = i, .gpu = &c->s->gpu[i]};
        for (unsigned j = 0; gs_mig_device(t.gpu, j, &t.gi, &t.ci); j++) {
            if (strcmp(t.ci->uuid, uuid)) continue;
            if (t.gpu->v.lost) return NVML_ERROR_GPU_IS_LOST;
            *device = gs_mig_handle(&t);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t by_uuid(struct gs_call *c, const char *uuid, nvmlDevice_t *device) {
    if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < c->s->machine.gpu_count; i++)
        if (!strcmp(c->s->gpu[i].spec.uuid, uuid)) return by_index(c, i, device);
    return mig_by_uuid(c, uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByUUID);
    return by_uuid(&call, uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_v1_t *uuid, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByUUIDV);
    if (!uuid) return NVML_ERROR_INVALID_ARGUMENT;
    if (uuid->version != NVML_VERSION_OF(nvmlUUID_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type != 1) return NVML_ERROR_NOT_SUPPORTED; // ASCII only
    char text[sizeof uuid->value.str + 1] = {0};
    memcpy(text, uuid->value.str, sizeof uuid->value.str);
    return by_uuid(&call, text, device);
}

// by_bus accepts domain:bus:device with any width of domain and an optional
// function 0, as the real library does.
static nvmlReturn_t by_bus(struct gs_call *c, const char *text, nvmlDevice_t *device) {
    unsigned domain, bus, dev, function = 0;
    char rest;
    if (!text || !device) return NVML_ERROR_INVALID_ARGUMENT;
    int n = sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &dev, &function, &rest);
    if (n != 3 && n != 4) return NVML_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < c->s->machine.gpu_count; i++) {
        const struct gs_gpu_spec *spec = &c->s->gpu[i].spec;
        if (spec->domain == domain && spec->bus == bus && spec->device == dev && !function)
            return by_index(c, i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByPciBusId);
    return by_bus(&call, bus_id, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device) {
    NVML_ENTER(nvmlDeviceGetHandleByPciBusId_v2);
    return by_bus(&call, bus_id, device);
}
