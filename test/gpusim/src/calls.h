// SPDX-License-Identifier: Apache-2.0
//
// Names of the exported calls and of NVML's return codes, for the tool.
#ifndef GPUSIM_CALLS_H
#define GPUSIM_CALLS_H

#include <stdbool.h>

#include "nvml_calls.h"

const char *gs_call_name(int call);

// gs_call_matches: `pattern` is the exact name, or the name without "nvml"
// and without version suffix, which then means every version of the call.
bool gs_call_matches(int call, const char *pattern);

// gs_return_code reads "IN_USE", "ERROR_IN_USE", "NVML_ERROR_IN_USE" or a
// number; -1 when it is none of NVML's. gs_return_name is the short name.
nvmlReturn_t gs_return_code(const char *text);
const char *gs_return_name(nvmlReturn_t code);

#endif
