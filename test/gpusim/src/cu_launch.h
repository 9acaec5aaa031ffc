// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_CU_LAUNCH_H
#define GPUSIM_CU_LAUNCH_H

#include "cu.h"

// A kernel launch with its duration read from its parameters, which need not
// outlive the call.
struct cu_launch {
    CUfunction function;
    unsigned grid[3], block[3], shared;
    uint64_t ns;
};

// cu_launch_prepare checks a launch and reads its duration.
CUresult cu_launch_prepare(struct cu_launch *l, void **params, void **extra);

// cu_launch_submit runs it on a stream, or adds it to what the stream captures.
CUresult cu_launch_submit(const struct cu_launch *l, CUstream stream);

#endif
