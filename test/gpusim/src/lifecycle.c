// SPDX-License-Identifier: Apache-2.0
#include "lifecycle.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "caps.h"
#include "events.h"
#include "exec.h"
#include "mig.h"
#include "models.h"
#include "process.h"

bool gs_mig_mode_persists(const struct gs_gpu *g) {
    return gs_model_find(g->spec.model)->arch == NVML_ARCH_AMPERE;
}

static void clear_volatile(struct gs_gpu *g) {
    uint32_t mig = gs_mig_mode_persists(g) ? g->inforom.mig_mode : NVML_DISABLED;
    memset(&g->v, 0, sizeof g->v);
    g->v.mig_mode = mig;
}

static void write_boot_id(const struct gs_machine *m) {
    char path[PATH_MAX + 16], line[48];
    snprintf(path, sizeof path, "%s/boot_id", m->dir);
    int n = snprintf(line, sizeof line, "%s\n", m->s->boot_id);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return; // a copy for reading; the state holds the truth
    if (write(fd, line, n) != n) unlink(path);
    close(fd);
}

void gs_power_on(struct gs_machine *m) {
    struct gs_state *s = m->s;
    char id[GS_UUID_SIZE];
    for (uint32_t i = 0; i < s->machine.gpu_count; i++) {
        clear_volatile(&s->gpu[i]);
        gs_caps_sync(s, i);
    }
    gs_exec_power_on(s);
    memset(s->fault, 0, sizeof s->fault);
    gs_new_uuid(id, "");
    memcpy(s->boot_id, id, 37);
    s->boot++;
    write_boot_id(m);
    gs_root_boot(s);
    gs_pulse(s);
}

nvmlReturn_t gs_reset_gpu(struct gs_machine *m, uint32_t gpu) {
    struct gs_gpu *g = &m->s->gpu[gpu];
    if (g->v.lost) return NVML_ERROR_GPU_IS_LOST;
    if (gs_process_count(g, GS_NONE, GS_NONE)) return NVML_ERROR_IN_USE;
    uint32_t before = g->v.mig_mode;
    bool had_instances = gs_gi_count(g) > 0;
    // Hopper and later keep the mode over a reset, only not over a reboot.
    uint32_t mode = gs_mig_mode_persists(g) ? g->inforom.mig_mode : before;
    clear_volatile(g);
    g->v.mig_mode = mode;
    gs_caps_sync(m->s, gpu);
    if (mode != before || had_instances) gs_post(m->s, gpu, NVML_EVENT_MIG_CONFIG, 0, GS_NONE, GS_NONE);
    return NVML_SUCCESS;
}

static nvmlReturn_t set_mode_by_reset(struct gs_machine *m, uint32_t gpu, uint32_t mode) {
    struct gs_gpu *g = &m->s->gpu[gpu];
    g->inforom.mig_mode = mode;
    if (g->v.mig_mode == mode) return NVML_SUCCESS;
    if (gs_process_count(g, GS_NONE, GS_NONE)) return NVML_ERROR_IN_USE;
    return g->spec.mig_auto ? gs_reset_gpu(m, gpu) : NVML_ERROR_RESET_REQUIRED;
}

nvmlReturn_t gs_set_mig_mode(struct gs_machine *m, uint32_t gpu, uint32_t mode) {
    struct gs_gpu *g = &m->s->gpu[gpu];
    if (gs_mig_mode_persists(g)) return set_mode_by_reset(m, gpu, mode);
    if (g->v.mig_mode == mode) return NVML_SUCCESS;
    if (gs_process_count(g, GS_NONE, GS_NONE) || gs_gi_count(g)) return NVML_ERROR_IN_USE;
    g->v.mig_mode = mode;
    gs_post(m->s, gpu, NVML_EVENT_MIG_CONFIG, 0, GS_NONE, GS_NONE);
    return NVML_SUCCESS;
}

void gs_lose(struct gs_machine *m, uint32_t gpu) {
    m->s->gpu[gpu].v.lost = 1;
    gs_exec_pulse(m->s);
    gs_post(m->s, gpu, NVML_EVENT_XID, 79, GS_NONE, GS_NONE);
}

void gs_recover(struct gs_machine *m, uint32_t gpu) {
    struct gs_gpu *g = &m->s->gpu[gpu];
    if (!g->v.lost) return;
    gs_exec_forget_gpu(m->s, gpu);
    clear_volatile(g);
    gs_caps_sync(m->s, gpu);
    gs_pulse(m->s);
}
