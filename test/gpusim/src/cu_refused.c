// SPDX-License-Identifier: Apache-2.0
//
// Calls that exist to be found, as the list says.
#include "cuda_calls.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define X(symbol, base, since, until, twin, params, args) \
    CUresult symbol params {                              \
        return CUDA_ERROR_NOT_SUPPORTED;                  \
    }
CUDA_CALLS_REFUSED(X)
