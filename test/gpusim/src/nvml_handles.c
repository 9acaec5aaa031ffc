// SPDX-License-Identifier: Apache-2.0
//
// Handles: encoding and resolving. nvml_lookup.c has the calls that hand them out.
#include <sys/mman.h>

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

nvmlReturn_t gs_target_gpu(struct gs_call *c, uint32_t index, struct gs_target *t) {
    if (index >= c->s->machine.gpu_count) return NVML_ERROR_INVALID_ARGUMENT;
    *t = (struct gs_target){.machine = &c->session->m, .index = index, .gpu = &c->s->gpu[index]};
    t->model = gs_model_find(t->gpu->spec.model);
    return t->gpu->v.lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t decode(struct gs_call *c, const void *handle, struct gs_target *t, enum kind *kind) {
    uintptr_t off = (uintptr_t)handle - handle_base;
    if (!handle_base || !handle || off >> BITS || off & 15) return NVML_ERROR_INVALID_ARGUMENT;
    *kind = off >> KIND_SHIFT & 3;
    uint32_t generation = off >> GEN_SHIFT & GEN_MASK;
    NVML_TRY(gs_target_gpu(c, off >> GPU_SHIFT & 31, t));
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
