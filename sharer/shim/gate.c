// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context.h"
#include "gate_state.h"
#include "plan.h"
#include "resolve.h"

_Thread_local struct gate_thread *gate_self;
_Atomic(struct gate *) gate_only;
_Atomic uint32_t gate_generation;
static int (*get_context)(CUcontext *);

// For how long a thread sleeps that waits for room: what is in flight may be done
// sooner, or later, than predicted.
#define SHORTEST (30 * MICROSECOND)
#define LONGEST (500 * MICROSECOND)

static struct lock threads_lock;
static _Atomic(struct gate_thread *) threads;
static int (*exchange_mode)(int *);

// reuse finds the record of a thread that has ended.
static struct gate_thread *reuse(void) {
    for (struct gate_thread *t = atomic_load(&threads); t; t = t->next)
        if (syscall(SYS_tgkill, getpid(), t->id, 0) != 0 && errno == ESRCH) return t;
    return NULL;
}

static struct gate_thread *enrol(void) {
    static int enrolled;
    int error = errno;
    lock_take(&threads_lock);
    struct gate_thread *t = enrolled >= 64 ? reuse() : NULL;
    if (t) {
        atomic_store(&t->gate, NULL);
        atomic_store(&t->in_call, 0);
        memset(t->line, 0, sizeof t->line);
        t->nested = NULL;
    } else if ((t = calloc(1, sizeof *t))) {
        enrolled++;
        t->next = atomic_load(&threads);
        atomic_store(&threads, t);
    }
    if (t) t->id = (int)syscall(SYS_gettid);
    lock_give(&threads_lock);
    errno = error;
    return gate_self = t;
}

__attribute__((noinline)) bool gate_among(const struct gate_line *line) {
    CUcontext context;
    return get_context && get_context(&context) == CUDA_SUCCESS && context == line->context;
}

bool gate_calls(const struct gate *g) {
    for (struct gate_thread *t = atomic_load(&threads); t; t = t->next)
        if (t->gate == g && atomic_load_explicit(&t->in_call, memory_order_acquire)) return true;
    return false;
}

struct gate_thread *gate_nest(void) {
    struct gate_thread *outer = gate_self ? gate_self : enrol();
    gate_self = outer && outer->nested ? outer->nested : enrol();
    if (outer) outer->nested = gate_self;
    return outer;
}

void gate_unnest(struct gate_thread *outer) {
    gate_self = outer;
}

static void count(struct gate_state *s, struct gate_thread *t) {
    struct slice *slice = s->leased ? s->leased : s->device->slices[0];
    uint64_t launches = atomic_load_explicit(&t->launches, memory_order_relaxed);
    if (slice->slot && launches > t->counted) ADD(slice->slot->launches, launches - t->counted);
    t->counted = launches;
}

void gate_count(struct gate_state *s) {
    for (struct gate_thread *t = atomic_load(&threads); t; t = t->next)
        if (t->gate == s->gate) count(s, t);
}

uint64_t gate_window(const struct gate_state *s) {
    if (s->is_free) return 64 * MILLISECOND; // only how far apart marks are
    uint64_t window = s->leased ? LOAD(s->leased->grant->window_ns) : 0;
    return window ? window : 2 * MILLISECOND;
}

// relaxed lets the calls that follow be made while some thread captures; they are
// not part of what it captures. restore takes it back.
static int relaxed(void) {
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (atomic_load_explicit(&capture_open, memory_order_relaxed) == 0) return -1;
    if (!exchange_mode) exchange_mode = resolve_symbol("cuThreadExchangeStreamCaptureMode");
    return exchange_mode && exchange_mode(&mode) == CUDA_SUCCESS ? mode : -1;
}

static void restore(int mode) {
    if (mode >= 0) exchange_mode(&mode);
}

// await_lease returns when the gate is open, with the lock held all the time that
// it does not sleep.
static void await_lease(struct gate_state *s) {
    uint64_t since = 0, now = sys_now();
    struct slice *slice = s->device->slices[0];
    while (!lease_open(s, now)) {
        if (!since && slice->slot) ADD(slice->slot->waiting, 1);
        since = since ? since : now;
        for (unsigned i = 0; !s->wanted && !s->draining && i < s->device->count; i++)
            agent_send(s->device->slices[i], AIPUB_WANT, 0, 0, 0);
        s->wanted = s->wanted || !s->draining;
        lock_give(&s->lock);
        lease_wait(s);
        lock_take(&s->lock);
        now = sys_now();
    }
    if (!since || !slice->slot) return;
    ADD(slice->slot->waiting, -1u);
    ADD(slice->slot->waits, 1);
    ADD(slice->slot->waited_ns, now - since);
}

