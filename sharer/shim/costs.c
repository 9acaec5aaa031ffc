// SPDX-License-Identifier: Apache-2.0
//
// What a command is expected to cost. A kernel that is new is measured alone, and
// again after 2, 4, 8 … launches, at most every 256: then two marks around it say
// what it took. Until that is known it counts as a whole window: a second unknown
// command is not issued behind it, since both may be long.
#define _GNU_SOURCE
#include "gate_state.h"

enum { OFTEN = 1, RARELY = 256 };

// costs_find enters a new key over whatever was in its place: a table that is too
// small measures more often and is never wrong for long.
struct cost *costs_find(struct gate_state *s, const void *key) {
    struct cost *c = &s->gate->costs[gate_cost_index(key)];
    if (atomic_load_explicit(&c->key, memory_order_relaxed) == key) return c;
    atomic_store_explicit(&c->left, 0, memory_order_relaxed);
    atomic_store_explicit(&c->ns, (int64_t)gate_window(s), memory_order_relaxed);
    c->measured = 0;
    atomic_store_explicit(&c->key, key, memory_order_relaxed);
    return c;
}

static void again_after(struct cost *c) {
    atomic_store_explicit(&c->left, c->measured < 8 ? OFTEN << c->measured : RARELY, memory_order_relaxed);
}

void costs_begin(struct cost *c) {
    if (c->measured > 0) again_after(c);
}

void costs_measured(struct cost *c, int64_t ns) {
    int64_t before = atomic_load_explicit(&c->ns, memory_order_relaxed);
    // The first launch of a kernel may load its code: the second measurement
    // replaces the first instead of being averaged with it.
    if (c->measured >= 2) ns = before + (ns - before) / 4;
    if (ns < LEAST_COST_NS) ns = LEAST_COST_NS;
    if (c->measured < 30) c->measured++;
    atomic_store_explicit(&c->ns, ns, memory_order_relaxed);
    again_after(c);
}
