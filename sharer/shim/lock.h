// SPDX-License-Identifier: Apache-2.0
//
// A lock of one word on a futex. pthread's lives in a library that an old glibc
// does not load into every program, and a library that is preloaded into all of
// them must not need it.
//
// Ranks, lowest first; who holds one takes only higher ones:
// attach < book < pools < gate < costs. None is held while a thread waits for a
// lease or for the agent.
#ifndef AIPUB_LOCK_H
#define AIPUB_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

struct lock {
    _Atomic uint32_t word; // 0 free, 1 held, 2 held and somebody sleeps
};

void lock_sleep(struct lock *l);
void lock_wake(struct lock *l);

static inline void lock_take(struct lock *l) {
    uint32_t is_free = 0;
    if (!atomic_compare_exchange_strong(&l->word, &is_free, 1)) lock_sleep(l);
}

static inline void lock_give(struct lock *l) {
    if (atomic_exchange(&l->word, 0) == 2) lock_wake(l);
}

#endif
