// SPDX-License-Identifier: Apache-2.0
//
// The timeline of one place of execution: a whole GPU, or a GPU instance.
//
// Time-sliced: one context holds the place for a quantum, then the next one
// that has a kernel to run; kernels of one context share the rate equally.
// Concurrent: all contexts share the rate equally. Copies run on engines of
// their own beside the kernels. The timeline goes from one change to the next:
// a kernel or copy ends, a turn ends, a utilization sample ends.
#include "exec_timeline.h"

#include <string.h>

#include "clients.h"

enum { REAP_NS = 10000000 }; // how stale the knowledge about clients may be

// What one step needs to know about the place.
struct scene {
    struct gs_state *s;
    struct gs_gpu *g;
    struct gs_timeline *t;
    uint32_t kernels, copies; // how many streams have one at their head
    uint32_t kernel[GS_MAX_STREAMS], copy[GS_MAX_STREAMS];
};

static struct gs_command *head_of(const struct gs_state *s, const struct gs_stream *st) {
    return gs_command_at(s, st, st->head);
}

static uint64_t head_ticket(const struct gs_state *s, const struct gs_stream *st) {
    return st->head < st->tail ? head_of(s, st)->ticket : UINT64_MAX;
}

static bool legacy_in_order(const struct gs_state *s, uint32_t stream) {
    const struct gs_stream *st = &s->exec.stream[stream];
    const struct gs_context *c = &s->exec.context[st->context];
    const uint64_t *active = s->gpu[c->gpu].v.timeline[c->place].active;
    uint64_t mine = head_ticket(s, st);
    for (uint32_t w = 0; w < GS_MAX_STREAMS / 64; w++)
        for (uint64_t bits = active[w]; bits; bits &= bits - 1) {
            const struct gs_stream *o = &s->exec.stream[w * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (o->context == st->context && o->flags & GS_STREAM_BLOCKING && head_ticket(s, o) < mine) return false;
        }
    return true;
}

bool gs_exec_in_order(const struct gs_state *s, uint32_t stream) {
    const struct gs_stream *st = &s->exec.stream[stream];
    if (st->flags & GS_STREAM_LEGACY) return legacy_in_order(s, stream);
    uint32_t legacy = s->exec.context[st->context].legacy;
    if (!(st->flags & GS_STREAM_BLOCKING) || legacy == GS_NONE) return true;
    return head_ticket(s, &s->exec.stream[legacy]) > head_ticket(s, st);
}

static void pop(struct gs_timeline *t, struct gs_stream *st, uint32_t stream) {
    __atomic_store_n(&st->head, st->head + 1, __ATOMIC_RELEASE);
    if (st->head == st->tail) t->active[stream / 64] &= ~(1ull << stream % 64);
}

static void record(struct gs_event_slot *ev, uint64_t number, uint64_t now) {
    if (ev->done >= number) return; // a later record was complete before
    ev->time_ns = now;
    __atomic_store_n(&ev->done, number, __ATOMIC_RELEASE);
}

// settle_stream completes what takes no time at the head of a stream.
static bool settle_stream(struct scene *sc, uint32_t stream) {
    struct gs_stream *st = &sc->s->exec.stream[stream];
    bool moved = false;
    while (st->head < st->tail && gs_exec_in_order(sc->s, stream)) {
        struct gs_command *c = head_of(sc->s, st);
        struct gs_event_slot *ev = &sc->s->exec.event[c->event % GS_MAX_EVENTS];
        if (c->kind == GS_CMD_HOST || c->left_ns || (c->kind == GS_CMD_WAIT && ev->used && ev->done < c->value)) break;
        if (c->kind == GS_CMD_RECORD) record(ev, c->value, sc->t->cursor_ns);
        if (c->kind == GS_CMD_KERNEL) sc->s->exec.context[st->context].kernels += c->value;
        pop(sc->t, st, stream);
        moved = true;
    }
    return moved;
}

static void look(struct scene *sc) {
    bool moved = true;
    while (moved) {
        moved = false;
        sc->kernels = sc->copies = 0;
        for (uint32_t w = 0; w < GS_MAX_STREAMS / 64; w++)
            for (uint64_t bits = sc->t->active[w]; bits; bits &= bits - 1) {
                uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
                struct gs_stream *st = &sc->s->exec.stream[i];
                moved |= settle_stream(sc, i);
                if (st->head == st->tail || !gs_exec_in_order(sc->s, i)) continue;
                if (head_of(sc->s, st)->kind == GS_CMD_KERNEL) sc->kernel[sc->kernels++] = i;
                if (head_of(sc->s, st)->kind == GS_CMD_COPY) sc->copy[sc->copies++] = i;
            }
    }
}

static uint32_t context_of(const struct scene *sc, uint32_t k) {
    return sc->s->exec.stream[sc->kernel[k]].context;
}

// next_context is the first one after `last`, in slot order and around, that
// has a kernel; GS_NONE if none has.
static uint32_t next_context(const struct scene *sc, uint32_t last) {
    uint32_t after = GS_NONE, first = GS_NONE;
    for (uint32_t k = 0; k < sc->kernels; k++) {
        uint32_t c = context_of(sc, k);
        if (c < first) first = c;
        if (last != GS_NONE && c > last && c < after) after = c;
    }
    return after != GS_NONE ? after : first;
}

static bool has_kernel(const struct scene *sc, uint32_t context) {
    for (uint32_t k = 0; k < sc->kernels; k++)
        if (context_of(sc, k) == context) return true;
    return false;
}

// take_turn decides which context holds the place from now on.
static void take_turn(struct scene *sc) {
    struct gs_timeline *t = sc->t;
    const struct gs_machine_spec *m = &sc->s->machine;
    if (!sc->kernels || (has_kernel(sc, t->context) && t->cursor_ns < t->slice_end_ns)) return;
    uint32_t next = next_context(sc, t->context);
    t->switch_end_ns = t->cursor_ns + (next == t->context ? 0 : m->switch_us * 1000ull);
    t->slice_end_ns = t->switch_end_ns + m->quantum_us * 1000ull;
    t->context = next;
}

// keep_running leaves in the scene the kernels that run now, with how many
// times slower than alone each of them runs.
static void keep_running(struct scene *sc, uint32_t *slower) {
    uint32_t kept = 0, contexts = 0;
    if (!sc->s->machine.concurrent) {
        for (uint32_t k = 0; k < sc->kernels; k++)
            if (context_of(sc, k) == sc->t->context) sc->kernel[kept++] = sc->kernel[k];
        sc->kernels = kept;
        for (uint32_t k = 0; k < kept; k++) slower[k] = kept;
        return;
    }
    for (uint32_t c = next_context(sc, GS_NONE), start = c; c != GS_NONE; contexts++)
        if ((c = next_context(sc, c)) == start) c = GS_NONE;
    for (uint32_t k = 0; k < sc->kernels; k++) {
        slower[k] = 0;
        for (uint32_t j = 0; j < sc->kernels; j++) slower[k] += context_of(sc, j) == context_of(sc, k);
        slower[k] *= contexts;
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// until_change is how long nothing changes, at most `limit`.
static uint64_t until_change(const struct scene *sc, const uint32_t *slower, bool others, uint64_t limit) {
    const struct gs_timeline *t = sc->t;
    if (t->cursor_ns < t->switch_end_ns) limit = least(limit, t->switch_end_ns - t->cursor_ns);
    else
        for (uint32_t k = 0; k < sc->kernels; k++)
            limit = least(limit, head_of(sc->s, &sc->s->exec.stream[sc->kernel[k]])->left_ns * slower[k]);
    for (uint32_t k = 0; k < sc->copies; k++)
        limit = least(limit, head_of(sc->s, &sc->s->exec.stream[sc->copy[k]])->left_ns * sc->copies);
    if (others && t->slice_end_ns > t->cursor_ns) limit = least(limit, t->slice_end_ns - t->cursor_ns);
    return least(limit, t->window_ns + GS_SAMPLE_NS - t->cursor_ns);
}

static void work(const struct gs_state *s, struct gs_stream *st, uint64_t ns) {
    struct gs_command *c = head_of(s, st);
    if (ns > c->left_ns) ns = c->left_ns;
    c->left_ns -= ns;
    st->work_ns -= least(ns, st->work_ns);
}

static void progress(struct scene *sc, const uint32_t *slower, uint64_t dt) {
    struct gs_timeline *t = sc->t;
    for (uint32_t k = 0; k < sc->copies; k++) work(sc->s, &sc->s->exec.stream[sc->copy[k]], dt / sc->copies);
    if (t->cursor_ns >= t->switch_end_ns && sc->kernels) {
        t->busy_ns += dt;
        t->window_busy_ns += dt;
        for (uint32_t k = 0; k < sc->kernels; k++) {
            struct gs_stream *st = &sc->s->exec.stream[sc->kernel[k]];
            struct gs_context *c = &sc->s->exec.context[st->context];
            work(sc->s, st, dt / slower[k]);
            c->busy_ns += dt / slower[k];
            sc->g->v.process[c->process % GS_MAX_PROCESSES].window_ns += dt / slower[k];
        }
    }
    t->cursor_ns += dt;
}

// close_samples ends utilization samples up to the cursor; place 0 tells for
// the GPU.
static void close_samples(struct scene *sc) {
    struct gs_timeline *t = sc->t;
    while (t->window_ns + GS_SAMPLE_NS <= t->cursor_ns) {
        uint32_t percent = (uint32_t)(t->window_busy_ns * 100 / GS_SAMPLE_NS);
        if (t == &sc->g->v.timeline[0]) sc->g->v.util_gpu = percent;
        for (int i = 0; i < GS_MAX_PROCESSES; i++) {
            struct gs_process *p = &sc->g->v.process[i];
            if (!p->used || !p->client) continue;
            p->sm_percent = (uint32_t)least(100, p->window_ns * 100 / GS_SAMPLE_NS);
            p->window_ns = 0;
        }
        uint64_t whole = (t->cursor_ns - t->window_ns) / GS_SAMPLE_NS;
        // One sample at a time; after a long idle time only the last matters.
        t->window_ns += (percent || whole == 1 ? 1 : whole) * GS_SAMPLE_NS;
        t->window_busy_ns = 0;
    }
}

static void advance(struct scene *sc, uint64_t target) {
    static __thread uint32_t slower[GS_MAX_STREAMS];
    struct gs_timeline *t = sc->t;
    while (t->cursor_ns < target) {
        look(sc);
        if (!sc->kernels && !sc->copies) {
            t->cursor_ns = target;
        } else {
            bool others = false;
            if (sc->s->machine.concurrent) t->switch_end_ns = 0;
            else take_turn(sc), others = next_context(sc, t->context) != t->context && sc->kernels;
            keep_running(sc, slower);
            progress(sc, slower, until_change(sc, slower, others, target - t->cursor_ns));
        }
        close_samples(sc);
    }
    look(sc);
}

void gs_exec_advance(struct gs_machine *m) {
    static __thread struct scene sc;
    struct gs_state *s = m->s;
    uint64_t now = gs_now_ns();
    if (now > s->exec.reaped_ns + REAP_NS && s->exec.client_high) {
        gs_clients_reap(m);
        s->exec.reaped_ns = now;
    }
    for (uint32_t i = 0; i < s->machine.gpu_count; i++)
        for (uint32_t p = 0; p < GS_PLACES; p++) {
            struct gs_timeline *t = &s->gpu[i].v.timeline[p];
            if (!t->cursor_ns) continue; // no context has been there
            sc.s = s, sc.g = &s->gpu[i], sc.t = t;
            advance(&sc, now);
        }
}

static uint64_t work_ahead(const struct gs_state *s, const struct gs_stream *st, uint64_t count) {
    if (count >= st->tail) return st->work_ns;
    uint64_t sum = 0;
    for (uint64_t i = st->head; i < count; i++) sum += gs_command_at(s, st, i)->left_ns;
    return sum;
}

// holder_ns: for how long another context is certain to keep the place.
static uint64_t holder_ns(const struct gs_state *s, const struct gs_context *own, uint32_t index) {
    const struct gs_timeline *t = &s->gpu[own->gpu].v.timeline[own->place];
    if (s->machine.concurrent || t->context == index || t->context == GS_NONE || t->slice_end_ns <= t->cursor_ns)
        return 0;
    uint64_t longest = 0;
    for (uint32_t w = 0; w < GS_MAX_STREAMS / 64; w++)
        for (uint64_t bits = t->active[w]; bits; bits &= bits - 1) {
            const struct gs_stream *st = &s->exec.stream[w * 64 + (uint32_t)__builtin_ctzll(bits)];
            const struct gs_command *head = head_of(s, st);
            if (st->context == t->context && st->head < st->tail && head->kind == GS_CMD_KERNEL &&
                head->left_ns > longest)
                longest = head->left_ns;
        }
    return least(longest, t->slice_end_ns - t->cursor_ns);
}

// soonest_change: when nothing of the stream can run, what runs elsewhere in
// its place must end first.
static uint64_t soonest_change(const struct gs_state *s, const struct gs_context *c) {
    enum { LOOK_NS = 20000, SELDOM_NS = 1000000 };
    const uint64_t *active = s->gpu[c->gpu].v.timeline[c->place].active;
    uint64_t soonest = SELDOM_NS;
    for (uint32_t w = 0; w < GS_MAX_STREAMS / 64; w++)
        for (uint64_t bits = active[w]; bits; bits &= bits - 1) {
            const struct gs_stream *st = &s->exec.stream[w * 64 + (uint32_t)__builtin_ctzll(bits)];
            uint64_t left = st->head < st->tail ? head_of(s, st)->left_ns : 0;
            if (left) soonest = least(soonest, left);
        }
    return soonest < LOOK_NS ? LOOK_NS : soonest;
}

uint64_t gs_exec_bound(const struct gs_state *s, uint32_t stream, uint64_t count) {
    enum { LEAST_NS = 2000, MOST_NS = 20000000 }; // clients that die make it earlier
    const struct gs_stream *st = &s->exec.stream[stream];
    const struct gs_context *c = &s->exec.context[st->context];
    uint64_t now = s->gpu[c->gpu].v.timeline[c->place].cursor_ns;
    uint64_t ns = work_ahead(s, st, count);
    const struct gs_command *head = head_of(s, st);
    bool timed = st->head < st->tail && head->left_ns && gs_exec_in_order(s, stream);
    if (timed && head->kind == GS_CMD_KERNEL) ns += holder_ns(s, c, st->context);
    if (!timed && ns < soonest_change(s, c)) ns = soonest_change(s, c);
    return now + least(ns < LEAST_NS ? LEAST_NS : ns, MOST_NS);
}
