// SPDX-License-Identifier: Apache-2.0
//
// Slots, queues and waiting; the timeline itself is exec_timeline.c.
#include "exec.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec_timeline.h"

uint64_t gs_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void gs_exec_pulse(struct gs_state *s) {
    __atomic_add_fetch(&s->exec.pulse, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->exec.pulse, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gs_exec_power_on(struct gs_state *s) {
    struct gs_exec *e = &s->exec;
    for (uint32_t i = 0; i < e->client_high; i++) e->client[i].used = 0;
    for (uint32_t i = 0; i < e->context_high; i++) e->context[i].used = 0;
    for (uint32_t i = 0; i < e->stream_high; i++) e->stream[i].used = 0;
    for (uint32_t i = 0; i < e->event_high; i++) e->event[i].used = 0;
    gs_exec_pulse(s);
}

void gs_exec_sleep(struct gs_machine *m, uint64_t until_ns) {
    struct timespec t = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    uint32_t seen = m->s->exec.pulse;
    gs_unlock(m);
    // The default slack of 50 us would be added to every wait.
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    syscall(SYS_futex, &m->s->exec.pulse, FUTEX_WAIT_BITSET, seen, &t, NULL, FUTEX_BITSET_MATCH_ANY);
    prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
    gs_lock(m);
}

int gs_exec_context_new(struct gs_state *s, uint32_t client, uint32_t gpu, uint32_t process, uint32_t place) {
    for (uint32_t i = 0; i < GS_MAX_CONTEXTS; i++) {
        struct gs_context *c = &s->exec.context[i];
        if (c->used) continue;
        *c = (struct gs_context){
            .client = client, .gpu = gpu, .process = process, .place = place, .legacy = GS_NONE};
        if (s->exec.context_high <= i) s->exec.context_high = i + 1;
        struct gs_timeline *t = &s->gpu[gpu].v.timeline[place];
        if (!t->cursor_ns) t->context = GS_NONE, t->cursor_ns = t->window_ns = gs_now_ns();
        __atomic_store_n(&c->used, 1, __ATOMIC_RELEASE);
        return (int)i;
    }
    return -1;
}

void gs_exec_context_free(struct gs_state *s, uint32_t context) {
    for (uint32_t i = 0; i < s->exec.stream_high; i++)
        if (s->exec.stream[i].used && s->exec.stream[i].context == context) gs_exec_stream_free(s, i);
    s->exec.context[context].used = 0;
}

void gs_exec_forget_gpu(struct gs_state *s, uint32_t gpu) {
    for (uint32_t i = 0; i < s->exec.context_high; i++)
        if (s->exec.context[i].used && s->exec.context[i].gpu == gpu) gs_exec_context_free(s, i);
    gs_exec_pulse(s);
}

int gs_exec_stream_new(struct gs_state *s, uint32_t context, uint32_t flags) {
    for (uint32_t i = 0; i < GS_MAX_STREAMS; i++) {
        struct gs_stream *st = &s->exec.stream[i];
        if (st->used) continue;
        st->context = context, st->flags = flags;
        st->head = st->tail = st->work_ns = 0;
        if (s->exec.stream_high <= i) s->exec.stream_high = i + 1;
        __atomic_store_n(&st->used, 1, __ATOMIC_RELEASE);
        return (int)i;
    }
    return -1;
}

static uint64_t *active_word(struct gs_state *s, uint32_t stream) {
    const struct gs_context *c = &s->exec.context[s->exec.stream[stream].context];
    return &s->gpu[c->gpu].v.timeline[c->place].active[stream / 64];
}

void gs_exec_stream_free(struct gs_state *s, uint32_t stream) {
    *active_word(s, stream) &= ~(1ull << stream % 64);
    s->exec.stream[stream].used = 0;
}

int gs_exec_event_new(struct gs_state *s, uint32_t client) {
    for (uint32_t i = 0; i < GS_MAX_EVENTS; i++) {
        struct gs_event_slot *ev = &s->exec.event[i];
        if (ev->used == GS_EVENT_RETIRED && ev->done >= ev->recorded) ev->used = 0;
        if (ev->used) continue;
        ev->client = client, ev->recorded = 0;
        if (s->exec.event_high <= i) s->exec.event_high = i + 1;
        __atomic_store_n(&ev->used, 1, __ATOMIC_RELEASE);
        return (int)i;
    }
    return -1;
}

void gs_exec_event_retire(struct gs_state *s, uint32_t event) {
    struct gs_event_slot *ev = &s->exec.event[event];
    ev->used = ev->done >= ev->recorded ? 0 : GS_EVENT_RETIRED;
}

bool gs_exec_room(const struct gs_state *s, uint32_t stream) {
    return s->exec.stream[stream].tail - s->exec.stream[stream].head < GS_QUEUE;
}

uint64_t gs_exec_push(struct gs_state *s, uint32_t stream, struct gs_command c) {
    struct gs_stream *st = &s->exec.stream[stream];
    c.ticket = ++s->exec.context[st->context].ticket;
    *gs_command_at(s, st, st->tail) = c;
    st->work_ns += c.left_ns;
    __atomic_store_n(&st->tail, st->tail + 1, __ATOMIC_RELEASE);
    *active_word(s, stream) |= 1ull << stream % 64;
    return st->tail;
}

bool gs_exec_complete(const struct gs_state *s, uint32_t stream, uint64_t count) {
    return s->exec.stream[stream].head >= count;
}

bool gs_exec_host_turn(const struct gs_state *s, uint32_t stream) {
    const struct gs_stream *st = &s->exec.stream[stream];
    return st->head < st->tail && gs_command_at(s, st, st->head)->kind == GS_CMD_HOST && gs_exec_in_order(s, stream);
}

void gs_exec_host_done(struct gs_state *s, uint32_t stream) {
    s->exec.stream[stream].head++;
    gs_exec_pulse(s);
}
