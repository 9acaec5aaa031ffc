// SPDX-License-Identifier: Apache-2.0
//
// Reads the lease from the grants of the GPU's slices. Any slice that has it
// opens the gate. While the agent is silent, its timetable stands in for it.
#define _GNU_SOURCE
#include "gate_state.h"

// consistent reads the lease; false: the agent is changing it now.
static bool consistent(const struct aipub_grant *g, uint32_t *turn, uint64_t *until) {
    *turn = LOAD(g->turn);
    *until = LOAD(g->until_ns);
    return LOAD(g->turn) == *turn;
}

// by_timetable returns when the slice's time in this period ends, 0: it is not now;
// *next is when it begins the next time, 0: never.
static uint64_t by_timetable(const struct aipub_grant *g, uint64_t now, uint64_t *next) {
    uint64_t period = LOAD(g->period_ns), length = LOAD(g->length_ns), offset = LOAD(g->offset_ns);
    *next = 0;
    if (period == 0 || length == 0) return 0;
    uint64_t phase = (now % period + period - offset % period) % period;
    *next = now + period - phase;
    return phase < length ? now + length - phase : 0;
}

static bool is_free(const struct slice *s) {
    return !(LOAD(s->grant->flags) & AIPUB_HAS_COMPUTE);
}

// may says whether the slice may work now, under which turn and until when.
static bool may(const struct slice *s, uint64_t now, uint32_t *turn, uint64_t *until, bool *timetable) {
    uint64_t next;
    *timetable = slices_silent(s->grant, now);
    if (!consistent(s->grant, turn, until)) return false;
    if (is_free(s)) *until = UINT64_MAX;
    else if (*timetable) *until = by_timetable(s->grant, now, &next);
    return *until > now;
}

// open_with opens the gate under a slice's lease. busy_turn is stored before the
// turn is read once more: see wire.h.
static bool open_with(struct gate_state *s, unsigned i, uint64_t now) {
    struct slice *slice = s->device->slices[i];
    uint32_t turn;
    uint64_t until;
    bool timetable;
    if (!slice->slot || !may(slice, now, &turn, &until, &timetable)) return false;
    if (!timetable && !is_free(slice) && s->has_returned[i] && s->returned[i] == turn) return false;
    STORE(slice->slot->busy_turn, turn);
    AIPUB_STEP(40);
    if (LOAD(slice->grant->turn) != turn) {
        STORE(slice->slot->busy_turn, 0);
        return false;
    }
    s->open = true;
    s->leased = slice;
    s->turn = turn;
    s->by_timetable = timetable;
    s->is_free = is_free(slice);
    s->close_at = until;
    s->used_ns = 0;
    s->busy_at = now;
    s->wanted = false;
    return true;
}

bool lease_open(struct gate_state *s, uint64_t now) {
    if (s->draining || lease_lost(s, now)) return false;
    for (unsigned i = 0; !s->open && i < s->device->count; i++) open_with(s, i, now);
    return s->open;
}

// renewed goes on under a new turn: the slice has the lease still, or again, and
// what is in flight counts for it.
static bool renewed(struct gate_state *s, uint32_t turn) {
    STORE(s->leased->slot->busy_turn, turn);
    if (LOAD(s->leased->grant->turn) != turn) return false;
    s->turn = turn;
    return true;
}

bool lease_lost(struct gate_state *s, uint64_t now) {
    uint32_t turn;
    uint64_t until;
    bool timetable;
    if (!s->open) return false;
    if (may(s->leased, now, &turn, &until, &timetable) && timetable == s->by_timetable &&
        (turn == s->turn || renewed(s, turn))) {
        s->close_at = until;
        return false;
    }
    // A free slice has no lease to lose; the words may be changing just now.
    if (is_free(s->leased)) return false;
    lease_shut(s);
    return true;
}

void lease_shut(struct gate_state *s) {
    s->open = false;
    s->draining = true;
    atomic_exchange(&s->gate->budget, SHUT);
    helper_kick(s);
}

void lease_wait(struct gate_state *s) {
    const struct slice *first = s->device->slices[0];
    uint64_t most = s->device->count > 1 ? MILLISECOND : 5 * MILLISECOND, now = sys_now(), until, next = 0;
    uint32_t turn, seen = LOAD(first->grant->turn);
    bool timetable;
    if (may(first, now, &turn, &until, &timetable)) most = 100 * MICROSECOND;
    else if (timetable) by_timetable(first->grant, now, &next);
    if (next > now && next - now < most) most = next - now;
    sys_futex_wait(&first->grant->turn, seen, most);
}
