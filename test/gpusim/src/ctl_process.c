// SPDX-License-Identifier: Apache-2.0
//
// gpusim process: clients of a device.
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "ctl.h"
#include "process.h"

// place splits GPU[/GI/CI] in place of word 1; ids are GS_NONE without them.
static int place(struct gs_machine *m, struct ctl_args *a, uint32_t *gpu, struct gs_process *p) {
    char text[128];
    unsigned long gi, ci;
    snprintf(text, sizeof text, "%s", a->word[1]);
    p->gi = p->ci = GS_NONE;
    char *slash = strchr(text, '/');
    if (slash) {
        *slash = 0;
        char *second = strchr(slash + 1, '/');
        if (!second) return ctl_usage("device \"%s\": write GPU or GPU/GI/CI", a->word[1]);
        *second = 0;
        if (ctl_number("GI", slash + 1, 14, &gi) || ctl_number("CI", second + 1, GS_MAX_CIS - 1, &ci)) return CTL_USAGE;
        p->gi = (uint32_t)gi, p->ci = (uint32_t)ci;
    }
    a->word[1] = text;
    return ctl_gpu(m, a, 1, gpu);
}

static int read_size(const char *text, uint64_t *bytes) {
    unsigned long long n;
    char unit[8] = "";
    int got = sscanf(text, "%llu%7s", &n, unit);
    int shift = !strcmp(unit, "KiB") ? 10 : !strcmp(unit, "MiB") ? 20 : !strcmp(unit, "GiB") ? 30 : 0;
    if (got < 1 || *text == '-' || (*unit && !shift) || n > 1ull << 40)
        return ctl_usage("--memory \"%s\": write bytes, or a size like 512MiB or 4GiB", text);
    *bytes = (uint64_t)n << shift;
    return 0;
}

static int read_kind(const char *text, uint32_t *kind) {
    static const char *const names[] = {"compute", "graphics", "mps"};
    for (*kind = 0; *kind < 3; ++*kind)
        if (!strcmp(names[*kind], text)) return 0;
    return ctl_usage("--kind \"%s\": allowed are compute, graphics, mps", text);
}

static int read_client(struct ctl_args *a, struct gs_process *p) {
    unsigned long pid, sm;
    if (ctl_number("PID", a->word[2], 4194304, &pid) || ctl_number("--sm", ctl_option(a, "sm", "0"), 100, &sm) ||
        read_size(ctl_option(a, "memory", "0"), &p->memory) || read_kind(ctl_option(a, "kind", "compute"), &p->kind))
        return CTL_USAGE;
    p->pid = (uint32_t)pid, p->sm_percent = (uint32_t)sm;
    if (strcmp(ctl_option(a, "real", "no"), "yes")) return 0;
    p->start_time = gs_process_start_time(p->pid);
    return p->start_time ? 0 : ctl_refuse("no process has pid %u", p->pid);
}

static int apply(struct gs_machine *m, struct ctl_args *a) {
    struct gs_process p = {0};
    uint32_t gpu;
    char device[64];
    snprintf(device, sizeof device, "%s", a->word[1]);
    int add = !strcmp(a->word[0], "add");
    if (!add && strcmp(a->word[0], "rm")) return ctl_usage("process \"%s\": allowed are add and rm", a->word[0]);
    int code = place(m, a, &gpu, &p);
    if (!code) code = read_client(a, &p);
    if (code) return code;
    struct gs_gpu *g = &m->s->gpu[gpu];
    nvmlReturn_t r = add ? gs_process_add(g, &p) : gs_process_remove(g, p.pid, p.gi, p.ci);
    if (r == NVML_SUCCESS) return CTL_OK;
    if (!add) return ctl_refuse("process %u is no client of %s", p.pid, device);
    if (r == NVML_ERROR_NOT_FOUND)
        return ctl_refuse(g->v.mig_mode ? "device %s: no such instance; in MIG mode name one as GPU/GI/CI"
                                        : "device %s: MIG mode is off; name the GPU alone",
                          device);
    return ctl_refuse("device %s: %s: its memory or the %d clients that a GPU may have are used up", device,
                      gs_return_name(r), GS_MAX_PROCESSES);
}

int ctl_process(struct ctl_args *a) {
    struct gs_machine m = {0};
    int code = ctl_open(&m, a);
    if (code) return code;
    code = apply(&m, a);
    ctl_close(&m);
    return code;
}
