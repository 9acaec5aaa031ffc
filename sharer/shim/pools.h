// SPDX-License-Identifier: Apache-2.0
//
// Memory that a pool or the graphs of a GPU hold in reserve. It is charged by
// what the driver says that they hold, read before and after each call that may
// change it. Nothing waits for a stream.
#ifndef AIPUB_POOLS_H
#define AIPUB_POOLS_H

#include "ledger.h"

struct pool;

// One allocation from a pool.
struct draw {
    struct pool *pool;
    struct charge charge;
};

// pools_draw reserves what the pool may have to grow by; a NULL handle is the
// memory of the GPU's graphs. False: out of memory.
bool pools_draw(struct device *d, CUmemoryPool handle, uint64_t bytes, struct draw *w);

// pools_drawn charges what the pool did grow by. False: it grew by more than
// there is room for; the growth is charged and the caller has to free.
bool pools_drawn(struct draw *w);

// pools_refresh reads every pool of the GPU again. It returns true.
bool pools_refresh(struct device *d);

// pools_trim makes the pools give back what they hold in reserve.
void pools_trim(struct device *d);

// pools_after_fork forgets everything.
void pools_after_fork(void);

#endif
