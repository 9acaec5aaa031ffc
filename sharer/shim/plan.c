// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "plan.h"

#include "pools.h"
#include "resolve.h"

CUcontext plan_context(void) {
    int (*get)(CUcontext *) = DRIVER(cuCtxGetCurrent, CUcontext *);
    CUcontext context = NULL;
    return get && get(&context) == CUDA_SUCCESS ? context : NULL;
}

bool plan_begin(struct plan *p) {
    *p = (struct plan){.device = slices_current()};
    if (!p->device) return false;
    p->context = plan_context();
    return true;
}

// What pools gave back since they were last looked at may be enough.
bool plan_reserve(struct plan *p, uint64_t bytes) {
    p->bytes = bytes;
    return ledger_reserve(p->device, bytes, &p->charge) ||
           (pools_refresh(p->device) && ledger_reserve(p->device, bytes, &p->charge));
}

bool plan_take(struct plan *p, uint64_t bytes) {
    if (bytes > UINT64_MAX - SLAB_BYTES) return plan_reserve(p, bytes);
    if (bytes >= SLAB_LIMIT) return plan_reserve(p, (bytes + SLAB_BYTES - 1) & ~(SLAB_BYTES - 1));
    return slabs_take(p->device, p->context, bytes, &p->slab) ||
           (pools_refresh(p->device) && slabs_take(p->device, p->context, bytes, &p->slab));
}

int plan_end(struct plan *p, int result, enum kind kind, uint64_t key, enum account a) {
    if (result != CUDA_SUCCESS) {
        if (p->slab) slabs_give(p->slab);
        ledger_cancel(&p->charge);
        return result;
    }
    ledger_commit(&p->charge, p->bytes, a);
    p->charge.bytes = p->bytes;
    book_add(&(struct entry){.kind = kind,
                             .key = key,
                             .context = p->context,
                             .device = p->device,
                             .held = p->charge,
                             .account = a,
                             .slab = p->slab,
                             .bytes = p->bytes,
                             .references = 1});
    return result;
}
