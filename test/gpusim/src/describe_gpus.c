// SPDX-License-Identifier: Apache-2.0
//
// From a [gpu] section to GPUs, and the rules over all of them.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe_keys.h"
#include "models.h"

// at points the reader's line at the key that a message is about.
static void at(struct gs_reader *r, const char *key) {
    static const char *const order[] = {"model",  "count", "memory", "numa-node",      "pci-bus-id", "uuid",
                                        "serial", "minor", "mig",    "mig-activation", "ecc"};
    r->line = r->gpu.line;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (!strcmp(order[i], key) && r->gpu.key_line[i]) r->line = r->gpu.key_line[i];
}

static int number(const char *text, unsigned long max, unsigned long *out) {
    char *end;
    if (!*text || *text == '-' || *text == '+') return -1;
    *out = strtoul(text, &end, 10);
    return *end || *out > max ? -1 : 0;
}

// element copies the i-th of a comma list; a list of one serves every GPU only
// where `shared` allows it.
static int element(struct gs_reader *r, const char *key, const char *list, unsigned i, unsigned count, int shared,
                   char *out, size_t size) {
    unsigned n = 1;
    for (const char *p = list; *p; p++) n += *p == ',';
    at(r, key);
    if (n != count && !(shared && n == 1))
        return gs_bad(r, "%s lists %u values for count = %u: write %s%u, separated by commas", key, n, count,
                      shared ? "one or " : "", count);
    for (unsigned k = n == 1 ? 0 : i; k; k--) list = strchr(list, ',') + 1;
    list += strspn(list, " \t");
    size_t len = strcspn(list, ",");
    while (len && (list[len - 1] == ' ' || list[len - 1] == '\t')) len--;
    if (!len || len >= size)
        return gs_bad(r, "%s = \"%.*s\": write 1 to %zu characters", key, (int)len, list, size - 1);
    memcpy(out, list, len);
    out[len] = 0;
    return 0;
}

static int read_memory(struct gs_reader *r, const struct gs_model *m, uint32_t *mib) {
    unsigned long n;
    char unit[8] = "";
    *mib = m->memory_mib;
    if (!*r->gpu.memory) return 0;
    at(r, "memory");
    if (sscanf(r->gpu.memory, "%lu%7s", &n, unit) != 2 || (strcmp(unit, "MiB") && strcmp(unit, "GiB")) || n > 1 << 20)
        return gs_bad(r, "memory = \"%s\": write a size like 81559MiB or 80GiB", r->gpu.memory);
    *mib = (uint32_t)(*unit == 'G' ? n << 10 : n);
    unsigned need = m->reserved_mib + 1;
    for (int i = 0; i < m->profile_count; i++)
        if (m->profiles[i].memory_mib > need) need = m->profiles[i].memory_mib;
    if (*mib < need)
        return gs_bad(r, "memory = \"%s\": model %s needs at least %uMiB for its profiles", r->gpu.memory, m->key,
                      need);
    return 0;
}

static int read_flag(struct gs_reader *r, const char *key, const char *text, const char *yes, const char *no,
                     uint8_t *out) {
    if (!*text) return 0;
    at(r, key);
    if (strcmp(text, yes) && strcmp(text, no))
        return gs_bad(r, "%s = \"%s\": allowed are %s and %s", key, text, yes, no);
    *out = !strcmp(text, yes);
    return 0;
}