// await_room returns when the command may be added to what is in flight: as long
// as the predicted time stays within the window, and when next to nothing is left.
static void await_room(struct gate_state *s, const struct cost *cost) {
    for (;;) {
        await_lease(s);
        marks_harvest(s);
        if (s->is_free) return;
        uint64_t now = sys_now();
        int64_t window = (int64_t)gate_window(s), left = marks_in_flight(s, now);
        int64_t ns = atomic_load_explicit(&cost->ns, memory_order_relaxed);
        if (s->batches < BATCHES - 16 && (left + ns <= window || left <= window / 16)) return;
        // What the fast path was allowed and has not used is taken back first.
        int64_t budget = atomic_load(&s->gate->budget);
        if (budget > 0 && atomic_compare_exchange_strong(&s->gate->budget, &budget, 0)) continue;
        for (struct track *t = s->tracks; t; t = t->next)
            if (!t->owner) marks_tail(s, t);
        uint64_t excess = (uint64_t)(left - (ns < window ? window - ns : window / 16));
        lock_give(&s->lock);
        sys_sleep(excess < SHORTEST ? SHORTEST : excess > LONGEST ? LONGEST : excess);
        lock_take(&s->lock);
    }
}

static struct gate *current(void) {
    struct gate *g = atomic_load_explicit(&gate_only, memory_order_relaxed);
    if (g) return g;
    struct device *d = slices_current();
    if (d && !d->gate) gate_use(d);
    return d ? d->gate : NULL;
}

// move makes g the GPU that the thread launches on.
static void move(struct gate_thread *self, struct gate *g) {
    struct gate *before = atomic_load(&self->gate);
    if (before == g) return;
    if (before) {
        lock_take(&before->state->lock);
        count(before->state, self);
        lock_give(&before->state->lock);
    }
    memset(self->line, 0, sizeof self->line);
    atomic_store(&self->gate, g);
}

// draw_line enters the stream into the thread's lines and returns its track, NULL:
// the driver has no context here. The lock is held. A per-thread default stream
// has none that the fast path could use: only its thread can mark it, so nothing
// on it may ever be left unmarked.
static struct track *draw_line(struct gate_state *s, struct gate_thread *self, CUstream stream) {
    struct gate_thread *owner = stream == CU_STREAM_PER_THREAD ? self : NULL;
    struct space *space = marks_space(s, plan_context());
    struct track *track = space ? marks_track(s, space, stream, owner) : NULL;
    struct gate_line *line = gate_line_of(self, stream);
    if (!track) return NULL;
    *line = (struct gate_line){stream, space->context, owner ? NULL : track, atomic_load(&gate_generation)};
    return track;
}

static void enter(struct ticket *t, struct gate_state *s, struct cost *cost, struct track *track) {
    bool alone = atomic_load_explicit(&cost->left, memory_order_relaxed) <= 0;
    t->gate = s->gate;
    t->track = track;
    t->from = track ? marks_begin(s, track, alone) : NULL;
    t->cost = alone ? cost : NULL;
    if (alone) costs_begin(cost);
    t->ns = atomic_load_explicit(&cost->ns, memory_order_relaxed);
    t->self = gate_self;
    atomic_fetch_add_explicit(&t->self->launches, 1, memory_order_relaxed);
    atomic_store(&t->self->in_call, 1);
}

void gate_enter_slow(struct ticket *t, const void *key, CUstream stream, bool per_thread) {
    struct gate_thread *self = gate_self ? gate_self : enrol();
    struct gate *g = self ? current() : NULL;
    *t = (struct ticket){.slow = true};
    if (!g || capture_on(stream, per_thread && stream != CU_STREAM_PER_THREAD)) return;
    struct gate_state *s = g->state;
    int error = errno, mode = relaxed();
    bool known = gate_line_holds(gate_line_of(self, stream), self, stream);
    move(self, g);
    atomic_fetch_add(&s->waiting, 1);
    lock_take(&s->lock);
    struct track *track = draw_line(s, self, stream);
    if (known || !gate_fast(t, key, stream)) {
        struct cost *cost = costs_find(s, key);
        bool was_idle = s->batches == 0;
        await_room(s, cost);
        enter(t, s, cost, track);
        if (was_idle) s->busy_at = sys_now();
        if (was_idle) helper_kick(s);
    }
    atomic_fetch_sub(&s->waiting, 1);
    lock_give(&s->lock);
    restore(mode);
    errno = error;
}

