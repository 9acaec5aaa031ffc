// SPDX-License-Identifier: Apache-2.0
//
// Sections and lines. What a key means is in describe_keys.c.
#include "describe.h"

#include <stdio.h>
#include <string.h>

#include "describe_keys.h"

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    char *end = s + strlen(s);
    while (end > s && strchr(" \t\r", end[-1])) end--;
    *end = 0;
    return s;
}

static int enter_section(struct gs_reader *r, const char *name) {
    if (gs_finish_section(r)) return -1;
    if (!strcmp(name, "machine")) {
        if (r->machine_line) return gs_bad(r, "[machine] appears twice, first in line %d: keep one", r->machine_line);
        if (r->d->machine.gpu_count) return gs_bad(r, "[machine] stands behind a [gpu]: put it first");
        r->machine_line = r->line;
        r->section = GS_SECTION_MACHINE;
        return 0;
    }
    if (strcmp(name, "gpu")) return gs_bad(r, "section [%s] is unknown: use [machine] or [gpu]", name);
    memset(&r->gpu, 0, sizeof r->gpu);
    r->gpu.line = r->line;
    r->section = GS_SECTION_GPU;
    return 0;
}

static int read_line(struct gs_reader *r, char *line) {
    char *comment = strchr(line, '#');
    if (comment) *comment = 0;
    line = trim(line);
    size_t n = strlen(line);
    if (!n) return 0;
    if (*line == '[') {
        if (line[n - 1] != ']') return gs_bad(r, "\"%s\" is no section: write [machine] or [gpu]", line);
        line[n - 1] = 0;
        return enter_section(r, trim(line + 1));
    }
    char *eq = strchr(line, '=');
    if (!eq) return gs_bad(r, "\"%s\" is neither a section nor KEY = VALUE", line);
    *eq = 0;
    return gs_set_key(r, trim(line), trim(eq + 1));
}

int gs_describe(const char *file, const char *text, struct gs_description *d, char *why, size_t size) {
    struct gs_reader r = {.file = file, .d = d, .why = why, .size = size};
    memset(d, 0, sizeof *d);
    gs_machine_defaults(&d->machine);
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[1024];
        r.line++;
        if (n >= sizeof line)
            return gs_bad(&r, "the line has %zu characters: at most %zu are read", n, sizeof line - 1);
        memcpy(line, text, n);
        line[n] = 0;
        if (read_line(&r, line)) return -1;
        text += n + (text[n] == '\n');
    }
    return gs_finish_section(&r) || gs_finish(&r) ? -1 : 0;
}
