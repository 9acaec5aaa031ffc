// SPDX-License-Identifier: Apache-2.0
#include "describe_keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

int gs_bad(struct gs_reader *r, const char *format, ...) {
    int n = snprintf(r->why, r->size, "%s:%d: ", r->file, r->line);
    va_list args;
    va_start(args, format);
    if (n >= 0 && (size_t)n < r->size) vsnprintf(r->why + n, r->size - (size_t)n, format, args);
    va_end(args);
    return -1;
}

void gs_machine_defaults(struct gs_machine_spec *m) {
    strcpy(m->name, "simulated");
    strcpy(m->driver_version, "580.95.05");
    m->cuda_version = 13000;
    m->quantum_us = 2000;
    m->switch_us = 50;
    m->context_mib = 400;
}

static int yes_no(struct gs_reader *r, const char *key, const char *value, uint32_t *out) {
    if (strcmp(value, "yes") && strcmp(value, "no"))
        return gs_bad(r, "%s = \"%s\": allowed are yes and no", key, value);
    *out = !strcmp(value, "yes");
    return 0;
}

static int version_text(struct gs_reader *r, const char *key, const char *value, char *out, size_t size) {
    if (!*value || strspn(value, "0123456789.") != strlen(value) || strlen(value) >= size)
        return gs_bad(r, "%s = \"%s\": write a dotted number like 580.95.05, at most %zu characters", key, value,
                      size - 1);
    strcpy(out, value);
    return 0;
}

static int whole_number(struct gs_reader *r, const char *key, const char *value, uint32_t least, uint32_t most,
                        uint32_t *out) {
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (!*value || *value == '-' || *end || n < least || n > most)
        return gs_bad(r, "%s = \"%s\": write a whole number from %u to %u", key, value, least, most);
    *out = (uint32_t)n;
    return 0;
}

// set_execution_key reads what decides how contexts share a GPU; 1: no such key.
static int set_execution_key(struct gs_reader *r, const char *key, const char *value) {
    struct gs_machine_spec *m = &r->d->machine;
    if (!strcmp(key, "quantum-us")) return whole_number(r, key, value, 1, 1000000, &m->quantum_us);
    if (!strcmp(key, "switch-us")) return whole_number(r, key, value, 0, 100000, &m->switch_us);
    if (!strcmp(key, "context-mib")) return whole_number(r, key, value, 0, 16384, &m->context_mib);
    if (strcmp(key, "contexts")) return 1;
    if (strcmp(value, "time-sliced") && strcmp(value, "concurrent"))
        return gs_bad(r, "contexts = \"%s\": allowed are time-sliced and concurrent", value);
    m->concurrent = !strcmp(value, "concurrent");
    return 0;
}

static int set_machine_key(struct gs_reader *r, const char *key, const char *value) {
    struct gs_machine_spec *m = &r->d->machine;
    if (!strcmp(key, "name")) {
        if (!*value || strlen(value) >= sizeof m->name)
            return gs_bad(r, "name = \"%s\": write 1 to %zu characters", value, sizeof m->name - 1);
        strcpy(m->name, value);
        return 0;
    }
    if (!strcmp(key, "driver-version")) return version_text(r, key, value, m->driver_version, sizeof m->driver_version);
    if (!strcmp(key, "nvml-version")) return version_text(r, key, value, m->nvml_version, sizeof m->nvml_version);
    if (!strcmp(key, "require-root")) return yes_no(r, key, value, &m->require_root);
    if (strcmp(key, "cuda-version")) {
        int done = set_execution_key(r, key, value);
        if (done <= 0) return done;
        return gs_bad(r,
                      "key \"%s\" is unknown in [machine]: allowed are name, driver-version, nvml-version, "
                      "cuda-version, require-root, contexts, quantum-us, switch-us, context-mib",
                      key);
    }
    unsigned major, minor;
    char rest;
    if (sscanf(value, "%u.%u%c", &major, &minor, &rest) != 2 || major > 99 || minor > 9)
        return gs_bad(r, "cuda-version = \"%s\": write MAJOR.MINOR like 13.0", value);
    m->cuda_version = major * 1000 + minor * 10;
    return 0;
}

// The keys of [gpu], with where each one's text goes.
struct gpu_key {
    const char *name;
    size_t offset, size;
};

#define KEY(name, field) \
    { name, offsetof(struct gs_gpu_section, field), sizeof(((struct gs_gpu_section *)0)->field) }
static const struct gpu_key gpu_keys[] = {
    KEY("model", model),    KEY("count", count),
    KEY("memory", memory),  KEY("numa-node", numa),
    KEY("pci-bus-id", bus), KEY("uuid", uuid),
    KEY("serial", serial),  KEY("minor", minor),
    KEY("mig", mig),        KEY("mig-activation", activation),
    KEY("ecc", ecc),
};
enum { GPU_KEYS = sizeof gpu_keys / sizeof *gpu_keys };

static int set_gpu_key(struct gs_reader *r, const char *key, const char *value) {
    for (int i = 0; i < GPU_KEYS; i++) {
        const struct gpu_key *k = &gpu_keys[i];
        if (strcmp(k->name, key)) continue;
        if (r->gpu.key_line[i])
            return gs_bad(r, "%s is set twice in this [gpu], first in line %d", key, r->gpu.key_line[i]);
        if (!*value || strlen(value) >= k->size)
            return gs_bad(r, "%s = \"%.40s\": write 1 to %zu characters", key, value, k->size - 1);
        r->gpu.key_line[i] = r->line;
        strcpy((char *)&r->gpu + k->offset, value);
        return 0;
    }
    return gs_bad(r,
                  "key \"%s\" is unknown in [gpu]: allowed are model, count, memory, numa-node, pci-bus-id, uuid, "
                  "serial, minor, mig, mig-activation, ecc",
                  key);
}

int gs_set_key(struct gs_reader *r, const char *key, const char *value) {
    switch (r->section) {
    case GS_SECTION_MACHINE: return set_machine_key(r, key, value);
    case GS_SECTION_GPU: return set_gpu_key(r, key, value);
    default: return gs_bad(r, "\"%s\" stands before any section: begin with [machine] or [gpu]", key);
    }
}
