// SPDX-License-Identifier: Apache-2.0
//
// A program is attached when it could take something of the slice, not before.
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client.h"

static bool attached(void) {
    struct aipub_page *page = page_of("a");
    for (unsigned i = 0; page && i < AIPUB_SLOTS; i++)
        if (page->slot[i].owner == (uint64_t)getpid()) return true;
    return false;
}

// first makes the call that is named; it is the first that needs the slice.
static int first(const char *call) {
    CUcontext context;
    CUgreenCtx green;
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAllocationProp prop = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    uint64_t handle;
    size_t total;
    if (strcmp(call, "total") == 0) {
        int result = CALL(cuDeviceTotalMem_v2, &total, 0);
        CHECK(result || total == 1024 * MIB, "total %zu", total);
        return result;
    }
    if (strcmp(call, "create") == 0) {
        int result = CALL(cuMemCreate, &handle, 4 * MIB, &prop, 0ULL);
        CHECK(result || my_slot()->committed_bytes == 4 * MIB);
        if (result == 0) CHECK(CALL(cuMemCreate, &handle, 2048 * MIB, &prop, 0ULL) == CUDA_ERROR_OUT_OF_MEMORY);
        return result;
    }
    if (strcmp(call, "pool") == 0) return CALL(cuMemPoolCreate, &pool, &props);
    if (strcmp(call, "green") == 0) return CALL(cuGreenCtxCreate, &green, NULL, 0, 1);
    if (strcmp(call, "context") == 0) return CALL(cuCtxCreate_v2, &context, 0, 0);
    return CALL(cuDevicePrimaryCtxRetain, &context, 0);
}

// client_lazy ends with 42 when the call is refused for the slices.
int client_lazy(const char *call) {
    if (strcmp(call, "early") == 0) {
        int early = CALL(cuMemCreate, NULL, MIB, NULL, 0ULL);
        if (early != CUDA_ERROR_SYSTEM_NOT_READY) CHECK(early == 3, "not initialised, says the driver: %d", early);
        call = "create";
    } else {
        look_up("cuMemCreate");
        CHECK(!attached(), "nothing was called");
    }
    bool was = attached();
    OK(cuInit, 0);
    OK(cuDeviceGetCount, &(int){0});
    CHECK(attached() == was, "cuInit takes no slot");
    int result = first(call);
    if (result == CUDA_ERROR_SYSTEM_NOT_READY) return 42;
    CHECK(attached(), "%s: %d", call, result);
    return 0;
}

// client_crowded has no file descriptor left when it needs one for the slices.
int client_crowded(void) {
    CUcontext context;
    struct rlimit none = {0, 0};
    OK(cuInit, 0);
    look_up("cuDevicePrimaryCtxRetain");
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    return CALL(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_ERROR_SYSTEM_NOT_READY ? 42 : 0;
}
