// SPDX-License-Identifier: Apache-2.0
//
// The address ranges of this process, and where new ones come from. Device
// addresses are numbers: nothing is mapped there, and contents of device
// memory are not modelled. Managed and host memory is real memory.
#include <search.h>
#include <stdlib.h>

#include "cu.h"

enum { RECENT = 64 };

// Freed addresses are given out again at once, as the real allocator does;
// who keeps stale tables is caught by it.
static struct {
    CUdeviceptr base;
    uint64_t size;
} recent[RECENT];
static unsigned oldest;

static int compare(const void *a, const void *b) {
    const struct cu_range *x = a, *y = b;
    if (x->base + (x->size ? x->size : 1) <= y->base) return -1;
    return y->base + (y->size ? y->size : 1) <= x->base;
}

uint64_t cu_round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}

struct cu_range *cu_range_at(CUdeviceptr p) {
    struct cu_range key = {.base = p, .size = 1};
    struct cu_range **found = tfind(&key, &cu.ranges, compare);
    return found ? *found : NULL;
}

struct cu_range *cu_range_new(CUdeviceptr base, uint64_t size, enum cu_memory memory, CUcontext ctx) {
    struct cu_range *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (struct cu_range){.base = base, .size = size, .memory = memory, .ctx = ctx, .id = cu_id()};
    struct cu_range **at = tsearch(r, &cu.ranges, compare);
    if (at && *at == r) return r;
    free(r); // it overlaps another
    return NULL;
}

void cu_range_drop(struct cu_range *r) {
    tdelete(r, &cu.ranges, compare);
    free(r);
}

CUdeviceptr cu_addresses(uint64_t size, uint64_t alignment) {
    for (unsigned i = 0; i < RECENT; i++)
        if (recent[i].size == size && recent[i].base % alignment == 0) {
            recent[i].size = 0;
            return recent[i].base;
        }
    CUdeviceptr base = cu_round_up(cu.next_address, alignment);
    cu.next_address = base + size;
    return base;
}

void cu_addresses_free(CUdeviceptr base, uint64_t size) {
    recent[oldest].base = base, recent[oldest].size = size;
    oldest = (oldest + 1) % RECENT;
}
