// SPDX-License-Identifier: Apache-2.0
//
// Holds back work while the slice has no lease of its GPU. While it has one, a
// launch costs a subtraction from a budget of GPU time; when the budget is spent,
// or the gate is shut, the launch takes the slow path, which looks at the lease
// and at what is in flight, and refills the budget.
#ifndef AIPUB_GATE_H
#define AIPUB_GATE_H

#include "capture.h"
#include "slices.h"
#include "sys.h"

struct track;
struct mark;

// What is known about one kernel, graph or kind of copy.
struct cost {
    _Atomic(const void *) key;
    _Atomic int64_t ns;    // predicted
    _Atomic int32_t left;  // launches until it is measured again
    int32_t measured;      // how often it was
    uint64_t pad;          // no entry lies in two cache lines
};

enum { COSTS = 4096 };

// What the fast path touches of a GPU.
struct gate {
    _Atomic int64_t budget; // ns of GPU time that may be issued; far below 0: shut
    struct gate_state *state;
    _Alignas(64) struct cost costs[COSTS];
};

// A stream that a thread launched on, so that it need not be looked up again.
struct gate_line {
    CUstream stream;
    CUcontext context;
    struct track *track;
    uint32_t generation;
};

enum { LINES = 8 };

// What a thread keeps: whether it is in the driver now, on which GPU it launched
// last, and its streams there.
struct gate_thread {
    _Atomic uint32_t in_call;
    _Atomic uint64_t launches;
    struct gate *_Atomic gate;
    struct gate_line line[LINES];
    int id;
    uint64_t counted; // of launches, in the slot
    struct gate_thread *nested;
    struct gate_thread *next;
};

// How far a track's launches went since its last mark, in predicted ns.
struct track_head {
    _Atomic int64_t unmarked;
};

extern _Thread_local struct gate_thread *gate_self __attribute__((tls_model("initial-exec")));
extern _Atomic(struct gate *) gate_only;  // the gate of the only context; NULL: ask whose a launch is
extern _Atomic uint32_t gate_generation;  // changes when a context or stream is gone

// One launch on its way.
struct ticket {
    struct gate_thread *self; // NULL: not held back, nothing to do after
    struct gate *gate;
    struct track *track;
    struct cost *cost;
    struct mark *from; // slow path: the work began after this
    int64_t ns;
    bool slow;
};

void gate_enter_slow(struct ticket *t, const void *key, CUstream stream, bool per_thread);
void gate_leave_slow(struct ticket *t, int result);

static inline size_t gate_cost_index(const void *key) {
    return (size_t)((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 52);
}

static inline struct gate_line *gate_line_of(struct gate_thread *self, CUstream stream) {
    return &self->line[((uintptr_t)stream >> 4 ^ (uintptr_t)stream >> 9) % LINES];
}

// gate_among says whether the line is the current context's, where there are
// several.
bool gate_among(const struct gate_line *line);

// gate_line_holds says whether the line is this stream's: where there are several
// contexts, a default stream has the same handle in each.
static inline bool gate_line_holds(const struct gate_line *line, const struct gate_thread *self, CUstream stream) {
    if (UNLIKELY(line->stream != stream || !line->track)) return false;
    if (UNLIKELY(line->generation != atomic_load_explicit(&gate_generation, memory_order_relaxed))) return false;
    struct gate *only = atomic_load_explicit(&gate_only, memory_order_relaxed);
    if (LIKELY(only != NULL)) return only == atomic_load_explicit(&self->gate, memory_order_relaxed);
    return gate_among(line);
}

// gate_fast lets the launch through when nothing has to be looked at. The flag is
// stored before the subtraction, and whoever shuts the gate exchanges the budget
// before it reads the flags: so it sees every launch that it did not stop.
static inline bool gate_fast(struct ticket *t, const void *key, CUstream stream) {
    struct gate_thread *self = gate_self;
    if (UNLIKELY(!self)) return false;
    struct gate_line *line = gate_line_of(self, stream);
    if (UNLIKELY(!gate_line_holds(line, self, stream))) return false;
    if (UNLIKELY(atomic_load_explicit(&capture_open, memory_order_relaxed) != 0)) return false;
    struct gate *g = atomic_load_explicit(&self->gate, memory_order_relaxed);
    struct cost *c = &g->costs[gate_cost_index(key)];
    if (UNLIKELY(atomic_load_explicit(&c->key, memory_order_relaxed) != key)) return false;
    int32_t left = atomic_load_explicit(&c->left, memory_order_relaxed);
    if (UNLIKELY(left <= 0)) return false;
    atomic_store_explicit(&c->left, left - 1, memory_order_relaxed);
    int64_t ns = atomic_load_explicit(&c->ns, memory_order_relaxed);
    atomic_store_explicit(&self->in_call, 1, memory_order_relaxed);
    if (UNLIKELY(atomic_fetch_sub(&g->budget, ns) < ns)) {
        atomic_fetch_add(&g->budget, ns);
        atomic_store_explicit(&self->in_call, 0, memory_order_release);
        return false;
    }
    struct track_head *track = (struct track_head *)line->track;
    int64_t unmarked = atomic_load_explicit(&track->unmarked, memory_order_relaxed);
    atomic_store_explicit(&track->unmarked, unmarked + ns, memory_order_relaxed);
    uint64_t launches = atomic_load_explicit(&self->launches, memory_order_relaxed);
    atomic_store_explicit(&self->launches, launches + 1, memory_order_relaxed);
    t->self = self;
    t->slow = false;
    return true;
}

static inline void gate_enter(struct ticket *t, const void *key, CUstream stream, bool per_thread) {
    if (UNLIKELY(per_thread && !stream)) stream = CU_STREAM_PER_THREAD;
    if (LIKELY(gate_fast(t, key, stream))) return;
    gate_enter_slow(t, key, stream, per_thread);
}

static inline void gate_leave(struct ticket *t, int result) {
    if (LIKELY(t->self && !t->slow)) atomic_store_explicit(&t->self->in_call, 0, memory_order_release);
    else if (t->self) gate_leave_slow(t, result);
}

// GATED makes the call when the slice may use the GPU, and says what it returned.
#define GATED(key, stream, per_thread, call)                                                                           \
    ({                                                                                                                 \
        struct ticket ticket;                                                                                          \
        gate_enter(&ticket, key, stream, per_thread);                                                                  \
        int gated = call;                                                                                              \
        gate_leave(&ticket, gated);                                                                                    \
        gated;                                                                                                         \
    })

// gate_use prepares a GPU's gate and starts its helper; for the first context.
void gate_use(struct device *d);

// gate_tell sends the slice's agent a message that no lease is behind.
void gate_tell(struct device *d, struct slice *s, uint32_t type, uint64_t a);

// gate_contexts is told how many contexts there are, and the GPU of a new one, which
// the helper may use from now on.
void gate_contexts(int count, struct device *d, CUcontext context);

// gate_nest makes the thread another one to the gates, for a launch that waits while
// it holds one on another GPU; gate_unnest, with what that returned, ends it.
struct gate_thread *gate_nest(void);
void gate_unnest(struct gate_thread *outer);

// gate_mark_all marks what was issued on every stream, before a capture begins.
void gate_mark_all(void);

// gate_forget_stream and gate_forget_context: it is about to be destroyed.
void gate_forget_stream(CUstream stream);
void gate_forget_context(CUcontext context);

void gate_after_fork(void);

#endif
