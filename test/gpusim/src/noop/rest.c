// SPDX-License-Identifier: Apache-2.0
//
// Every call of the list, weak: those of answers.c take the place of these.
#include "cuda_calls.h"
#include "noop/calls.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define TWIN(twin, symbol, base, since, params, args)  \
    CUresult twin params __attribute__((weak));        \
    CUresult twin params {                             \
        return symbol args;                            \
    }
#define X(symbol, base, since, until, twin, params, args) \
    CUresult symbol params __attribute__((weak));         \
    CUresult symbol params {                              \
        noop_calls++;                                     \
        return CUDA_SUCCESS;                              \
    }                                                     \
    GS_TWIN_##twin(TWIN, symbol, base, since, params, args)
CUDA_CALLS(X)
