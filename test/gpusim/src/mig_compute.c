// SPDX-License-Identifier: Apache-2.0
//
// Compute instances: how the compute slices of a GPU instance are divided.
#include <stdio.h>

#include "mig.h"
#include "machine.h"
#include "process.h"

// Slices of each NVML compute instance enum that the simulator offers.
static const uint8_t ci_slices[] = {1, 2, 3, 4, 7};

bool gs_ci_profile(const struct gs_model *m, const struct gs_profile *p, unsigned nvml_enum,
                   struct gs_ci_profile *out) {
    if (nvml_enum >= sizeof ci_slices) return false;
    unsigned c = ci_slices[nvml_enum], g = p->compute;
    // As go-nvlib derives from real listings: a part larger than half is only
    // offered where the rest is at most one slice smaller.
    if (c > g || (c < g && 2 * c > g + 1)) return false;
    *out = (struct gs_ci_profile){.id = (uint8_t)nvml_enum, .slices = (uint8_t)c};
    // Parts of 3 lie beside a part of 4, so they may start at 0 and 4.
    unsigned step = c == 3 && g == 7 ? 4 : c;
    for (unsigned s = 0; s + c <= g; s += step) {
        out->starts |= (uint8_t)(1u << s);
        out->max++;
    }
    out->sms = c == g ? p->sms : (uint16_t)(c * m->slice_sms);
    return true;
}

void gs_ci_name(char out[GS_NAME_SIZE], const struct gs_profile *p, unsigned slices) {
    if (slices == p->compute)
        snprintf(out, GS_NAME_SIZE, "%s", p->name);
    else
        snprintf(out, GS_NAME_SIZE, "%uc.%s", slices, p->name);
}

static unsigned occupied(const struct gs_gpu_instance *gi) {
    unsigned used = 0;
    for (int i = 0; i < GS_MAX_CIS; i++)
        if (gi->ci[i].used) used |= ((1u << gi->ci[i].size) - 1) << gi->ci[i].start;
    return used;
}

unsigned gs_ci_free_starts(const struct gs_gpu_instance *gi, const struct gs_ci_profile *c) {
    unsigned used = occupied(gi), free = 0;
    for (unsigned s = 0; s < GS_MAX_SLICES; s++)
        if ((c->starts >> s & 1) && !(used & (((1u << c->slices) - 1) << s))) free |= 1u << s;
    return free;
}

int gs_ci_remaining(const struct gs_gpu_instance *gi, const struct gs_ci_profile *c) {
    return __builtin_popcount(gs_ci_free_starts(gi, c));
}

struct gs_compute_instance *gs_ci_find(struct gs_gpu_instance *gi, uint32_t id) {
    for (int i = 0; i < GS_MAX_CIS; i++)
        if (gi->ci[i].used && gi->ci[i].id == id) return &gi->ci[i];
    return NULL;
}

nvmlReturn_t gs_ci_create(struct gs_state *s, struct gs_gpu_instance *gi, const struct gs_ci_profile *c, uint32_t start,
                          struct gs_compute_instance **out) {
    unsigned free = gs_ci_free_starts(gi, c);
    if (start != GS_NONE && (start >= GS_MAX_SLICES || !(c->starts >> start & 1))) return NVML_ERROR_INVALID_ARGUMENT;
    if (!free || (start != GS_NONE && !(free >> start & 1))) return NVML_ERROR_INSUFFICIENT_RESOURCES;
    if (start == GS_NONE) start = __builtin_ctz(free);
    struct gs_compute_instance *ci = gi->ci;
    while (ci->used) ci++; // at most seven compute slices
    uint32_t id = 0;
    while (gs_ci_find(gi, id)) id++;
    *ci = (struct gs_compute_instance){
        .generation = ++s->generation, .id = (uint8_t)id, .profile = c->id, .start = (uint8_t)start, .size = c->slices};
    gs_new_uuid(ci->uuid, "MIG-");
    __atomic_store_n(&ci->used, 1, __ATOMIC_RELEASE);
    *out = ci;
    return NVML_SUCCESS;
}

nvmlReturn_t gs_ci_destroy(struct gs_gpu *g, struct gs_gpu_instance *gi, struct gs_compute_instance *ci) {
    if (gs_process_count(g, gi->id, ci->id)) return NVML_ERROR_IN_USE;
    __atomic_store_n(&ci->used, 0, __ATOMIC_RELEASE);
    return NVML_SUCCESS;
}
