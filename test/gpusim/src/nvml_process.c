// SPDX-License-Identifier: Apache-2.0
//
// Who runs on a device. A GPU handle sees every client, a MIG device handle
// the clients of its compute instance.
#include <string.h>
#include <sys/time.h>

#include "clients.h"
#include "nvml_session.h"
#include "process.h"

static bool visible(const struct gs_target *t, const struct gs_process *p) {
    return t->ci ? gs_process_matches(p, t->gi->id, t->ci->id) : gs_process_matches(p, GS_NONE, GS_NONE);
}

// pid_of: a CUDA client's pid is told as the asking process sees it.
static uint32_t pid_of(const struct gs_target *t, const struct gs_process *p) {
    return p->client ? gs_client_pid(t->machine, p->client - 1) : p->pid;
}

// list calls put(out, n, process) for each visible client of this kind.
// INSUFFICIENT_SIZE reports the needed count, as the NULL query does.
static nvmlReturn_t list(const struct gs_target *t, enum gs_process_kind kind, unsigned int *count, void *out,
                         void (*put)(void *out, unsigned n, const struct gs_process *p, uint32_t pid)) {
    unsigned found = 0, room = count ? *count : 0;
    if (!count || (room && !out)) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &t->gpu->v.process[i];
        if (p->kind != kind || !visible(t, p)) continue;
        if (found < room) put(out, found, p, pid_of(t, p));
        found++;
    }
    *count = found;
    return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static void put_v1(void *out, unsigned n, const struct gs_process *p, uint32_t pid) {
    ((nvmlProcessInfo_v1_t *)out)[n] = (nvmlProcessInfo_v1_t){.pid = pid, .usedGpuMemory = p->memory};
}

static void put_v2(void *out, unsigned n, const struct gs_process *p, uint32_t pid) {
    ((nvmlProcessInfo_t *)out)[n] = (nvmlProcessInfo_t){
        .pid = pid, .usedGpuMemory = p->memory, .gpuInstanceId = p->gi, .computeInstanceId = p->ci};
}

#define LIST_CALL(name, kind, type, put)                                       \
    nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) { \
        NVML_DEVICE(name, device);                                             \
        return list(&t, kind, count, infos, put);                              \
    }

LIST_CALL(nvmlDeviceGetComputeRunningProcesses, GS_COMPUTE, nvmlProcessInfo_v1_t, put_v1)
LIST_CALL(nvmlDeviceGetComputeRunningProcesses_v2, GS_COMPUTE, nvmlProcessInfo_t, put_v2)
LIST_CALL(nvmlDeviceGetComputeRunningProcesses_v3, GS_COMPUTE, nvmlProcessInfo_t, put_v2)
LIST_CALL(nvmlDeviceGetGraphicsRunningProcesses, GS_GRAPHICS, nvmlProcessInfo_v1_t, put_v1)
LIST_CALL(nvmlDeviceGetGraphicsRunningProcesses_v2, GS_GRAPHICS, nvmlProcessInfo_t, put_v2)
LIST_CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, GS_GRAPHICS, nvmlProcessInfo_t, put_v2)
LIST_CALL(nvmlDeviceGetMPSComputeRunningProcesses, GS_MPS, nvmlProcessInfo_v1_t, put_v1)
LIST_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v2, GS_MPS, nvmlProcessInfo_t, put_v2)
LIST_CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, GS_MPS, nvmlProcessInfo_t, put_v2)

// Samples are one per client, taken now. They exist on whole GPUs only.
static nvmlReturn_t sample_now(const struct gs_target *t, unsigned long long last_seen, unsigned long long *now) {
    struct timeval tv;
    if (t->gi || t->gpu->v.mig_mode) return NVML_ERROR_NOT_SUPPORTED;
    gettimeofday(&tv, NULL);
    *now = (unsigned long long)tv.tv_sec * 1000000 + (unsigned long long)tv.tv_usec;
    if (*now <= last_seen || !gs_process_count(t->gpu, GS_NONE, GS_NONE)) return NVML_ERROR_NOT_FOUND;
    return NVML_SUCCESS;
}

static unsigned mem_percent(const struct gs_target *t, const struct gs_process *p) {
    return (unsigned)(p->memory * 100 / ((unsigned long long)t->gpu->spec.memory_mib << 20));
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
                                             unsigned int *count, unsigned long long last_seen) {
    NVML_DEVICE(nvmlDeviceGetProcessUtilization, device);
    unsigned long long now = 0;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(sample_now(&t, last_seen, &now));
    unsigned n = 0, room = samples ? *count : 0;
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &t.gpu->v.process[i];
        if (!visible(&t, p)) continue;
        if (n < room)
            samples[n] = (nvmlProcessUtilizationSample_t){
                .pid = pid_of(&t, p), .timeStamp = now, .smUtil = p->sm_percent, .memUtil = mem_percent(&t, p)};
        n++;
    }
    *count = n;
    return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t *info) {
    NVML_DEVICE(nvmlDeviceGetProcessesUtilizationInfo, device);
    unsigned long long now = 0;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != NVML_VERSION_OF(nvmlProcessesUtilizationInfo_v1_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NVML_TRY(sample_now(&t, info->lastSeenTimeStamp, &now));
    unsigned n = 0, room = info->procUtilArray ? info->processSamplesCount : 0;
    for (int i = 0; i < GS_MAX_PROCESSES; i++) {
        const struct gs_process *p = &t.gpu->v.process[i];
        if (!visible(&t, p)) continue;
        if (n < room)
            info->procUtilArray[n] = (nvmlProcessUtilizationInfo_v1_t){
                .timeStamp = now, .pid = pid_of(&t, p), .smUtil = p->sm_percent, .memUtil = mem_percent(&t, p)};
        n++;
    }
    info->processSamplesCount = n;
    return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
