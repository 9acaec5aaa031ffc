// SPDX-License-Identifier: Apache-2.0
//
// Handles: encoding, resolving, and the nvmlDeviceGetHandleBy* calls.
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "mig.h"
#include "nvml_session.h"

enum kind { KIND_GPU, KIND_MIG, KIND_GI, KIND_CI };

// Layout of a handle's offset: generation 14 | ci 3 | gi 3 | gpu 5 | kind 2 | zero 4.
enum { KIND_SHIFT = 4, GPU_SHIFT = 6, GI_SHIFT = 11, CI_SHIFT = 14, GEN_SHIFT = 17, BITS = 31 };
#define GEN_MASK 0x3fffu

static pthread_once_t reserve_once = PTHREAD_ONCE_INIT;
static uintptr_t handle_base; // written once

static void reserve(void) {
    void *p = mmap(NULL, 1ul << BITS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    handle_base = p == MAP_FAILED ? 0 : (uintptr_t)p;
}

static void *encode(enum kind kind, uint32_t gpu, unsigned gi, unsigned ci, uint32_t generation) {
    pthread_once(&reserve_once, reserve);
    return (void *)(handle_base + ((uintptr_t)kind << KIND_SHIFT | (uintptr_t)gpu << GPU_SHIFT |
                                   (uintptr_t)gi << GI_SHIFT | (uintptr_t)ci << CI_SHIFT |
                                   (uintptr_t)(generation & GEN_MASK) << GEN_SHIFT));
}

static nvmlReturn_t fill_gpu(struct gs_call *c, uint32_t index, struct gs_target *t) {
    if (index >= c->s->machine.gpu_count) return NVML_ERROR_INVALID_ARGUMENT;
    *t = (struct gs_target){.index = index, .gpu = &c->s->gpu[index]};
    t->model = gs_model_find(t->gpu->spec.model);
    return t->gpu->v.lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t decode(struct gs_call *c, const void *handle, struct gs_target *t, enum kind *kind) {
    uintptr_t off = (uintptr_t)handle - handle_base;
    if (!handle_base || !handle || off >> BITS || off & 15) return NVML_ERROR_INVALID_ARGUMENT;
    *kind = off >> KIND_SHIFT & 3;
    uint32_t generation = off >> GEN_SHIFT & GEN_MASK;
    NVML_TRY(fill_gpu(c, off >> GPU_SHIFT & 31, t));
    if (*kind == KIND_GPU) return off >> GI_SHIFT ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
    t->gi = &t->gpu->v.gi[off >> GI_SHIFT & 7];
    if (*kind != KIND_GI) t->ci = &t->gi->ci[off >> CI_SHIFT & 7];
    if (!t->gi->used || (t->ci && !t->ci->used)) return NVML_ERROR_INVALID_ARGUMENT;
    uint32_t now = t->ci ? t->ci->generation : t->gi->generation;
    return (now & GEN_MASK) == generation ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t gs_resolve(struct gs_call *c, nvmlDevice_t device, struct gs_target *t) {
    enum kind kind;
    NVML_TRY(decode(c, device, t, &kind));
    return kind == KIND_GPU || kind == KIND_MIG ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t gs_resolve_gpu(struct gs_call *c, nvmlDevice_t device, struct gs_target *t) {
    NVML_TRY(gs_resolve(c, device, t));
    return t->gi ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t gs_resolve_gi(struct gs_call *c, nvmlGpuInstance_t instance, struct gs_target *t) {
    enum kind kind;
    NVML_TRY(decode(c, instance, t, &kind));
    return kind == KIND_GI ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t gs_resolve_ci(struct gs_call *c, nvmlComputeInstance_t compute, struct gs_target *t) {
    enum kind kind;
    NVML_TRY(decode(c, compute, t, &kind));
    return kind == KIND_CI ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlDevice_t gs_gpu_handle(uint32_t gpu) {
    return encode(KIND_GPU, gpu, 0, 0, 0);
}

static void *instance_handle(enum kind kind, const struct gs_target *t) {
    unsigned gi = (unsigned)(t->gi - t->gpu->v.gi);
    if (kind == KIND_GI) return encode(kind, t->index, gi, 0, t->gi->generation);
    return encode(kind, t->index, gi, (unsigned)(t->ci - t->gi->ci), t->ci->generation);
}

nvmlDevice_t gs_mig_handle(const struct gs_target *t) {
    return instance_handle(KIND_MIG, t);
}

nvmlGpuInstance_t gs_gi_handle(const struct gs_target *t) {
    return instance_handle(KIND_GI, t);
}

nvmlComputeInstance_t gs_ci_handle(const struct gs_target *t) {
    return instance_handle(KIND_CI, t);
}

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
    NVML_TRY(fill_gpu(c, index, &t));
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
