// SPDX-License-Identifier: Apache-2.0
//
// The limit on a slice's memory, kept by all of its processes together without a
// lock: each announces what it is about to take in its own slot, then looks at
// the sum over all slots, and takes it back when that is too much. Two that race
// see each other, so the sum never passes the limit; a process that dies leaves
// its own slot behind and nothing else.
#ifndef AIPUB_LEDGER_H
#define AIPUB_LEDGER_H

#include "slices.h"

// Bytes of one slice of a GPU that are announced or taken.
struct charge {
    struct slice *slice; // NULL: nothing is charged
    uint64_t bytes;
};

struct sums {
    uint64_t settled; // committed and overhead
    uint64_t pending;
};

// What a charge becomes when the driver has given the memory.
enum account { ACCOUNT_MEMORY, ACCOUNT_MANAGED, ACCOUNT_OVERHEAD };

// ledger_reserve announces bytes in the first slice of the GPU that has room. It
// waits for the outcome of others' announcements, a second at most. On false the
// driver must not be asked: CUDA_ERROR_OUT_OF_MEMORY.
bool ledger_reserve(struct device *d, uint64_t bytes, struct charge *c);

// ledger_commit turns what was announced into actual bytes, which may differ.
void ledger_commit(struct charge *c, uint64_t actual, enum account a);

// ledger_cancel withdraws what was announced.
void ledger_cancel(struct charge *c);

// ledger_release gives back what was committed.
void ledger_release(struct slice *s, uint64_t bytes, enum account a);

// ledger_host counts pinned host memory in the first slice of the GPU.
void ledger_host(struct device *d, int64_t bytes);

// ledger_sums adds up the slots of a slice; a sum that is not possible, because
// somebody wrote nonsense into the page, is UINT64_MAX.
struct sums ledger_sums(const struct slice *s);

// ledger_info returns the limit of the GPU's slices and what is left of it; false
// when memory is not limited.
bool ledger_info(const struct device *d, uint64_t *total, uint64_t *left);

#endif
