// SPDX-License-Identifier: Apache-2.0
//
// gpusim state, as a table and as JSON.
#include <stdio.h>

#include "calls.h"
#include "clients.h"
#include "ctl.h"
#include "ctl_exec.h"
#include "lifecycle.h"
#include "mig.h"
#include "process.h"

static const char *const actions[] = {"none", "reset", "reboot", "drain-p2p", "drain-reset"};
static const char *const kinds[] = {"compute", "graphics", "mps"};

static const char *mode_of(const struct gs_gpu *g) {
    if (!g->spec.mig_capable) return "-";
    if (!gs_mig_mode_persists(g) || g->inforom.mig_mode == g->v.mig_mode) return g->v.mig_mode ? "on" : "off";
    return g->v.mig_mode ? "on (off pending)" : "off (on pending)";
}

static const char *profile_name(const struct gs_gpu *g, const struct gs_gpu_instance *gi) {
    return gs_profile_by_id(gs_model_find(g->spec.model), gi->profile)->name;
}

static void print_instances(const struct gs_gpu *g) {
    for (int i = 0; i < GS_MAX_GIS; i++) {
        const struct gs_gpu_instance *gi = &g->v.gi[i];
        if (!gi->used) continue;
        printf("      GI %-2u %-10s %u:%u\n", gi->id, profile_name(g, gi), gi->start, gi->size);
        for (int k = 0; k < GS_MAX_CIS; k++)
            if (gi->ci[k].used)
                printf("        CI %u %uc %u:%u  %s\n", gi->ci[k].id, gi->ci[k].size, gi->ci[k].start, gi->ci[k].size,
                       gi->ci[k].uuid);
    }
}

static uint32_t pid_of(const struct gs_machine *m, const struct gs_process *p) {
    return p->client ? gs_client_pid(m, p->client - 1) : p->pid;
}

static void print_clients(const struct gs_machine *m, const struct gs_gpu *g) {
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &g->v.process[i];
        if (!gs_process_matches(p, GS_NONE, GS_NONE)) continue;
        printf("      pid %u %s, %llu MiB, %u%% SM", pid_of(m, p), kinds[p->kind], (unsigned long long)p->memory >> 20,
               p->sm_percent);
        p->gi == GS_NONE ? puts("") : (void)printf(", GI %u CI %u\n", p->gi, p->ci);
    }
}

static void print_faults(const struct gs_state *s) {
    for (int i = 0; i < NVML_CALL_COUNT; i++) {
        const struct gs_fault *f = &s->fault[i];
        if (f->latency_ms) printf("latency %s %u ms\n", gs_call_name(i), f->latency_ms);
        if (f->times == GS_ALWAYS)
            printf("fail    %s %s always\n", gs_call_name(i), gs_return_name(f->code));
        else if (f->times)
            printf("fail    %s %s %u more times\n", gs_call_name(i), gs_return_name(f->code), f->times);
    }
}

void ctl_print_table(const struct gs_machine *m) {
    const struct gs_state *s = m->s;
    printf("%s: driver %s, boot %llu (%s)\n", s->machine.name, s->machine.driver_version, (unsigned long long)s->boot,
           s->boot_id);
    printf("%-4s %-10s %-41s %-13s %-5s %-17s %-9s %s\n", "GPU", "MODEL", "UUID", "BUS", "NUMA", "MIG", "HEALTH",
           "BUSY");
    for (uint32_t i = 0; i < s->machine.gpu_count; i++) {
        const struct gs_gpu *g = &s->gpu[i];
        char numa[12] = "-";
        if (g->spec.numa_node != GS_NONE) snprintf(numa, sizeof numa, "%u", g->spec.numa_node);
        printf("%-4u %-10s %-41s %04x:%02x:%02x.0  %-5s %-17s %-9s %u%%\n", i, g->spec.model, g->spec.uuid,
               g->spec.domain, g->spec.bus, g->spec.device, numa, mode_of(g),
               g->v.lost              ? "lost"
               : g->v.recovery_action ? actions[g->v.recovery_action]
                                      : "ok",
               g->v.util_gpu);
        print_instances(g);
        print_clients(m, g);
        ctl_print_contexts(m, i);
    }
    print_faults(s);
}

// Names come from descriptions and tables and may hold quotes.
static void json_string(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') putchar('\\');
        if ((unsigned char)*s < 0x20)
            printf("\\u%04x", *s);
        else
            putchar(*s);
    }
    putchar('"');
}