// refill allows the fast path a quarter of the window, so that the rest is known
// to be in flight by a mark.
static void refill(struct gate_state *s) {
    int64_t window = (int64_t)gate_window(s), room = window - marks_in_flight(s, sys_now());
    if (!s->open || atomic_load(&capture_open)) return;
    if (room > window / 4) room = window / 4;
    atomic_store(&s->gate->budget, room > 0 ? room : 0);
}

void gate_leave_slow(struct ticket *t, int result) {
    struct gate_state *s = t->gate->state;
    int error = errno, mode = relaxed();
    lock_take(&s->lock);
    if (t->track && t->from && result == CUDA_SUCCESS) marks_end(s, t->track, t->from, t->ns, t->cost);
    if (atomic_load_explicit(&t->gate->budget, memory_order_relaxed) <= 0) refill(s);
    lock_give(&s->lock);
    atomic_store_explicit(&t->self->in_call, 0, memory_order_release);
    restore(mode);
    errno = error;
}

// end_helpers is called before the driver takes itself apart: it was initialised,
// and has registered its own end, before the first context.
static void end_helpers(void) {
    unsigned n;
    struct device *d = slices_devices(&n);
    for (unsigned i = 0; i < n; i++) {
        if (!d[i].gate) continue;
        lock_take(&d[i].gate->state->lock);
        d[i].gate->state->over = true;
        lock_give(&d[i].gate->state->lock);
    }
}

// All of a GPU, in pages that the kernel gives when they are touched: most of the
// costs never are.
struct whole {
    struct gate_state state;
    struct gate gate;
};

void gate_use(struct device *d) {
    static struct lock once;
    static bool registered;
    if (!d) return;
    get_context = resolve_symbol("cuCtxGetCurrent");
    lock_take(&once);
    if (!registered) registered = atexit(end_helpers) == 0;
    struct whole *w = d->gate ? NULL : sys_zeroed(sizeof *w);
    if (w) {
        w->gate.state = &w->state;
        w->state.gate = &w->gate;
        w->state.device = d;
        d->gate = &w->gate;
        helper_start(&w->state);
    }
    lock_give(&once);
}

void gate_tell(struct device *d, struct slice *s, uint32_t type, uint64_t a) {
    gate_use(d);
    if (!d->gate) return;
    lock_take(&d->gate->state->lock);
    agent_send(s, type, 0, a, 0);
    lock_give(&d->gate->state->lock);
}

void gate_contexts(int count, struct device *d, CUcontext context) {
    if (d && d->gate && context) {
        lock_take(&d->gate->state->lock);
        marks_space(d->gate->state, context);
        lock_give(&d->gate->state->lock);
    }
    atomic_store(&gate_only, count == 1 && d ? d->gate : NULL);
    atomic_fetch_add(&gate_generation, 1);
}

static void each(void (*with)(struct gate_state *s, const void *what), const void *what) {
    unsigned n;
    struct device *d = slices_devices(&n);
    for (unsigned i = 0; i < n; i++) {
        if (!d[i].gate) continue;
        lock_take(&d[i].gate->state->lock);
        with(d[i].gate->state, what);
        lock_give(&d[i].gate->state->lock);
    }
}

static void mark_all(struct gate_state *s, const void *what) {
    (void)what;
    if (s->open) atomic_store(&s->gate->budget, 0);
    for (struct track *t = s->tracks; t; t = t->next) marks_tail(s, t);
}

void gate_mark_all(void) {
    each(mark_all, NULL);
}

static void forget_stream(struct gate_state *s, const void *what) {
    marks_forget(s, NULL, what);
}

void gate_forget_stream(CUstream stream) {
    each(forget_stream, &stream);
    atomic_fetch_add(&gate_generation, 1);
}

static void forget_context(struct gate_state *s, const void *what) {
    marks_forget(s, (CUcontext)what, NULL);
}

void gate_forget_context(CUcontext context) {
    each(forget_context, context);
    atomic_fetch_add(&gate_generation, 1);
}

void gate_after_fork(void) {
    threads_lock = (struct lock){0};
    atomic_store(&threads, NULL);
    atomic_store(&gate_only, NULL);
    gate_self = NULL;
}
