// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ledger.h"

#include <errno.h>

#include "sys.h"

// plus adds and stays at the top: what others wrote into the page may be anything.
static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// minus takes away and stays at zero: the agent may have corrected the word.
static void minus(uint64_t *word, uint64_t bytes) {
    uint64_t seen = LOAD(*word), left;
    do left = seen > bytes ? seen - bytes : 0;
    while (!__atomic_compare_exchange_n(word, &seen, left, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

// pending is read before committed_bytes, and a process stores them in the other
// order when it commits: bytes on their way from one to the other are seen twice,
// never not at all.
struct sums ledger_sums(const struct slice *s) {
    struct sums sum = {0};
    uint32_t used = LOAD(s->page->used);
    if (used > AIPUB_SLOTS) used = AIPUB_SLOTS;
    for (uint32_t i = 0; i < used; i++) {
        const struct aipub_slot *slot = &s->page->slot[i];
        if (LOAD(slot->owner) == 0) continue;
        sum.pending = plus(sum.pending, LOAD(slot->pending_bytes));
        sum.settled = plus(sum.settled, LOAD(slot->committed_bytes));
        sum.settled = plus(sum.settled, LOAD(slot->overhead_bytes));
    }
    return sum;
}

// limit_of is the most that the slice may have. What it borrows is taken back by
// the agent: while that is silent, nothing more is borrowed.
static uint64_t limit_of(const struct aipub_grant *g) {
    bool borrows = LOAD(g->flags) & AIPUB_REVOCABLE;
    return borrows && slices_silent(g, sys_now()) ? LOAD(g->guaranteed_bytes) : LOAD(g->memory_bytes);
}

enum verdict { GRANTED, FULL, CONTENDED };

static enum verdict announce(struct slice *s, uint64_t bytes) {
    if (!s->slot) return GRANTED;
    AIPUB_STEP(10);
    ADD(s->slot->pending_bytes, bytes);
    AIPUB_STEP(11);
    if (!(LOAD(s->grant->flags) & AIPUB_HAS_MEMORY)) return GRANTED;
    uint64_t limit = limit_of(s->grant);
    struct sums sum = ledger_sums(s);
    if (plus(sum.settled, sum.pending) <= limit) return GRANTED;
    minus(&s->slot->pending_bytes, bytes);
    AIPUB_STEP(12);
    return plus(sum.settled, bytes) > limit ? FULL : CONTENDED;
}

// announce_any tries the slices in order; FULL only when each is.
static enum verdict announce_any(struct device *d, uint64_t bytes, struct charge *c) {
    enum verdict all = FULL;
    for (unsigned i = 0; i < d->count; i++) {
        enum verdict v = announce(d->slices[i], bytes);
        if (v == GRANTED) *c = (struct charge){d->slices[i], bytes};
        if (v == GRANTED) return GRANTED;
        if (v == CONTENDED) all = CONTENDED;
    }
    return all;
}

// backoff sleeps longer each time, and never as long as the neighbour does.
static void backoff(unsigned attempt, uint64_t now) {
    uint64_t most = MICROSECOND << (attempt < 10 ? attempt : 10);
    sys_sleep(most / 2 + (now * UINT64_C(0x9e3779b97f4a7c15) >> 40) % most);
}

bool ledger_reserve(struct device *d, uint64_t bytes, struct charge *c) {
    *c = (struct charge){0};
    if (!d || d->count == 0 || bytes == 0) return true;
    enum verdict v = announce_any(d, bytes, c);
    if (LIKELY(v == GRANTED)) return true;
    int error = errno;
    uint64_t now = sys_now(), until = now + SECOND;
    for (unsigned attempt = 0; v == CONTENDED && now < until; attempt++, now = sys_now()) {
        backoff(attempt, now);
        v = announce_any(d, bytes, c);
    }
    if (v != GRANTED && d->slices[0]->slot) ADD(d->slices[0]->slot->refused, 1);
    errno = error;
    return v == GRANTED;
}

void ledger_commit(struct charge *c, uint64_t actual, enum account a) {
    struct aipub_slot *slot = c->slice ? c->slice->slot : NULL;
    if (!slot) return;
    AIPUB_STEP(20);
    ADD(*(a == ACCOUNT_OVERHEAD ? &slot->overhead_bytes : &slot->committed_bytes), actual);
    AIPUB_STEP(21);
    minus(&slot->pending_bytes, c->bytes);
    AIPUB_STEP(22);
    if (a == ACCOUNT_MANAGED) ADD(slot->managed_bytes, actual);
    uint64_t held = plus(LOAD(slot->committed_bytes), LOAD(slot->overhead_bytes)), peak = LOAD(slot->peak_bytes);
    if (held > peak) STORE(slot->peak_bytes, held);
    c->bytes = 0;
}

void ledger_cancel(struct charge *c) {
    if (c->slice && c->slice->slot) minus(&c->slice->slot->pending_bytes, c->bytes);
    *c = (struct charge){0};
}

void ledger_release(struct slice *s, uint64_t bytes, enum account a) {
    if (!s || !s->slot) return;
    AIPUB_STEP(30);
    minus(a == ACCOUNT_OVERHEAD ? &s->slot->overhead_bytes : &s->slot->committed_bytes, bytes);
    AIPUB_STEP(31);
    if (a == ACCOUNT_MANAGED) minus(&s->slot->managed_bytes, bytes);
}

void ledger_host(struct device *d, int64_t bytes) {
    if (d && d->count && d->slices[0]->slot) ADD(d->slices[0]->slot->host_bytes, (uint64_t)bytes);
}

bool ledger_info(const struct device *d, uint64_t *total, uint64_t *left) {
    *total = *left = 0;
    for (unsigned i = 0; i < d->count; i++) {
        const struct slice *s = d->slices[i];
        if (!(LOAD(s->grant->flags) & AIPUB_HAS_MEMORY)) return false;
        uint64_t limit = LOAD(s->grant->memory_bytes);
        struct sums sum = ledger_sums(s);
        uint64_t used = plus(sum.settled, sum.pending);
        *total = plus(*total, limit);
        *left = plus(*left, limit > used ? limit - used : 0);
    }
    if (d->total && *total > d->total) *total = d->total;
    if (*left > *total) *left = *total;
    return true;
}
