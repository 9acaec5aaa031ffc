// SPDX-License-Identifier: Apache-2.0
//
// Gives memory back when the agent asks for it, gently first: what pools hold in
// reserve, then managed memory, which moves to the host and comes back on use.
// To allocate nothing more needs no doing: memory_bytes says it.
#define _GNU_SOURCE
#include "reclaim.h"

#include "book.h"
#include "pools.h"
#include "resolve.h"

struct move {
    struct device *device;
    fn_cuMemPrefetchAsync prefetch;
    fn_cuMemPrefetchAsync_v2 prefetch_to;
};

static void demote(const struct entry *e, void *arg) {
    const struct move *m = arg;
    CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    if (e->device != m->device) return;
    if (m->prefetch_to) m->prefetch_to(e->key, e->bytes, host, 0, NULL);
    else if (m->prefetch) m->prefetch(e->key, e->bytes, CU_DEVICE_CPU, NULL);
}

void reclaim_look(struct device *d) {
    uint32_t asked = AIPUB_RECLAIM_NONE;
    for (unsigned i = 0; i < d->count; i++) {
        uint32_t one = LOAD(d->slices[i]->grant->reclaim);
        if (one > asked) asked = one;
    }
    uint32_t before = d->reclaimed;
    d->reclaimed = asked;
    if (asked <= before) return;
    if (asked >= AIPUB_RECLAIM_TRIM) pools_trim(d);
    if (asked < AIPUB_RECLAIM_DEMOTE) return;
    struct move m = {d, REAL(cuMemPrefetchAsync), REAL(cuMemPrefetchAsync_v2)};
    book_managed(demote, &m);
}
