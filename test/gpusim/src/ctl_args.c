// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "ctl.h"
#include "exec.h"

static int complain(int code, const char *format, va_list args) {
    fputs("gpusim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    return code;
}

int ctl_refuse(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = complain(CTL_REFUSED, format, args);
    va_end(args);
    return code;
}

int ctl_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = complain(CTL_USAGE, format, args);
    va_end(args);
    return code;
}

const char *ctl_option(const struct ctl_args *a, const char *name, const char *otherwise) {
    for (int i = 0; i < a->options; i++)
        if (!strcmp(a->option[i].name, name)) return a->option[i].value;
    return otherwise;
}

int ctl_number(const char *what, const char *text, unsigned long max, unsigned long *out) {
    char *end;
    *out = strtoul(text, &end, 10);
    if (*text && *text != '-' && *text != '+' && !*end && *out <= max) return 0;
    return ctl_usage("%s \"%s\": allowed are 0 to %lu", what, text, max);
}

int ctl_open(struct gs_machine *m, const struct ctl_args *a) {
    char why[PATH_MAX + 200];
    if (gs_machine_open(m, a->dir, why, sizeof why) != GS_OPEN_OK)
        return ctl_refuse("%s; `gpusim init` makes a machine", why);
    gs_lock(m);
    gs_clients_reap(m);
    gs_exec_advance(m);
    return 0;
}

void ctl_close(struct gs_machine *m) {
    gs_unlock(m);
    gs_machine_close(m);
}

int ctl_gpu(const struct gs_machine *m, const struct ctl_args *a, int i, uint32_t *gpu) {
    unsigned long n;
    for (*gpu = 0; *gpu < m->s->machine.gpu_count; ++*gpu)
        if (!strcmp(m->s->gpu[*gpu].spec.uuid, a->word[i])) return 0;
    if (ctl_number("GPU", a->word[i], m->s->machine.gpu_count - 1, &n)) return CTL_USAGE;
    *gpu = (uint32_t)n;
    return 0;
}
