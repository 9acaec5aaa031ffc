// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, params) #name,
    NVML_CALLS(X)
#undef X
};

const char *gs_call_name(int call) {
    return names[call];
}

bool gs_call_matches(int call, const char *pattern) {
    const char *name = names[call];
    if (!strcmp(name, pattern)) return true;
    name += strlen("nvml");
    size_t n = strlen(pattern);
    if (strncmp(name, pattern, n)) return false;
    const char *rest = name + n;
    return !*rest || (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9' && !rest[3]);
}

static const struct {
    nvmlReturn_t code;
    const char *name;
} codes[] = {
    {NVML_SUCCESS, "SUCCESS"},
    {NVML_ERROR_UNINITIALIZED, "UNINITIALIZED"},
    {NVML_ERROR_INVALID_ARGUMENT, "INVALID_ARGUMENT"},
    {NVML_ERROR_NOT_SUPPORTED, "NOT_SUPPORTED"},
    {NVML_ERROR_NO_PERMISSION, "NO_PERMISSION"},
    {NVML_ERROR_ALREADY_INITIALIZED, "ALREADY_INITIALIZED"},
    {NVML_ERROR_NOT_FOUND, "NOT_FOUND"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE"},
    {NVML_ERROR_INSUFFICIENT_POWER, "INSUFFICIENT_POWER"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED"},
    {NVML_ERROR_TIMEOUT, "TIMEOUT"},
    {NVML_ERROR_IRQ_ISSUE, "IRQ_ISSUE"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND"},
    {NVML_ERROR_CORRUPTED_INFOROM, "CORRUPTED_INFOROM"},
    {NVML_ERROR_GPU_IS_LOST, "GPU_IS_LOST"},
    {NVML_ERROR_RESET_REQUIRED, "RESET_REQUIRED"},
    {NVML_ERROR_OPERATING_SYSTEM, "OPERATING_SYSTEM"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH"},
    {NVML_ERROR_IN_USE, "IN_USE"},
    {NVML_ERROR_MEMORY, "MEMORY"},
    {NVML_ERROR_NO_DATA, "NO_DATA"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "INSUFFICIENT_RESOURCES"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "ARGUMENT_VERSION_MISMATCH"},
    {NVML_ERROR_DEPRECATED, "DEPRECATED"},
    {NVML_ERROR_NOT_READY, "NOT_READY"},
    {NVML_ERROR_GPU_NOT_FOUND, "GPU_NOT_FOUND"},
    {NVML_ERROR_INVALID_STATE, "INVALID_STATE"},
    {NVML_ERROR_UNKNOWN, "UNKNOWN"},
};

enum { CODES = sizeof codes / sizeof *codes };

nvmlReturn_t gs_return_code(const char *text) {
    if (!strncmp(text, "NVML_", 5)) text += 5;
    if (!strncmp(text, "ERROR_", 6)) text += 6;
    char *end;
    long n = strtol(text, &end, 10);
    for (int i = 0; i < CODES; i++)
        if (!strcmp(codes[i].name, text) || (*text && !*end && codes[i].code == n)) return codes[i].code;
    return -1;
}

const char *gs_return_name(nvmlReturn_t code) {
    for (int i = 0; i < CODES; i++)
        if (codes[i].code == code) return codes[i].name;
    return "?";
}
