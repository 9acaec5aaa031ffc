// SPDX-License-Identifier: Apache-2.0
//
// Small allocations as the driver serves them: from blocks of 2 MiB that belong
// to a context. They are counted by filling such slabs one after the other, so
// that no hole is ever used twice, which the driver may do.
#ifndef AIPUB_SLABS_H
#define AIPUB_SLABS_H

#include "ledger.h"

#define SLAB_BYTES (UINT64_C(2) << 20)
#define SLAB_LIMIT (UINT64_C(1) << 20) // from here on allocations have blocks of their own

struct slab;

// slabs_take charges a small allocation in that context; false: no room.
bool slabs_take(struct device *d, CUcontext context, uint64_t bytes, struct slab **slab);

// slabs_give ends one allocation; the slab goes with its last one.
void slabs_give(struct slab *slab);

// slabs_after_fork forgets everything.
void slabs_after_fork(void);

#endif
