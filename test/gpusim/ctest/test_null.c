// SPDX-License-Identifier: Apache-2.0
//
// No exported call may crash on NULL, zero or a handle that is none of ours.
// Calls are made through the generated list with five pointer arguments; the
// ABI ignores those that a call does not take.
#include "calls.h"
#include "check.h"

typedef nvmlReturn_t any_call(void *, void *, void *, void *, void *);

static any_call *const calls[] = {
#define X(name, params) (any_call *)(void (*)(void))name,
    NVML_CALLS(X)
#undef X
};

// Calls that only fill what they are given accept our buffer.
static int takes_buffer(int i) {
    const char *name = gs_call_name(i);
    return !strncmp(name, "nvmlSystem", 10) || strstr(name, "Count") || i == CALL_nvmlEventSetCreate;
}

void test_null(void) {
    struct gs_machine m = {0};
    char zero[256] = {0};
    make_machine(&m, "[gpu]\nmodel = H200-141\n");
    for (int i = 0; i < NVML_CALL_COUNT; i++) {
        if (i <= CALL_nvmlInitWithFlags) continue;
        CHECK(calls[i](NULL, NULL, NULL, NULL, NULL) == NVML_ERROR_UNINITIALIZED, "%s before nvmlInit",
              gs_call_name(i));
    }
    CHECK(nvmlInit_v2() == NVML_SUCCESS);
    for (int i = 0; i < NVML_CALL_COUNT; i++) {
        if (i <= CALL_nvmlInitWithFlags || i == CALL_nvmlShutdown) continue;
        CHECK(calls[i](NULL, NULL, NULL, NULL, NULL) != NVML_SUCCESS, "%s took NULL", gs_call_name(i));
        nvmlReturn_t r = calls[i](zero + 128, NULL, NULL, NULL, NULL);
        CHECK(r != NVML_SUCCESS || takes_buffer(i), "%s took a handle that is not ours: %s", gs_call_name(i),
              gs_return_name(r));
    }
    CHECK(nvmlShutdown() == NVML_SUCCESS && nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
    drop_machine(&m);
}
