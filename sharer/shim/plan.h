// SPDX-License-Identifier: Apache-2.0
//
// One allocation on its way through reserve, driver call, and commit or cancel.
#ifndef AIPUB_PLAN_H
#define AIPUB_PLAN_H

#include "book.h"
#include "short.h"
#include "slabs.h"

struct plan {
    struct device *device;
    CUcontext context;
    struct charge charge;
    struct slab *slab;
    uint64_t bytes; // as charged
};

// plan_begin finds the GPU of the calling thread; false: it is not shared, or
// there is no context, and the call is the driver's alone.
bool plan_begin(struct plan *p);

// plan_take reserves for an allocation of the cuMemAlloc class: from 1 MiB on in
// granules of 2 MiB, below that from a slab. False: out of memory.
bool plan_take(struct plan *p, uint64_t bytes);

// plan_reserve reserves exactly so many bytes. False: out of memory.
bool plan_reserve(struct plan *p, uint64_t bytes);

// plan_end commits and enters the allocation into the book when it was made, and
// cancels it when not. It returns result.
int plan_end(struct plan *p, int result, enum kind kind, uint64_t key, enum account a);

// PLAN_CALL asks the driver for what was reserved.
#define PLAN_CALL(plan, call) SHORT_CALL((plan)->device, plan_slice(plan), plan_bytes(plan), call)

// plan_slice and plan_bytes are what short_again is told: a small allocation may
// need a whole slab.
static inline struct slice *plan_slice(const struct plan *p) {
    return p->charge.slice || !p->device || !p->slab ? p->charge.slice : p->device->slices[0];
}

static inline uint64_t plan_bytes(const struct plan *p) {
    return p->slab ? SLAB_BYTES : p->bytes;
}

// plan_free calls what frees, then settles; a free that fails changes nothing.
#define PLAN_FREE(kind, key, call)                                                                                     \
    ({                                                                                                                 \
        struct entry held;                                                                                             \
        bool known = book_take(kind, key, &held);                                                                      \
        int result = call;                                                                                             \
        if (known && result == CUDA_SUCCESS) book_settle(&held);                                                       \
        else if (known) book_add(&held);                                                                               \
        result;                                                                                                        \
    })

// plan_context returns the calling thread's context.
CUcontext plan_context(void);

#endif
