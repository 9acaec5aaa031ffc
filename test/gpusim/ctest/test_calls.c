// SPDX-License-Identifier: Apache-2.0
//
// What only C can ask: old versions of structs must not be overrun, sessions
// of threads, and names of calls.
#include <pthread.h>
#include <unistd.h>

#include "calls.h"
#include "check.h"
#include "events.h"
#include "lifecycle.h"
#include "process.h"

// Canaries behind the end of version 1 structs survive.
static void old_structs(void) {
    nvmlDevice_t d;
    nvmlPciInfo_t pci;
    nvmlReturn_t on;
    nvmlGpuInstance_t gi;
    nvmlComputeInstance_t ci;
    nvmlComputeInstanceInfo_t info;
    CHECK(nvmlDeviceGetHandleByIndex_v2(0, &d) == NVML_SUCCESS);
    memset(&pci, 0x5a, sizeof pci);
    CHECK(nvmlDeviceGetPciInfo_v2(d, &pci) == NVML_SUCCESS && pci.busId[0] == 0x5a &&
          !strcmp(pci.busIdLegacy, "0000:0A:00.0"));
    CHECK(nvmlDeviceSetMigMode(d, 1, &on) == NVML_SUCCESS && on == NVML_SUCCESS);
    CHECK(nvmlDeviceCreateGpuInstance(d, 19, &gi) == NVML_SUCCESS);
    CHECK(nvmlGpuInstanceCreateComputeInstance(gi, 0, &ci) == NVML_SUCCESS);
    memset(&info, 0x5a, sizeof info);
    CHECK(nvmlComputeInstanceGetInfo(ci, &info) == NVML_SUCCESS && info.placement.size == 0x5a5a5a5a &&
          info.device == d);
    CHECK(nvmlComputeInstanceGetInfo_v2(ci, &info) == NVML_SUCCESS && info.placement.size == 1 && info.device != d);
}

static void versions(void) {
    nvmlDevice_t d;
    nvmlMemory_v2_t mem = {.version = 2};
    nvmlGpuInstanceProfileInfo_v3_t v3 = {.version = NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v3_t, 3)};
    nvmlGpuInstanceProfileInfo_v2_t v2 = {.version = 7};
    CHECK(nvmlDeviceGetHandleByIndex_v2(0, &d) == NVML_SUCCESS);
    CHECK(nvmlDeviceGetMemoryInfo_v2(d, &mem) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    CHECK(nvmlDeviceGetGpuInstanceProfileInfoV(d, 0, &v2) == NVML_ERROR_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetGpuInstanceProfileInfoV(d, 2, (nvmlGpuInstanceProfileInfo_v2_t *)&v3) == NVML_SUCCESS);
    CHECK(v3.id == 9 && v3.sliceCount == 3 && !strcmp(v3.name, "3g.71gb") && v3.multiprocessorCount == 60);
    char small[4];
    CHECK(nvmlDeviceGetName(d, small, sizeof small) == NVML_ERROR_INSUFFICIENT_SIZE);
}

static void *wait_long(void *set) {
    static nvmlEventData_t data;
    return (void *)(intptr_t)nvmlEventSetWait_v2(set, &data, 3600000);
}

// A waiter in another thread returns when the last session ends.
static void shutdown_ends_wait(struct gs_machine *m) {
    nvmlDevice_t d;
    nvmlEventSet_t set;
    pthread_t waiter;
    void *result;
    CHECK(nvmlDeviceGetHandleByIndex_v2(0, &d) == NVML_SUCCESS && nvmlEventSetCreate(&set) == NVML_SUCCESS);
    CHECK(nvmlDeviceRegisterEvents(d, NVML_EVENT_XID, set) == NVML_SUCCESS);
    gs_lock(m);
    m->s->fault[CALL_nvmlEventSetWait_v2].latency_ms = 20; // both orders of wait and shutdown are fine
    gs_unlock(m);
    pthread_create(&waiter, NULL, wait_long, set);
    usleep(1000);
    CHECK(nvmlShutdown() == NVML_SUCCESS);
    pthread_join(waiter, &result);
    CHECK((intptr_t)result == NVML_ERROR_UNINITIALIZED, "%s", gs_return_name((nvmlReturn_t)(intptr_t)result));
}

static void names(void) {
    CHECK(gs_call_matches(CALL_nvmlDeviceGetCount_v2, "DeviceGetCount") &&
          gs_call_matches(CALL_nvmlDeviceGetCount, "DeviceGetCount"));
    CHECK(gs_call_matches(CALL_nvmlDeviceGetCount_v2, "nvmlDeviceGetCount_v2") &&
          !gs_call_matches(CALL_nvmlDeviceGetCount, "nvmlDeviceGetCount_v2"));
    CHECK(!gs_call_matches(CALL_nvmlDeviceGetCpuAffinityWithinScope, "DeviceGetCpuAffinity"));
    CHECK(gs_return_code("IN_USE") == 19 && gs_return_code("NVML_ERROR_IN_USE") == 19 && gs_return_code("19") == 19);
    CHECK(gs_return_code("BUSY") == -1 && gs_return_code("") == -1 && gs_return_code("31") == -1);
}

// A client registered as real ends with its process; a reused pid is another.
static void real_clients(struct gs_machine *m) {
    struct gs_process p = {.pid = (uint32_t)getpid(),
                           .gi = GS_NONE,
                           .ci = GS_NONE,
                           .start_time = gs_process_start_time((uint32_t)getpid())};
    struct gs_gpu *g = &m->s->gpu[1];
    CHECK(p.start_time > 0);
    CHECK(gs_process_add(g, &p) == NVML_SUCCESS && gs_process_count(g, GS_NONE, GS_NONE) == 1);
    p.start_time++;
    CHECK(gs_process_add(g, &p) == NVML_SUCCESS && gs_process_count(g, GS_NONE, GS_NONE) == 0);
    CHECK(gs_process_start_time(4194304) == 0);
}

void test_calls(void) {
    struct gs_machine m = {0};
    make_machine(&m, "[gpu]\nmodel = H200-141\n[gpu]\nmodel = T4\n");
    names();
    real_clients(&m);
    CHECK(nvmlInit_v2() == NVML_SUCCESS);
    CHECK(nvmlInitWithFlags(8) == NVML_ERROR_INVALID_ARGUMENT);
    old_structs();
    versions();
    shutdown_ends_wait(&m);
    drop_machine(&m);
}
