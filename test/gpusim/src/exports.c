// SPDX-License-Identifier: Apache-2.0
//
// One reference to every listed call: a call that is listed and not written
// fails to link.
#include "nvml_calls.h"

__attribute__((used)) static void (*const exports[])(void) = {
#define X(name, params) (void (*)(void)) name,
    NVML_CALLS(X)
#undef X
};
