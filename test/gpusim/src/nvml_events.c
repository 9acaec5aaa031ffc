// SPDX-License-Identifier: Apache-2.0
//
// Event sets: register on whole GPUs, wait with a real timeout.
#include <stdlib.h>

#include "nvml_session.h"

static struct nvmlEventSet_st **find_set(struct gs_call *c, nvmlEventSet_t set) {
    for (struct nvmlEventSet_st **p = &c->session->sets; *p; p = &(*p)->next)
        if (*p == set) return p;
    return NULL;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    NVML_ENTER(nvmlEventSetCreate);
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    struct nvmlEventSet_st *s = calloc(1, sizeof *s);
    if (!s) return NVML_ERROR_MEMORY;
    s->cursor = call.s->event_next;
    s->next = call.session->sets;
    call.session->sets = s;
    *set = s;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    NVML_ENTER(nvmlEventSetFree);
    struct nvmlEventSet_st **p = find_set(&call, set);
    if (!p) return NVML_ERROR_INVALID_ARGUMENT;
    *p = set->next;
    free(set);
    gs_pulse(call.s); // a waiter on it returns
    return NVML_SUCCESS;
}

static unsigned long long supported(const struct gs_target *t) {
    unsigned long long types = NVML_EVENT_XID;
    if (t->gpu->spec.ecc) types |= NVML_EVENT_SBE | NVML_EVENT_DBE;
    if (t->gpu->spec.mig_capable) types |= NVML_EVENT_MIG_CONFIG;
    if (t->model->arch >= NVML_ARCH_AMPERE) types |= NVML_EVENT_RECOVERY;
    return types;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types) {
    NVML_DEVICE(nvmlDeviceGetSupportedEventTypes, device);
    if (t.gi || !types) return NVML_ERROR_INVALID_ARGUMENT;
    *types = supported(&t);
    return NVML_SUCCESS;
}

// Events of instances are reported through the GPU; a MIG device is refused.
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    NVML_DEVICE(nvmlDeviceRegisterEvents, device);
    if (t.gi || types & ~NVML_EVENT_KNOWN || !find_set(&call, set)) return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~supported(&t)) return NVML_ERROR_NOT_SUPPORTED;
    if (!set->want.types[t.index]) set->want.since[t.index] = call.s->event_next;
    set->want.types[t.index] |= types;
    return NVML_SUCCESS;
}

// lost_one reports each loss of a registered GPU once per set.
static bool lost_one(const struct gs_state *s, struct nvmlEventSet_st *set) {
    for (uint32_t i = 0; i < s->machine.gpu_count; i++) {
        if (!s->gpu[i].v.lost) set->loss_told[i] = false;
        if (!set->want.types[i] || !s->gpu[i].v.lost || set->loss_told[i]) continue;
        set->loss_told[i] = true;
        return true;
    }
    return false;
}

static bool passed(const struct timespec *deadline) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec || (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static nvmlReturn_t wait_event(struct gs_call *c, nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms) {
    struct timespec deadline;
    struct gs_event e;
    if (!data) return NVML_ERROR_INVALID_ARGUMENT;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += ms / 1000;
    deadline.tv_nsec += (long)(ms % 1000) * 1000000;
    if (deadline.tv_nsec >= 1000000000) deadline.tv_sec++, deadline.tv_nsec -= 1000000000;
    for (;;) {
        if (!gs_call_alive(c)) return NVML_ERROR_UNINITIALIZED;
        if (!find_set(c, set)) return NVML_ERROR_INVALID_ARGUMENT;
        if (gs_next(c->s, &set->cursor, &set->want, &e)) break;
        if (lost_one(c->s, set)) return NVML_ERROR_GPU_IS_LOST;
        if (passed(&deadline)) return NVML_ERROR_TIMEOUT;
        uint32_t seen = c->s->pulse;
        gs_unlock(&c->session->m);
        gs_wait(c->s, seen, &deadline);
        gs_lock(&c->session->m);
    }
    *data = (nvmlEventData_t){.device = gs_gpu_handle(e.gpu),
                              .eventType = e.type,
                              .eventData = e.data,
                              .gpuInstanceId = e.gi,
                              .computeInstanceId = e.ci};
    return NVML_SUCCESS;
}

// The first version ends before the instance ids.
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    NVML_ENTER(nvmlEventSetWait);
    nvmlEventData_t full;
    if (!data) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(wait_event(&call, set, &full, timeout_ms));
    data->device = full.device;
    data->eventType = full.eventType;
    data->eventData = full.eventData;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    NVML_ENTER(nvmlEventSetWait_v2);
    return wait_event(&call, set, data, timeout_ms);
}
