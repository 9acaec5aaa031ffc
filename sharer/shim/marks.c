// SPDX-License-Identifier: Apache-2.0
//
// Follows what is in flight by events. A batch is the work between two events on
// a stream; its time is what the GPU's clock says between them, and where batches
// of several streams overlap the time is counted once.
#define _GNU_SOURCE
#include <stdlib.h>

#include "gate_state.h"
#include "plan.h"
#include "resolve.h"

#define REBASE_NS INT64_C(4000000000) // a float of milliseconds is exact enough for so long

struct calls {
    int (*create)(CUevent *, unsigned);
    int (*record)(CUevent, CUstream);
    int (*query)(CUevent);
    int (*elapsed)(float *, CUevent, CUevent);
    int (*push)(CUcontext);
    int (*pop)(CUcontext *);
};

static const struct calls *calls(void) {
    static struct calls c;
    if (UNLIKELY(!c.elapsed)) {
        c.create = resolve_symbol("cuEventCreate");
        c.record = resolve_symbol("cuEventRecord");
        c.query = resolve_symbol("cuEventQuery");
        c.push = resolve_symbol("cuCtxPushCurrent_v2");
        c.pop = resolve_symbol("cuCtxPopCurrent_v2");
        c.elapsed = resolve_symbol("cuEventElapsedTime");
    }
    return &c;
}

static void use(struct mark *m) {
    if (m) m->uses++;
}

static void drop(struct mark *m) {
    if (!m || --m->uses > 0) return;
    m->next = m->space->free;
    m->space->free = m;
}

// fetch returns an unused mark. Marks are reused: creating an event may wait for
// the GPU.
static struct mark *fetch(struct space *space) {
    struct mark *m = space->free;
    if (m) {
        space->free = m->next;
        return m;
    }
    m = calloc(1, sizeof *m);
    if (m && calls()->create(&m->event, 0) == CUDA_SUCCESS) {
        m->space = space;
        return m;
    }
    free(m);
    return NULL;
}

// record makes a mark at the end of what is on the track now. A default stream is
// the current context's, so the track's is made current.
static struct mark *record(struct track *t) {
    CUcontext context = t->space->context;
    bool elsewhere = plan_context() != context;
    if (t->space->dead || (elsewhere && calls()->push(context) != CUDA_SUCCESS)) return NULL;
    struct mark *m = fetch(t->space);
    if (m) m->uses = 1;
    if (m && calls()->record(m->event, t->stream) != CUDA_SUCCESS) {
        drop(m);
        m = NULL;
    }
    if (elsewhere) calls()->pop(&context);
    return m;
}

// is_done says whether all before the mark is complete. An error other than "not
// ready" means that the context is broken: nothing runs in it.
static bool is_done(const struct mark *m) {
    return calls()->query(m->event) != CUDA_ERROR_NOT_READY;
}

static int64_t between(const struct mark *from, const struct mark *to) {
    float ms = 0;
    if (!from || calls()->elapsed(&ms, from->event, to->event) != CUDA_SUCCESS) return 0;
    return (int64_t)((double)ms * 1e6);
}

struct space *marks_space(struct gate_state *s, CUcontext context) {
    struct space *space = s->spaces;
    while (space && (space->context != context || space->dead)) space = space->next;
    if (space || !context) return space;
    space = calloc(1, sizeof *space);
    if (!space) return NULL;
    space->context = context;
    space->next = s->spaces;
    return s->spaces = space;
}

struct track *marks_track(struct gate_state *s, struct space *space, CUstream stream, struct gate_thread *owner) {
    struct track *t = s->tracks;
    while (t && (t->stream != stream || t->space != space || t->owner != owner || t->dead)) t = t->next;
    if (t) return t;
    t = calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (struct track){.stream = stream, .owner = owner, .space = space, .next = s->tracks};
    return s->tracks = t;
}

struct mark *marks_begin(struct gate_state *s, struct track *t, bool alone) {
    int64_t unmarked = atomic_load_explicit(&t->head.unmarked, memory_order_relaxed);
    if (unmarked && alone) {
        marks_tail(s, t);
        unmarked = 0;
    }
    if (unmarked == 0 && (!t->last || is_done(t->last))) {
        drop(t->last);
        t->last = record(t);
    }
    use(t->last);
    return t->last;
}

static void end(struct gate_state *s, struct track *t, struct mark *from, int64_t ns, struct cost *cost) {
    bool dense = from && !is_done(from);
    struct mark *to = record(t);
    atomic_store_explicit(&t->head.unmarked, 0, memory_order_relaxed);
    if (!to || s->batches == BATCHES) {
        drop(from);
        drop(to);
        return;
    }
    use(to);
    drop(t->last);
    t->last = to;
    s->batch[s->batches++] =
        (struct batch){.track = t, .from = from, .to = to, .predicted = ns, .cost = cost, .dense = dense};
}

