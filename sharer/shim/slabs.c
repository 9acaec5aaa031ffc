// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "slabs.h"

#include <stdlib.h>

// A slab is in the list while it may be filled further.
struct slab {
    struct device *device;
    CUcontext context;
    struct charge held;
    uint64_t filled;
    unsigned live;
    bool listed;
    struct slab *next;
};

static struct lock lock;
static struct slab *open_slabs;

static struct slab **find(struct device *d, CUcontext context) {
    struct slab **at = &open_slabs;
    while (*at && ((*at)->device != d || (*at)->context != context)) at = &(*at)->next;
    return at;
}

static void unlist(struct slab *slab) {
    struct slab **at = &open_slabs;
    while (*at != slab) at = &(*at)->next;
    *at = slab->next;
    slab->listed = false;
}

// fill puts the allocation into the context's open slab; NULL: it does not fit.
static struct slab *fill(struct device *d, CUcontext context, uint64_t bytes) {
    struct slab *slab = *find(d, context);
    if (slab && slab->filled + bytes > SLAB_BYTES) {
        unlist(slab);
        slab = NULL;
    }
    if (!slab) return NULL;
    slab->filled += bytes;
    slab->live++;
    return slab;
}

static struct slab *open_slab(struct device *d, CUcontext context, uint64_t bytes) {
    struct slab *slab = calloc(1, sizeof *slab);
    if (!slab || !ledger_reserve(d, SLAB_BYTES, &slab->held)) {
        free(slab);
        return NULL;
    }
    ledger_commit(&slab->held, SLAB_BYTES, ACCOUNT_MEMORY);
    slab->device = d;
    slab->context = context;
    slab->filled = bytes;
    slab->live = 1;
    return slab;
}

bool slabs_take(struct device *d, CUcontext context, uint64_t bytes, struct slab **slab) {
    bytes = (bytes + 511) & ~UINT64_C(511);
    lock_take(&lock);
    *slab = fill(d, context, bytes);
    lock_give(&lock);
    if (*slab) return true;
    *slab = open_slab(d, context, bytes); // may wait for others: not under the lock
    if (!*slab) return false;
    lock_take(&lock);
    struct slab *other = *find(d, context);
    if (other) unlist(other);
    (*slab)->next = open_slabs;
    (*slab)->listed = true;
    open_slabs = *slab;
    lock_give(&lock);
    return true;
}

void slabs_give(struct slab *slab) {
    lock_take(&lock);
    bool last = --slab->live == 0;
    if (last && slab->listed) unlist(slab);
    lock_give(&lock);
    if (!last) return;
    ledger_release(slab->held.slice, SLAB_BYTES, ACCOUNT_MEMORY);
    free(slab);
}

void slabs_after_fork(void) {
    lock = (struct lock){0};
    open_slabs = NULL;
}
