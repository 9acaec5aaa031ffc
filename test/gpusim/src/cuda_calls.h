// SPDX-License-Identifier: Apache-2.0
//
// The one list of the simulated CUDA driver API. It generates the prototypes,
// the per-thread-stream twins, the table behind cuGetProcAddress, the version
// script of each driver version's library, and the whole no-op driver.
// A listed call that is not written fails to link.
//
//   X(symbol, base, since, until, twin, params, args)
//
// base: the name that cuGetProcAddress is asked for; the newest symbol of a
// base that is not newer than the asked version answers. since: the CUDA
// version that introduced this form. until: the first version without it, 0 if
// it is still there. twin: NO, or PTDS or PTSZ for calls with a second form
// that takes stream 0 as the thread's own default stream (since CUDA 7.0).
#ifndef GPUSIM_CUDA_CALLS_H
#define GPUSIM_CUDA_CALLS_H

#include "cuda_abi.h"
#include "cuda_calls_core.h"
#include "cuda_calls_graphs.h"
#include "cuda_calls_memory.h"
#include "cuda_calls_refused.h"

#define CUDA_CALLS(X)    \
    CUDA_CALLS_CORE(X)   \
    CUDA_CALLS_MEMORY(X) \
    CUDA_CALLS_GRAPHS(X) \
    CUDA_CALLS_REFUSED(X)

#pragma GCC visibility push(default)
#define GS_DECLARE(symbol, base, since, until, twin, params, args) CUresult symbol params;
CUDA_CALLS(GS_DECLARE)
#undef GS_DECLARE

// GS_TWIN_PTSZ(X, symbol, ...) is X for the twin's symbol; GS_TWIN_NO nothing.
#define GS_TWIN_NO(X, symbol, base, since, params, args)
#define GS_TWIN_PTDS(X, symbol, base, since, params, args) X(symbol##_ptds, symbol, base, since, params, args)
#define GS_TWIN_PTSZ(X, symbol, base, since, params, args) X(symbol##_ptsz, symbol, base, since, params, args)

#define GS_DECLARE_TWIN(twin, symbol, base, since, params, args) CUresult twin params;
#define GS_DECLARE(symbol, base, since, until, twin, params, args) \
    GS_TWIN_##twin(GS_DECLARE_TWIN, symbol, base, since, params, args)
CUDA_CALLS(GS_DECLARE)
#undef GS_DECLARE
#undef GS_DECLARE_TWIN
#pragma GCC visibility pop

#endif
