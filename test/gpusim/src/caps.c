// SPDX-License-Identifier: Apache-2.0
#include "caps.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mig.h"

uint32_t gs_caps_minor(uint32_t gpu_minor, uint32_t gi, uint32_t ci) {
    uint32_t first = GS_CAP_MONITOR + 1 + (gpu_minor * GS_GI_IDS + gi) * (1 + GS_MAX_CIS);
    return ci == GS_NONE ? first : first + 1 + ci;
}

static void put_access(const char *dir, uint32_t minor) {
    char path[PATH_MAX];
    mkdir(dir, 0555);
    snprintf(path, sizeof path, "%s/access", dir);
    FILE *f = fopen(path, "we");
    if (!f) return;
    fprintf(f, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor); // 292 is 0444
    fclose(f);
}

static void drop_access(const char *dir) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/access", dir);
    unlink(path);
    rmdir(dir);
}

static void sync_instance(const char *gpu_dir, uint32_t minor, uint32_t id, struct gs_gpu_instance *gi) {
    char dir[PATH_MAX - 64], sub[PATH_MAX - 16];
    snprintf(dir, sizeof dir, "%.3000s/gi%u", gpu_dir, id);
    if (!gi && access(dir, F_OK)) return;
    if (gi) put_access(dir, gs_caps_minor(minor, id, GS_NONE));
    for (uint32_t c = 0; c < GS_MAX_CIS; c++) {
        snprintf(sub, sizeof sub, "%.3500s/ci%u", dir, c);
        gi &&gs_ci_find(gi, c) ? put_access(sub, gs_caps_minor(minor, id, c)) : drop_access(sub);
    }
    if (!gi) drop_access(dir);
}

void gs_caps_sync(const struct gs_state *s, uint32_t gpu) {
    char dir[GS_PATH_SIZE + 96];
    struct gs_gpu *g = (struct gs_gpu *)&s->gpu[gpu]; // the finders return what they are given; nothing is written
    if (!*s->root || !g->spec.mig_capable) return;
    snprintf(dir, sizeof dir, "%s/proc/driver/nvidia/capabilities/gpu%u/mig", s->root, g->spec.minor);
    for (uint32_t id = 0; id < GS_GI_IDS; id++) sync_instance(dir, g->spec.minor, id, gs_gi_find(g, id));
}

void gs_root_boot(const struct gs_state *s) {
    char path[GS_PATH_SIZE + 64];
    if (!*s->root) return;
    snprintf(path, sizeof path, "%s/proc/sys/kernel/random/boot_id", s->root);
    FILE *f = fopen(path, "we");
    if (!f) return;
    fprintf(f, "%s\n", s->boot_id);
    fclose(f);
}
