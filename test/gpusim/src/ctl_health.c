// SPDX-License-Identifier: Apache-2.0
//
// Verbs about a GPU's health and life.
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "ctl.h"
#include "events.h"
#include "lifecycle.h"

// on_gpu opens the machine, runs `act` on the GPU that word 0 names, closes it.
static int on_gpu(struct ctl_args *a, int (*act)(struct gs_machine *, uint32_t, struct ctl_args *)) {
    struct gs_machine m = {0};
    uint32_t gpu = 0;
    int code = ctl_open(&m, a);
    if (code) return code;
    code = ctl_gpu(&m, a, 0, &gpu);
    if (!code) code = act(&m, gpu, a);
    ctl_close(&m);
    return code;
}

// instance reads --gi and --ci; absent means not attributable.
static int instance(const struct ctl_args *a, uint32_t *gi, uint32_t *ci) {
    unsigned long n;
    *gi = *ci = GS_NONE;
    if (ctl_option(a, "gi", NULL)) {
        if (ctl_number("--gi", ctl_option(a, "gi", NULL), 14, &n)) return CTL_USAGE;
        *gi = (uint32_t)n;
    }
    if (ctl_option(a, "ci", NULL)) {
        if (ctl_number("--ci", ctl_option(a, "ci", NULL), GS_MAX_CIS - 1, &n)) return CTL_USAGE;
        *ci = (uint32_t)n;
    }
    return 0;
}

static int xid(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    unsigned long code;
    uint32_t gi, ci;
    if (ctl_number("CODE", a->word[1], 999, &code) || instance(a, &gi, &ci)) return CTL_USAGE;
    gs_post(m->s, gpu, NVML_EVENT_XID, code, gi, ci);
    return CTL_OK;
}

int ctl_xid(struct ctl_args *a) {
    return on_gpu(a, xid);
}

static int ecc(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    unsigned long n;
    const char *type = ctl_option(a, "type", "uncorrected");
    struct gs_gpu *g = &m->s->gpu[gpu];
    int uncorrected = !strcmp(type, "uncorrected");
    if (!uncorrected && strcmp(type, "corrected"))
        return ctl_usage("--type \"%s\": allowed are corrected and uncorrected", type);
    if (ctl_number("--errors", ctl_option(a, "errors", "1"), 1000000, &n)) return CTL_USAGE;
    if (!g->spec.ecc) return ctl_refuse("GPU %u has ECC off", gpu);
    *(uncorrected ? &g->v.ecc.uncorrected : &g->v.ecc.corrected) += n;
    *(uncorrected ? &g->inforom.ecc.uncorrected : &g->inforom.ecc.corrected) += n;
    gs_post(m->s, gpu, uncorrected ? NVML_EVENT_DBE : NVML_EVENT_SBE, 0, GS_NONE, GS_NONE);
    return CTL_OK;
}

int ctl_ecc(struct ctl_args *a) {
    return on_gpu(a, ecc);
}

static int lose(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    (void)a;
    if (m->s->gpu[gpu].v.lost) return ctl_refuse("GPU %u is lost already", gpu);
    gs_lose(m, gpu);
    return CTL_OK;
}

int ctl_lose(struct ctl_args *a) {
    return on_gpu(a, lose);
}

static int recover(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    (void)a;
    if (!m->s->gpu[gpu].v.lost) return ctl_refuse("GPU %u is not lost", gpu);
    gs_recover(m, gpu);
    return CTL_OK;
}

int ctl_recover(struct ctl_args *a) {
    return on_gpu(a, recover);
}

static int recovery_action(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    static const char *const names[] = {"none", "reset", "reboot", "drain-p2p", "drain-reset"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], a->word[1])) return gs_set_recovery(m->s, gpu, i), CTL_OK;
    return ctl_usage("action \"%s\": allowed are none, reset, reboot, drain-p2p, drain-reset", a->word[1]);
}

int ctl_recovery_action(struct ctl_args *a) {
    return on_gpu(a, recovery_action);
}

static int mig_event(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    (void)a;
    gs_post(m->s, gpu, NVML_EVENT_MIG_CONFIG, 0, GS_NONE, GS_NONE);
    return CTL_OK;
}

int ctl_mig_event(struct ctl_args *a) {
    return on_gpu(a, mig_event);
}

static int util(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    unsigned long busy, memory;
    if (ctl_number("PERCENT", a->word[1], 100, &busy) ||
        ctl_number("--memory", ctl_option(a, "memory", a->word[1]), 100, &memory))
        return CTL_USAGE;
    m->s->gpu[gpu].v.util_gpu = (uint32_t)busy;
    m->s->gpu[gpu].v.util_memory = (uint32_t)memory;
    return CTL_OK;
}

int ctl_util(struct ctl_args *a) {
    return on_gpu(a, util);
}

static int reset(struct gs_machine *m, uint32_t gpu, struct ctl_args *a) {
    (void)a;
    nvmlReturn_t r = gs_reset_gpu(m, gpu);
    if (r == NVML_ERROR_IN_USE) return ctl_refuse("GPU %u has clients: end them first (gpusim process rm)", gpu);
    if (r != NVML_SUCCESS) return ctl_refuse("reset GPU %u: %s", gpu, gs_return_name(r));
    return CTL_OK;
}

int ctl_reset(struct ctl_args *a) {
    return on_gpu(a, reset);
}

int ctl_reboot(struct ctl_args *a) {
    struct gs_machine m = {0};
    int code = ctl_open(&m, a);
    if (code) return code;
    gs_power_on(&m);
    printf("boot %s\n", m.s->boot_id);
    ctl_close(&m);
    return CTL_OK;
}
