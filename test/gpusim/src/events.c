// SPDX-License-Identifier: Apache-2.0
#include "events.h"

void gs_post(struct gs_state *s, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci) {
    s->event[s->event_next % GS_EVENT_RING] =
        (struct gs_event){.type = type, .data = data, .gpu = gpu, .gi = gi, .ci = ci};
    s->event_next++; // the committing store
    gs_pulse(s);
}

bool gs_next(const struct gs_state *s, uint64_t *cursor, const struct gs_interest *want, struct gs_event *out) {
    if (s->event_next > GS_EVENT_RING && *cursor < s->event_next - GS_EVENT_RING)
        *cursor = s->event_next - GS_EVENT_RING;
    while (*cursor < s->event_next) {
        uint64_t seq = (*cursor)++;
        const struct gs_event *e = &s->event[seq % GS_EVENT_RING];
        if (!(want->types[e->gpu] & e->type) || seq < want->since[e->gpu]) continue;
        *out = *e;
        return true;
    }
    return false;
}

void gs_set_recovery(struct gs_state *s, uint32_t gpu, uint32_t action) {
    if (s->gpu[gpu].v.recovery_action == action) return;
    s->gpu[gpu].v.recovery_action = action;
    gs_post(s, gpu, NVML_EVENT_RECOVERY, action, GS_NONE, GS_NONE);
}
