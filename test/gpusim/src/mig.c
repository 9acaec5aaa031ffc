// SPDX-License-Identifier: Apache-2.0
#include "mig.h"

#include "process.h"

static const struct gs_model *model_of(const struct gs_gpu *g) {
    return gs_model_find(g->spec.model);
}

static const struct gs_profile *profile_of(const struct gs_gpu *g, const struct gs_gpu_instance *gi) {
    return gs_profile_by_id(model_of(g), gi->profile);
}

static unsigned interval(unsigned start, unsigned size) {
    return ((1u << size) - 1) << start;
}

static unsigned occupied(const struct gs_gpu *g) {
    unsigned used = 0;
    for (int i = 0; i < GS_MAX_GIS; i++)
        if (g->v.gi[i].used) used |= interval(g->v.gi[i].start, g->v.gi[i].size);
    return used;
}

// count_room: how many more of this profile the count rules allow.
static int count_room(const struct gs_gpu *g, const struct gs_profile *p) {
    int compute = model_of(g)->compute, same = 0, media = 0;
    for (int i = 0; i < GS_MAX_GIS; i++) {
        if (!g->v.gi[i].used) continue;
        const struct gs_profile *q = profile_of(g, &g->v.gi[i]);
        compute -= q->compute;
        same += q == p;
        media += q->media_ext;
    }
    int room = compute / p->compute;
    if (p->max - same < room) room = p->max - same;
    if (p->media_ext && 1 - media < room) room = 1 - media;
    return room > 0 ? room : 0;
}

unsigned gs_gi_free_starts(const struct gs_gpu *g, const struct gs_profile *p) {
    unsigned used = occupied(g), free = 0;
    if (!count_room(g, p)) return 0;
    for (unsigned s = 0; s < GS_MAX_SLICES; s++)
        if ((p->starts >> s & 1) && !(used & interval(s, p->size))) free |= 1u << s;
    return free;
}

int gs_gi_remaining(const struct gs_gpu *g, const struct gs_profile *p) {
    int room = count_room(g, p);
    int free = __builtin_popcount(gs_gi_free_starts(g, p)); // starts of one profile never overlap each other
    return free < room ? free : room;
}

int gs_gi_count(const struct gs_gpu *g) {
    int n = 0;
    for (int i = 0; i < GS_MAX_GIS; i++) n += g->v.gi[i].used != 0;
    return n;
}

struct gs_gpu_instance *gs_gi_find(struct gs_gpu *g, uint32_t id) {
    for (int i = 0; i < GS_MAX_GIS; i++)
        if (g->v.gi[i].used && g->v.gi[i].id == id) return &g->v.gi[i];
    return NULL;
}

static uint8_t instance_id(const struct gs_gpu *g, unsigned start, unsigned size) {
    unsigned parts = model_of(g)->memory / size;
    return (uint8_t)(parts - 1 + start / size);
}

nvmlReturn_t gs_gi_create(struct gs_state *s, struct gs_gpu *g, const struct gs_profile *p, uint32_t start,
                          struct gs_gpu_instance **out) {
    unsigned free = gs_gi_free_starts(g, p);
    if (start != GS_NONE && (start >= GS_MAX_SLICES || !(p->starts >> start & 1))) return NVML_ERROR_INVALID_ARGUMENT;
    if (!free || (start != GS_NONE && !(free >> start & 1))) return NVML_ERROR_INSUFFICIENT_RESOURCES;
    if (start == GS_NONE) start = 31 - __builtin_clz(free);
    struct gs_gpu_instance *gi = g->v.gi;
    while (gi->used) gi++; // eight slots: as many as memory slices
    *gi = (struct gs_gpu_instance){.generation = ++s->generation,
                                   .id = instance_id(g, start, p->size),
                                   .profile = p->driver_id,
                                   .start = (uint8_t)start,
                                   .size = p->size};
    __atomic_store_n(&gi->used, 1, __ATOMIC_RELEASE);
    *out = gi;
    return NVML_SUCCESS;
}

nvmlReturn_t gs_gi_destroy(struct gs_gpu *g, struct gs_gpu_instance *gi) {
    if (gs_process_count(g, gi->id, GS_NONE)) return NVML_ERROR_IN_USE;
    for (int i = 0; i < GS_MAX_CIS; i++)
        if (gi->ci[i].used) return NVML_ERROR_IN_USE;
    __atomic_store_n(&gi->used, 0, __ATOMIC_RELEASE);
    return NVML_SUCCESS;
}

bool gs_mig_device(struct gs_gpu *g, unsigned index, struct gs_gpu_instance **gi, struct gs_compute_instance **ci) {
    for (uint32_t gid = 0; gid < 15; gid++) {
        *gi = gs_gi_find(g, gid);
        for (uint32_t cid = 0; *gi && cid < GS_MAX_CIS; cid++) {
            *ci = gs_ci_find(*gi, cid);
            if (*ci && index-- == 0) return true;
        }
    }
    return false;
}
