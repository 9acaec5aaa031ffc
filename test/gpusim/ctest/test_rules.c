// SPDX-License-Identifier: Apache-2.0
//
// Table checks that the Go tests, which go through NVML, cannot make: the
// tables agree with themselves and with the names that tools derive.
#include "check.h"
#include "mig.h"
#include "models.h"

// The GB that go-nvlib prints: the fraction of memory in eighths, rounded up,
// of the total in whole GiB. Profile names come from it.
static unsigned derived_gb(const struct gs_model *m, const struct gs_profile *p) {
    unsigned eighths = (p->memory_mib * 8 + m->memory_mib - 1) / m->memory_mib;
    unsigned total = (m->memory_mib + 1023) / 1024;
    return (eighths * total + 4) / 8;
}

static void check_profile(const struct gs_model *m, const struct gs_profile *p) {
    char expect[64];
    snprintf(expect, sizeof expect, "%ug.%ugb%s", p->compute, derived_gb(m, p), p->media_ext ? "+me" : "");
    CHECK(!strcmp(expect, p->name), "%s %s: tools would say %s", m->key, p->name, expect);
    CHECK(p->sms <= m->sms && p->compute <= m->compute && p->size <= m->memory, "%s %s", m->key, p->name);
    for (unsigned s = 0; s < GS_MAX_SLICES; s++)
        if (p->starts >> s & 1) CHECK(s % p->size == 0 && s + p->size <= m->memory, "%s %s at %u", m->key, p->name, s);
    CHECK(p->max == 1 || p->max == __builtin_popcount(p->starts), "%s %s", m->key, p->name);
    CHECK(gs_profile_by_id(m, p->driver_id) == p, "%s: driver id %u is not unique", m->key, p->driver_id);
    CHECK(gs_profile_by_enum(m, p->nvml_enum) == p, "%s: enum %u is not unique", m->key, p->nvml_enum);
}

// Compute instances of every GPU instance fill it and never exceed its SMs.
static void check_compute(const struct gs_model *m, const struct gs_profile *p) {
    struct gs_ci_profile c;
    int whole = 0;
    for (unsigned e = 0; e < 9; e++) {
        if (!gs_ci_profile(m, p, e, &c)) continue;
        whole += c.slices == p->compute;
        CHECK(c.id == e && c.max == __builtin_popcount(c.starts));
        CHECK(c.max * c.slices <= p->compute && c.max * c.sms <= p->sms + m->slice_sms, "%s %s %uc", m->key, p->name,
              c.slices);
    }
    CHECK(whole == 1, "%s %s: no whole compute instance", m->key, p->name);
}

void test_rules(void) {
    const struct gs_model *m;
    for (int i = 0; (m = gs_model_at(i)); i++) {
        CHECK(gs_model_find(m->key) == m);
        for (int k = 0; k < m->profile_count; k++) {
            check_profile(m, &m->profiles[k]);
            check_compute(m, &m->profiles[k]);
        }
    }
    CHECK(!gs_model_find("H300") && !gs_model_find(""));
}
