// SPDX-License-Identifier: Apache-2.0
//
// Which symbol a base name means, as cuGetProcAddress answers.
#ifndef GPUSIM_CU_SYMBOLS_H
#define GPUSIM_CU_SYMBOLS_H

#include <stdbool.h>

#include "cuda_calls.h"

// gs_cuda_symbol returns the newest form of `base` that neither the driver's
// nor the asked version lacks, the per-thread twin where there is one and it
// is wanted; NULL if none. *exists becomes true when the driver has any form.
void *gs_cuda_symbol(const char *base, int version, int driver, bool per_thread, bool *exists);

#endif