static void json_id(const char *key, uint32_t id) {
    id == GS_NONE ? (void)printf("\"%s\":null", key) : (void)printf("\"%s\":%u", key, id);
}

static void json_instances(const struct gs_gpu *g) {
    const char *comma = "";
    for (int i = 0; i < GS_MAX_GIS; i++) {
        const struct gs_gpu_instance *gi = &g->v.gi[i];
        if (!gi->used) continue;
        printf("%s{\"id\":%u,\"profile\":\"%s\",\"profileID\":%u,\"start\":%u,\"size\":%u,\"computeInstances\":[",
               comma, gi->id, profile_name(g, gi), gi->profile, gi->start, gi->size);
        const char *inner = "";
        for (int k = 0; k < GS_MAX_CIS; k++) {
            const struct gs_compute_instance *ci = &gi->ci[k];
            if (!ci->used) continue;
            printf("%s{\"id\":%u,\"profileID\":%u,\"start\":%u,\"size\":%u,\"uuid\":\"%s\"}", inner, ci->id,
                   ci->profile, ci->start, ci->size, ci->uuid);
            inner = ",";
        }
        printf("]}");
        comma = ",";
    }
}

static void json_clients(const struct gs_machine *m, const struct gs_gpu *g) {
    const char *comma = "";
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &g->v.process[i];
        if (!gs_process_matches(p, GS_NONE, GS_NONE)) continue;
        printf("%s{\"pid\":%u,\"kind\":\"%s\",\"memory\":%llu,\"smPercent\":%u,", comma, pid_of(m, p), kinds[p->kind],
               (unsigned long long)p->memory, p->sm_percent);
        json_id("gi", p->gi);
        putchar(',');
        json_id("ci", p->ci);
        putchar('}');
        comma = ",";
    }
}

static void json_gpu(const struct gs_machine *m, const struct gs_gpu *g, uint32_t i) {
    uint32_t pending = gs_mig_mode_persists(g) ? g->inforom.mig_mode : g->v.mig_mode;
    printf("{\"index\":%u,\"model\":\"%s\",\"uuid\":\"%s\",\"serial\":", i, g->spec.model, g->spec.uuid);
    json_string(g->spec.serial);
    printf(",\"minor\":%u,\"pciBusID\":\"%04x:%02x:%02x.0\",", g->spec.minor, g->spec.domain, g->spec.bus,
           g->spec.device);
    json_id("numaNode", g->spec.numa_node);
    printf(",\"memoryMiB\":%u,\"migCapable\":%s,\"migMode\":%u,\"migPending\":%u,\"lost\":%s,\"recoveryAction\":\"%s\","
           "\"utilization\":%u,\"eccUncorrected\":%llu,\"gpuInstances\":[",
           g->spec.memory_mib, g->spec.mig_capable ? "true" : "false", g->v.mig_mode, pending,
           g->v.lost ? "true" : "false", actions[g->v.recovery_action], g->v.util_gpu,
           (unsigned long long)g->v.ecc.uncorrected);
    json_instances(g);
    printf("],\"processes\":[");
    json_clients(m, g);
    printf("],\"contexts\":[");
    ctl_json_contexts(m, i);
    printf("]}");
}

void ctl_print_json(const struct gs_machine *m) {
    const struct gs_state *s = m->s;
    printf("{\"name\":");
    json_string(s->machine.name);
    printf(",\"driverVersion\":\"%s\",\"boot\":%llu,\"bootID\":\"%s\",\"gpus\":[", s->machine.driver_version,
           (unsigned long long)s->boot, s->boot_id);
    for (uint32_t i = 0; i < s->machine.gpu_count; i++) {
        if (i) putchar(',');
        json_gpu(m, &s->gpu[i], i);
    }
    printf("],\"faults\":[");
    const char *comma = "";
    for (int i = 0; i < NVML_CALL_COUNT; i++) {
        const struct gs_fault *f = &s->fault[i];
        if (!f->latency_ms && !f->times) continue;
        printf("%s{\"call\":\"%s\",\"latencyMs\":%u,\"code\":\"%s\",", comma, gs_call_name(i), f->latency_ms,
               gs_return_name(f->times ? f->code : NVML_SUCCESS));
        json_id("times", f->times); // null: until cleared
        putchar('}');
        comma = ",";
    }
    puts("]}");
}
