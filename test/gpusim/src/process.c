// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <stdio.h>
#include <string.h>

#include "mig.h"
#include "models.h"

uint64_t gs_process_start_time(uint32_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    char *got = fgets(line, sizeof line, f);
    fclose(f);
    // The command name may contain anything, so count fields after its last ')'.
    char *p = got ? strrchr(line, ')') : NULL;
    for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
    unsigned long long start = 0;
    return p && sscanf(p, "%llu", &start) == 1 ? start : 0;
}

bool gs_process_alive(const struct gs_process *p) {
    // Of CUDA clients, those that are gone have been reaped (clients.h).
    return p->client || !p->start_time || gs_process_start_time(p->pid) == p->start_time;
}

bool gs_process_matches(const struct gs_process *p, uint32_t gi, uint32_t ci) {
    return p->used && (gi == GS_NONE || p->gi == gi) && (ci == GS_NONE || p->ci == ci) && gs_process_alive(p);
}

int gs_process_count(const struct gs_gpu *g, uint32_t gi, uint32_t ci) {
    int n = 0;
    for (int i = 0; i < GS_MAX_PROCESSES; i++) n += gs_process_matches(&g->v.process[i], gi, ci);
    return n;
}

uint64_t gs_process_memory(const struct gs_gpu *g, uint32_t gi, uint32_t ci) {
    uint64_t sum = 0;
    for (int i = 0; i < GS_MAX_PROCESSES; i++)
        if (gs_process_matches(&g->v.process[i], gi, ci)) sum += g->v.process[i].memory;
    return sum;
}

uint64_t gs_process_room(const struct gs_gpu *g, uint32_t gi_id, uint32_t ci_id) {
    const struct gs_model *m = gs_model_find(g->spec.model);
    if (!g->v.mig_mode)
        return gi_id == GS_NONE && ci_id == GS_NONE ? (uint64_t)(g->spec.memory_mib - m->reserved_mib) << 20 : 0;
    const struct gs_gpu_instance *gi = gs_gi_find((struct gs_gpu *)g, gi_id);
    if (!gi || !gs_ci_find((struct gs_gpu_instance *)gi, ci_id)) return 0;
    return (uint64_t)gs_profile_by_id(m, gi->profile)->memory_mib << 20;
}

nvmlReturn_t gs_process_add(struct gs_gpu *g, const struct gs_process *p) {
    uint64_t room = gs_process_room(g, p->gi, p->ci);
    if (!room) return NVML_ERROR_NOT_FOUND;
    struct gs_process *slot = NULL;
    uint64_t held = gs_process_memory(g, p->gi, GS_NONE);
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        struct gs_process *q = &g->v.process[i];
        if (gs_process_matches(q, p->gi, p->ci) && q->pid == p->pid && q->client == p->client) {
            held -= q->memory;
            slot = q;
            break;
        }
        if (!slot && (!q->used || !gs_process_alive(q))) slot = q;
    }
    if (!slot || held + p->memory > room) return NVML_ERROR_INSUFFICIENT_RESOURCES;
    slot->used = 0;
    struct gs_process filled = *p;
    filled.used = 0;
    *slot = filled;
    __atomic_store_n(&slot->used, 1, __ATOMIC_RELEASE);
    return NVML_SUCCESS;
}

nvmlReturn_t gs_process_remove(struct gs_gpu *g, uint32_t pid, uint32_t gi, uint32_t ci) {
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        struct gs_process *p = &g->v.process[i];
        if (!p->used || p->client || p->pid != pid || p->gi != gi || p->ci != ci) continue;
        p->used = 0;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t gs_process_charge(struct gs_gpu *g, uint32_t process, int64_t bytes) {
    struct gs_process *p = &g->v.process[process];
    if (bytes > 0 && gs_process_memory(g, p->gi, GS_NONE) + (uint64_t)bytes > gs_process_room(g, p->gi, p->ci))
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    // What was charged to an entry that is gone is not given back to its successor.
    p->memory = bytes < 0 && p->memory < (uint64_t)-bytes ? 0 : p->memory + (uint64_t)bytes;
    return NVML_SUCCESS;
}

int gs_process_find(const struct gs_gpu *g, uint32_t client, uint32_t gi, uint32_t ci) {
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &g->v.process[i];
        if (p->used && p->client == client + 1 && p->gi == gi && p->ci == ci) return i;
    }
    return -1;
}
