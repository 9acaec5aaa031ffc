// SPDX-License-Identifier: Apache-2.0
//
// One thread for each shared GPU. It shuts the gate when the lease ends, sees to
// it that what was issued is complete, says so, and keeps the connection. Nothing
// of it is in the way of a launch.
#define _GNU_SOURCE
#include "gate_state.h"
#include "pools.h"
#include "reclaim.h"
#include "resolve.h"

#define TICK (500 * MICROSECOND) // while work is in flight, at most
#define LOOK (50 * MICROSECOND)  // at least
#define REST (100 * MILLISECOND) // while there is none

void helper_kick(struct gate_state *s) {
    atomic_fetch_add(&s->kick, 1);
    if (atomic_load(&s->rests)) sys_futex_wake(&s->kick);
}

// enter_context makes a context current for the calls that need one.
static void enter_context(struct gate_state *s) {
    static int (*set)(CUcontext);
    struct space *space = s->spaces;
    if (!set) set = resolve_symbol("cuCtxSetCurrent");
    while (space && space->dead) space = space->next;
    if (set && space) set(space->context);
}

// mark_quiet marks streams on which nothing was added since it looked last: their
// tail would otherwise never be seen complete.
static void mark_quiet(struct gate_state *s) {
    if (atomic_load(&capture_open)) return;
    for (struct track *t = s->tracks; t; t = t->next) {
        int64_t unmarked = atomic_load_explicit(&t->head.unmarked, memory_order_relaxed);
        if (unmarked && unmarked == t->seen && !t->owner) marks_tail(s, t);
        t->seen = unmarked;
    }
}

static bool is_idle(const struct gate_state *s) {
    if (s->batches || atomic_load(&s->waiting)) return false;
    for (const struct track *t = s->tracks; t; t = t->next)
        if (atomic_load_explicit(&t->head.unmarked, memory_order_relaxed)) return false;
    return !gate_calls(s->gate);
}

static void pause_for(struct gate_state *s, uint64_t ns) {
    lock_give(&s->lock);
    sys_sleep(ns);
    lock_take(&s->lock);
}

static void given_back(struct gate_state *s) {
    for (unsigned i = 0; i < s->device->count; i++) {
        if (s->device->slices[i] != s->leased) continue;
        s->returned[i] = s->turn;
        s->has_returned[i] = true;
    }
}

// drain ends the lease that the gate was shut for. busy_turn stays until nothing
// is in flight, however long that takes.
static void drain(struct gate_state *s) {
    struct slice *slice = s->leased;
    while (gate_calls(s->gate) && !s->over) pause_for(s, LOOK);
    if (s->over) return;
    for (struct track *t = s->tracks; t; t = t->next)
        if (!t->owner) marks_tail(s, t);
    marks_harvest(s);
    uint64_t now = sys_now();
    agent_send(slice, AIPUB_CLOSING, s->turn, now + (uint64_t)marks_in_flight(s, now), 0);
    AIPUB_STEP(41);
    while (s->batches) {
        pause_for(s, LOOK);
        if (s->over) return;
        marks_harvest(s);
    }
    gate_count(s);
    given_back(s);
    if (slice->slot) STORE(slice->slot->busy_turn, 0);
    AIPUB_STEP(42);
    agent_send(slice, AIPUB_DRAINED, s->turn, s->used_ns, atomic_load(&s->waiting) > 0);
    s->leased = NULL;
    s->draining = false;
    s->wanted = false;
    if (atomic_load(&s->waiting)) sys_futex_wake(&slice->grant->turn);
}

// until_next returns for how long an open gate can be left alone.
static uint64_t until_next(const struct gate_state *s, uint64_t now) {
    uint64_t linger = LOAD(s->leased->grant->linger_ns), ns = marks_pause(s, now, 2 * LOOK, TICK);
    if (is_idle(s) && s->is_free) return REST;
    if (is_idle(s)) ns = s->busy_at + linger > now ? s->busy_at + linger - now : LOOK;
    return s->close_at > now && s->close_at - now < ns ? s->close_at - now : ns;
}

// tend does what there is to do, and returns for how long it may sleep.
static uint64_t tend(struct gate_state *s) {
    uint64_t now = sys_now();
    for (unsigned i = 0; i < s->device->count; i++)
        if (agent_keep(s->device->slices[i], now)) s->wanted = false;
    enter_context(s);
    marks_harvest(s);
    gate_count(s);
    slices_unknown();
    if (s->open && !lease_lost(s, now)) {
        mark_quiet(s);
        if (!is_idle(s)) s->busy_at = s->batches ? s->busy_at : now;
        else if (!s->is_free && now - s->busy_at >= LOAD(s->leased->grant->linger_ns)) lease_shut(s);
    }
    if (s->draining) drain(s);
    return s->open ? until_next(s, now) : REST;
}

static void rest_until(struct gate_state *s, uint32_t kick, uint64_t most) {
    atomic_store(&s->rests, true);
    sys_futex_wait(&s->kick, kick, most);
    atomic_store(&s->rests, false);
}

static void *help(void *arg) {
    struct gate_state *s = arg;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    int (*exchange)(int *) = DRIVER(cuThreadExchangeStreamCaptureMode, int *);
    resolve_depth++; // nothing that this thread does is the program's
    if (exchange) exchange(&mode);
    for (;;) {
        lock_take(&s->lock);
        if (s->over) break;
        uint32_t kick = atomic_load(&s->kick);
        uint64_t rest = tend(s);
        const struct aipub_grant *g = s->open ? s->leased->grant : NULL;
        uint32_t turn = s->turn;
        lock_give(&s->lock);
        reclaim_look(s->device);
        if (g) sys_futex_wait(&g->turn, turn, rest);
        else rest_until(s, kick, rest);
    }
    lock_give(&s->lock);
    return NULL;
}

void helper_start(struct gate_state *s) {
    if (!s->helper) s->helper = sys_thread(help, s);
}