static int read_bus(struct gs_reader *r, const char *text, struct gs_gpu_spec *g) {
    unsigned domain, bus, device, function;
    char rest;
    if (sscanf(text, "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &rest) != 4 || domain > 0xffff || bus > 0xff ||
        device > 0x1f || function)
        return gs_bad(r, "pci-bus-id = \"%s\": write DOMAIN:BUS:DEVICE.0 in hex, like 0000:18:00.0", text);
    g->domain = domain, g->bus = bus, g->device = device;
    return 0;
}

static int read_uuid(struct gs_reader *r, const char *text, struct gs_gpu_spec *g) {
    int ok = strlen(text) == 40 && !strncmp(text, "GPU-", 4);
    for (int i = 0; ok && i < 36; i++)
        ok = i == 8 || i == 13 || i == 18 || i == 23 ? text[4 + i] == '-'
                                                     : strchr("0123456789abcdef", text[4 + i]) != NULL;
    if (!ok) return gs_bad(r, "uuid = \"%s\": write GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in lower case hex", text);
    strcpy(g->uuid, text);
    return 0;
}

// default_identity derives uuid, serial, bus and minor from the machine's name
// and the index: the same description is the same hardware each time.
static void default_identity(const struct gs_machine_spec *machine, uint32_t index, struct gs_gpu_spec *g) {
    uint64_t h[2] = {0xcbf29ce484222325u + index, 0x84222325cbf29ce4u ^ index};
    for (const char *p = machine->name; *p; p++)
        for (int i = 0; i < 2; i++) h[i] = (h[i] ^ (uint8_t)*p) * 0x100000001b3u;
    for (int i = 0; i < 2; i++) h[i] ^= h[i] >> 29, h[i] *= 0xbf58476d1ce4e5b9u, h[i] ^= h[i] >> 32;
    snprintf(g->uuid, sizeof g->uuid, "GPU-%08x-%04x-4%03x-8%03x-%012" PRIx64, (unsigned)(h[0] >> 32),
             (unsigned)(h[0] >> 16 & 0xffff), (unsigned)(h[0] & 0xfff), (unsigned)(h[1] >> 48 & 0xfff),
             h[1] & 0xffffffffffffu);
    snprintf(g->serial, sizeof g->serial, "165%010u", (unsigned)((h[1] >> 20) % 100000000) * 100 + index);
    g->domain = 0, g->bus = 0x0a + 7 * index, g->device = 0;
    g->minor = index;
    g->numa_node = 0;
}

static int read_numa(struct gs_reader *r, const char *text, struct gs_gpu_spec *g) {
    unsigned long n;
    if (!strcmp(text, "none")) {
        g->numa_node = GS_NONE;
        return 0;
    }
    if (number(text, 63, &n)) return gs_bad(r, "numa-node = \"%s\": allowed are 0 to 63 and none", text);
    g->numa_node = (uint32_t)n;
    return 0;
}

static int read_identity(struct gs_reader *r, unsigned i, unsigned count, struct gs_gpu_spec *g) {
    struct gs_gpu_section *s = &r->gpu;
    char text[64];
    unsigned long n;
    if (*s->numa && (element(r, "numa-node", s->numa, i, count, 1, text, sizeof text) || read_numa(r, text, g)))
        return -1;
    if (*s->bus && (element(r, "pci-bus-id", s->bus, i, count, 0, text, sizeof text) || read_bus(r, text, g)))
        return -1;
    if (*s->uuid && (element(r, "uuid", s->uuid, i, count, 0, text, sizeof text) || read_uuid(r, text, g))) return -1;
    if (*s->serial && element(r, "serial", s->serial, i, count, 0, g->serial, sizeof g->serial)) return -1;
    if (!*s->minor) return 0;
    if (element(r, "minor", s->minor, i, count, 0, text, sizeof text)) return -1;
    if (number(text, 254, &n)) return gs_bad(r, "minor = \"%s\": allowed are 0 to 254", text);
    g->minor = (uint32_t)n;
    return 0;
}

static int read_model(struct gs_reader *r, const struct gs_model **m) {
    at(r, "model");
    if (!*r->gpu.model) return gs_bad(r, "[gpu] has no model: write one, like model = H200-141");
    *m = gs_model_find(r->gpu.model);
    if (*m) return 0;
    char known[256] = "";
    for (int i = 0; gs_model_at(i); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", gs_model_at(i)->key);
    return gs_bad(r, "model = \"%s\": allowed are %s", r->gpu.model, known);
}

static int add_gpus(struct gs_reader *r) {
    const struct gs_model *m;
    unsigned long count = 1;
    struct gs_gpu_spec g = {.ecc = 1};
    if (read_model(r, &m) || read_memory(r, m, &g.memory_mib)) return -1;
    g.mig_capable = m->compute > 0;
    strcpy(g.model, m->key);
    if (read_flag(r, "mig", r->gpu.mig, "yes", "no", &g.mig_capable) ||
        read_flag(r, "mig-activation", r->gpu.activation, "auto", "reset", &g.mig_auto) ||
        read_flag(r, "ecc", r->gpu.ecc, "on", "off", &g.ecc))
        return -1;
    at(r, "mig");
    if (g.mig_capable && !m->compute)
        return gs_bad(r, "mig = \"yes\": model %s has no MIG, only no is allowed", m->key);
    at(r, "count");
    unsigned room = GS_MAX_GPUS - r->d->machine.gpu_count;
    if (*r->gpu.count && (number(r->gpu.count, room, &count) || !count))
        return gs_bad(r, "count = \"%s\": allowed are 1 to %u (a machine has at most %d GPUs)", r->gpu.count, room,
                      GS_MAX_GPUS);
    if (count > room) return gs_bad(r, "more than %d GPUs: a machine has at most that many", GS_MAX_GPUS);
    for (unsigned i = 0; i < count; i++) {
        default_identity(&r->d->machine, r->d->machine.gpu_count, &g);
        if (read_identity(r, i, (unsigned)count, &g)) return -1;
        r->d->gpu[r->d->machine.gpu_count++] = g;
    }
    return 0;
}

int gs_finish_section(struct gs_reader *r) {
    int line = r->line;
    int bad = r->section == GS_SECTION_GPU && add_gpus(r);
    if (!bad) r->line = line;
    r->section = GS_SECTION_NONE;
    return bad ? -1 : 0;
}

static int clash(struct gs_reader *r, const char *key, uint32_t i, uint32_t j, const char *value) {
    return gs_bad(r, "%s %s is that of GPU %u and of GPU %u: every GPU needs its own", key, value, i, j);
}

int gs_finish(struct gs_reader *r) {
    struct gs_machine_spec *m = &r->d->machine;
    char text[32];
    if (!m->gpu_count) return gs_bad(r, "no [gpu] section: a machine needs at least one");
    if (!*m->nvml_version) snprintf(m->nvml_version, sizeof m->nvml_version, "13.%.28s", m->driver_version);
    for (uint32_t j = 1; j < m->gpu_count; j++)
        for (uint32_t i = 0; i < j; i++) {
            const struct gs_gpu_spec *a = &r->d->gpu[i], *b = &r->d->gpu[j];
            if (!strcmp(a->uuid, b->uuid)) return clash(r, "uuid", i, j, a->uuid);
            if (!strcmp(a->serial, b->serial)) return clash(r, "serial", i, j, a->serial);
            snprintf(text, sizeof text, "%u", a->minor);
            if (a->minor == b->minor) return clash(r, "minor", i, j, text);
            snprintf(text, sizeof text, "%04x:%02x:%02x.0", a->domain & 0xffff, a->bus & 0xff, a->device & 0x1f);
            if (a->domain == b->domain && a->bus == b->bus && a->device == b->device)
                return clash(r, "pci-bus-id", i, j, text);
        }
    return 0;
}
