// SPDX-License-Identifier: Apache-2.0
//
// Calls about the driver and the machine as a whole.
#include <stdio.h>
#include <string.h>

#include "nvml_session.h"

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    NVML_ENTER(nvmlSystemGetDriverVersion);
    return gs_copy_string(version, length, call.s->machine.driver_version);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    NVML_ENTER(nvmlSystemGetNVMLVersion);
    return gs_copy_string(version, length, call.s->machine.nvml_version);
}

static nvmlReturn_t cuda_version(const struct gs_call *c, int *version) {
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    *version = (int)c->s->machine.cuda_version;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
    NVML_ENTER(nvmlSystemGetCudaDriverVersion);
    return cuda_version(&call, version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    NVML_ENTER(nvmlSystemGetCudaDriverVersion_v2);
    return cuda_version(&call, version);
}

nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_v1_t *info, unsigned int length) {
    NVML_ENTER(nvmlSystemGetDriverBranch);
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != NVML_VERSION_OF(nvmlSystemDriverBranchInfo_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    char branch[40];
    const char *v = call.s->machine.driver_version;
    snprintf(branch, sizeof branch, "r%.*s_00", (int)strcspn(v, "."), v);
    return gs_copy_string(info->branch, length < sizeof info->branch ? length : sizeof info->branch, branch);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    NVML_ENTER(nvmlSystemGetProcessName);
    if (!name || !length) return NVML_ERROR_INVALID_ARGUMENT;
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f) return NVML_ERROR_NOT_FOUND;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n && text[n - 1] == '\n' ? n - 1 : n] = 0;
    snprintf(name, length, "%s", text); // cut to the buffer, as documented
    return NVML_SUCCESS;
}

// Confidential computing is off and the CPU has none.
nvmlReturn_t nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t *caps) {
    NVML_ENTER(nvmlSystemGetConfComputeCapabilities);
    if (!caps) return NVML_ERROR_INVALID_ARGUMENT;
    *caps = (nvmlConfComputeSystemCaps_t){0};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
    NVML_ENTER(nvmlSystemGetConfComputeState);
    if (!state) return NVML_ERROR_INVALID_ARGUMENT;
    *state = (nvmlConfComputeSystemState_t){0};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_v1_t *settings) {
    NVML_ENTER(nvmlSystemGetConfComputeSettings);
    if (!settings) return NVML_ERROR_INVALID_ARGUMENT;
    if (settings->version != NVML_VERSION_OF(nvmlSystemConfComputeSettings_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *settings = (nvmlSystemConfComputeSettings_v1_t){.version = settings->version};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned int *accepting) {
    NVML_ENTER(nvmlSystemGetConfComputeGpusReadyState);
    return accepting ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *count) {
    NVML_ENTER(nvmlGetExcludedDeviceCount);
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result) {
    static const char *const text[] = {"Success",
                                       "Uninitialized",
                                       "Invalid Argument",
                                       "Not Supported",
                                       "Insufficient Permissions",
                                       "Already Initialized",
                                       "Not Found",
                                       "Insufficient Size",
                                       "Insufficient External Power",
                                       "Driver Not Loaded",
                                       "Timeout",
                                       "Interrupt Request Issue",
                                       "NVML Shared Library Not Found",
                                       "Function Not Found",
                                       "Corrupted infoROM",
                                       "GPU is lost",
                                       "GPU requires reset",
                                       "Operating System Blocked Request",
                                       "Driver/library version mismatch",
                                       "In use by another client",
                                       "Insufficient Memory",
                                       "No data",
                                       "ECC not supported on vGPU",
                                       "Insufficient Resources",
                                       "Frequency not supported",
                                       "Argument version mismatch",
                                       "Deprecated",
                                       "Not Ready",
                                       "GPU not found",
                                       "Invalid state",
                                       "Reset type not supported"};
    return result >= 0 && result < (int)(sizeof text / sizeof *text) ? text[result] : "Unknown Error";
}
