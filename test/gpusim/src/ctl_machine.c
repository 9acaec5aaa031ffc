// SPDX-License-Identifier: Apache-2.0
//
// Verbs that make a machine, show it, and inject behaviour into calls.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "ctl.h"
#include "describe.h"
#include "models.h"

enum { MAX_DESCRIPTION = 1 << 20 };

static char *read_file(const char *path) {
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
    if (!f) return NULL;
    char *text = malloc(MAX_DESCRIPTION + 1);
    size_t n = text ? fread(text, 1, MAX_DESCRIPTION, f) : 0;
    if (text) text[n] = 0;
    if (f != stdin) fclose(f);
    return text;
}

static int keep_description(const char *dir, const char *text) {
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/description", dir);
    FILE *f = fopen(path, "we");
    if (!f) return -1;
    fputs(text, f);
    return fclose(f);
}

int ctl_init(struct ctl_args *a) {
    struct gs_machine m = {0};
    struct gs_description *d = malloc(sizeof *d);
    char why[2048] = "";
    char *text = read_file(a->word[0]);
    int bad = 1;
    if (!text || !d)
        snprintf(why, sizeof why, "read %s: %s", a->word[0], strerror(errno));
    else if (!gs_describe(a->word[0], text, d, why, sizeof why))
        bad = gs_machine_create(&m, a->dir, &d->machine, d->gpu, why, sizeof why);
    if (!bad && keep_description(a->dir, text))
        bad = snprintf(why, sizeof why, "write %s/description: %s", a->dir, strerror(errno));
    gs_machine_close(&m);
    free(text);
    free(d);
    return bad ? ctl_refuse("%s", why) : CTL_OK;
}

int ctl_state(struct ctl_args *a) {
    const char *format = ctl_option(a, "o", "table");
    struct gs_machine m = {0};
    if (strcmp(format, "table") && strcmp(format, "json"))
        return ctl_usage("-o \"%s\": allowed are table and json", format);
    int code = ctl_open(&m, a);
    if (code) return code;
    *format == 'j' ? ctl_print_json(&m) : ctl_print_table(&m);
    ctl_close(&m);
    return CTL_OK;
}

// for_calls applies a change to every call that the pattern names.
static int for_calls(struct ctl_args *a, void (*set)(struct gs_fault *, const void *), const void *with) {
    struct gs_machine m = {0};
    int code = ctl_open(&m, a), hits = 0;
    if (code) return code;
    for (int i = 0; i < NVML_CALL_COUNT; i++)
        if (gs_call_matches(i, a->word[0])) set(&m.s->fault[i], with), hits++;
    ctl_close(&m);
    return hits ? CTL_OK : ctl_usage("CALL \"%s\" is unknown: `gpusim calls` lists them", a->word[0]);
}

static void set_latency(struct gs_fault *f, const void *ms) {
    f->latency_ms = (uint32_t) * (const unsigned long *)ms;
}

int ctl_latency(struct ctl_args *a) {
    unsigned long ms;
    if (ctl_number("MILLISECONDS", a->word[1], 600000, &ms)) return CTL_USAGE;
    return for_calls(a, set_latency, &ms);
}

static void set_fault(struct gs_fault *f, const void *with) {
    const struct gs_fault *g = with;
    f->times = 0;
    f->code = g->code;
    f->times = g->times;
}

int ctl_fail(struct ctl_args *a) {
    struct gs_fault f = {.code = gs_return_code(a->word[1]), .times = GS_ALWAYS};
    unsigned long n;
    const char *times = ctl_option(a, "times", NULL);
    if (f.code < 0)
        return ctl_usage("CODE \"%s\": write a name of NVML like IN_USE, GPU_IS_LOST, SUCCESS, or its number",
                         a->word[1]);
    if (times) {
        if (ctl_number("--times", times, 1000000, &n)) return CTL_USAGE;
        f.times = (uint32_t)n;
    }
    if (f.code == NVML_SUCCESS) f.times = 0;
    return for_calls(a, set_fault, &f);
}

int ctl_calls(struct ctl_args *a) {
    (void)a;
    for (int i = 0; i < NVML_CALL_COUNT; i++) puts(gs_call_name(i));
    return CTL_OK;
}

static void print_starts(const struct gs_profile *p) {
    for (unsigned s = 0, n = 0; s < GS_MAX_SLICES; s++)
        if (p->starts >> s & 1) printf("%s%u", n++ ? "," : "", s);
}

int ctl_models(struct ctl_args *a) {
    (void)a;
    const struct gs_model *m;
    for (int i = 0; (m = gs_model_at(i)); i++) {
        printf("%-10s %s, %u MiB, %s\n", m->key, m->name, m->memory_mib, m->compute ? "MIG:" : "no MIG");
        for (int k = 0; k < m->profile_count; k++) {
            const struct gs_profile *p = &m->profiles[k];
            printf("    %-12s id %2u  max %u  %6u MiB  %3u SMs  placement ", p->name, p->driver_id, p->max,
                   p->memory_mib, p->sms);
            print_starts(p);
            printf(" : %u\n", p->size);
        }
    }
    return CTL_OK;
}