void marks_end(struct gate_state *s, struct track *t, struct mark *from, int64_t ns, struct cost *cost) {
    int64_t unmarked = atomic_load_explicit(&t->head.unmarked, memory_order_relaxed);
    end(s, t, from, ns + unmarked, unmarked ? NULL : cost);
}

bool marks_tail(struct gate_state *s, struct track *t) {
    int64_t unmarked = atomic_load_explicit(&t->head.unmarked, memory_order_relaxed);
    if (unmarked == 0 || t->dead) return false;
    use(t->last);
    end(s, t, t->last, unmarked, NULL);
    return true;
}

// busy counts a batch's time beyond what is counted already. A batch that the GPU
// idled in is counted by its commands, not by the wall.
static uint64_t busy(const struct batch *b) {
    struct space *space = b->to->space;
    if (!space->base && b->from) {
        use(space->base = b->from);
        space->horizon = 0;
    }
    int64_t from = between(space->base, b->from ? b->from : b->to), to = between(space->base, b->to);
    int64_t ns = to - (from > space->horizon ? from : space->horizon);
    if (to > space->horizon) space->horizon = to;
    if (to > REBASE_NS) {
        drop(space->base);
        use(space->base = b->to);
        space->horizon -= to;
    }
    if (!b->dense && !b->cost && ns > b->predicted) ns = b->predicted;
    return ns > 0 ? (uint64_t)ns : 0;
}

static void finish(struct gate_state *s, struct batch *b, uint64_t now) {
    struct aipub_slot *slot = s->leased ? s->leased->slot : NULL;
    int64_t alone = b->cost && b->from ? between(b->from, b->to) : 0;
    uint64_t ns = busy(b);
    if (b->cost) costs_measured(b->cost, alone);
    s->used_ns += ns;
    s->busy_at = now;
    if (slot) {
        ADD(slot->busy_ns, ns);
        STORE(slot->done_ns, now);
        if ((uint64_t)alone > LOAD(slot->longest_ns)) STORE(slot->longest_ns, (uint64_t)alone);
    }
    drop(b->from);
    drop(b->to);
}

void marks_harvest(struct gate_state *s) {
    unsigned kept = 0;
    uint64_t now = s->batches ? sys_now() : 0;
    for (unsigned i = 0; i < s->batches; i++) {
        struct batch b = s->batch[i];
        bool waits = false; // in order on its stream
        for (unsigned k = 0; k < kept; k++) waits |= s->batch[k].track == b.track;
        if (waits || !is_done(b.to)) s->batch[kept++] = b;
        else finish(s, &b, now);
    }
    s->batches = kept;
    if (s->leased && s->leased->slot) {
        uint32_t in_flight = kept;
        for (struct track *t = s->tracks; t; t = t->next)
            in_flight += atomic_load_explicit(&t->head.unmarked, memory_order_relaxed) != 0;
        STORE(s->leased->slot->inflight, in_flight);
    }
}

int64_t marks_in_flight(const struct gate_state *s, uint64_t now) {
    int64_t sum = 0, budget = atomic_load_explicit(&s->gate->budget, memory_order_relaxed);
    int64_t front = s->batches ? s->batch[0].predicted : 0, done = (int64_t)(now - s->busy_at);
    for (unsigned i = 0; i < s->batches; i++) sum += s->batch[i].predicted;
    for (const struct track *t = s->tracks; t; t = t->next)
        sum += atomic_load_explicit(&t->head.unmarked, memory_order_relaxed);
    if (done > 0) sum -= done < front ? done : front;
    return sum + (budget > 0 ? budget : 0);
}

uint64_t marks_pause(const struct gate_state *s, uint64_t now, uint64_t least, uint64_t most) {
    int64_t left = s->batches ? s->batch[0].predicted - (int64_t)(now - s->busy_at) : 0;
    uint64_t pause = left > 0 ? (uint64_t)left / 2 : 0;
    return pause < least ? least : pause > most ? most : pause;
}

// The marks of a context die with it; a dead record is kept, since a thread may
// still hold it.
void marks_forget(struct gate_state *s, CUcontext context, const CUstream *stream) {
    unsigned kept = 0;
    for (struct track *t = s->tracks; t; t = t->next) {
        if (stream ? t->stream != *stream : t->space->context != context) continue;
        if (stream) marks_tail(s, t); // its work goes on without it
        else atomic_store_explicit(&t->head.unmarked, 0, memory_order_relaxed);
        if (!t->owner) t->dead = true;
    }
    if (stream) return;
    for (unsigned i = 0; i < s->batches; i++)
        if (s->batch[i].track->space->context != context) s->batch[kept++] = s->batch[i];
    s->batches = kept;
    for (struct space *space = s->spaces; space; space = space->next)
        if (space->context == context) space->dead = true;
}
