// SPDX-License-Identifier: Apache-2.0
//
// The one list of exported NVML calls. It generates the prototypes, the enum
// of call numbers, the names that `gpusim fail` and `gpusim latency` accept,
// and the table that makes a listed but unwritten call a link error.
// A call of NVML that is not listed is not exported: callers see
// FUNCTION_NOT_FOUND, as with an old driver.
#ifndef GPUSIM_NVML_CALLS_H
#define GPUSIM_NVML_CALLS_H

#include "nvml_abi.h"

// clang-format off
#define NVML_CALLS(X)                                                                                      \
    /* library */                                                                                          \
    X(nvmlInit, (void))                                                                                    \
    X(nvmlInit_v2, (void))                                                                                 \
    X(nvmlInitWithFlags, (unsigned int flags))                                                             \
    X(nvmlShutdown, (void))                                                                                \
    /* system */                                                                                           \
    X(nvmlSystemGetDriverVersion, (char *version, unsigned int length))                                    \
    X(nvmlSystemGetNVMLVersion, (char *version, unsigned int length))                                      \
    X(nvmlSystemGetCudaDriverVersion, (int *version))                                                      \
    X(nvmlSystemGetCudaDriverVersion_v2, (int *version))                                                   \
    X(nvmlSystemGetDriverBranch, (nvmlSystemDriverBranchInfo_v1_t * info, unsigned int length))            \
    X(nvmlSystemGetProcessName, (unsigned int pid, char *name, unsigned int length))                       \
    X(nvmlSystemGetConfComputeCapabilities, (nvmlConfComputeSystemCaps_t * caps))                          \
    X(nvmlSystemGetConfComputeState, (nvmlConfComputeSystemState_t * state))                               \
    X(nvmlSystemGetConfComputeSettings, (nvmlSystemConfComputeSettings_v1_t * settings))                   \
    X(nvmlSystemGetConfComputeGpusReadyState, (unsigned int *accepting))                                   \
    X(nvmlGetExcludedDeviceCount, (unsigned int *count))                                                   \
    /* handles */                                                                                          \
    X(nvmlDeviceGetCount, (unsigned int *count))                                                           \
    X(nvmlDeviceGetCount_v2, (unsigned int *count))                                                        \
    X(nvmlDeviceGetHandleByIndex, (unsigned int index, nvmlDevice_t *device))                              \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device))                           \
    X(nvmlDeviceGetHandleBySerial, (const char *serial, nvmlDevice_t *device))                             \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device))                                 \
    X(nvmlDeviceGetHandleByUUIDV, (const nvmlUUID_v1_t *uuid, nvmlDevice_t *device))                       \
    X(nvmlDeviceGetHandleByPciBusId, (const char *bus_id, nvmlDevice_t *device))                           \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, nvmlDevice_t *device))                        \
    /* identity */                                                                                         \
    X(nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned int length))                           \
    X(nvmlDeviceGetBrand, (nvmlDevice_t device, int *brand))                                               \
    X(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned int *index))                                      \
    X(nvmlDeviceGetSerial, (nvmlDevice_t device, char *serial, unsigned int length))                       \
    X(nvmlDeviceGetUUID, (nvmlDevice_t device, char *uuid, unsigned int length))                           \
    X(nvmlDeviceGetMinorNumber, (nvmlDevice_t device, unsigned int *minor))                                \
    X(nvmlDeviceGetModuleId, (nvmlDevice_t device, unsigned int *module))                                  \
    X(nvmlDeviceGetBoardId, (nvmlDevice_t device, unsigned int *board))                                    \
    X(nvmlDeviceGetBoardPartNumber, (nvmlDevice_t device, char *part, unsigned int length))                \
    X(nvmlDeviceGetMultiGpuBoard, (nvmlDevice_t device, unsigned int *multi))                              \
    X(nvmlDeviceGetVbiosVersion, (nvmlDevice_t device, char *version, unsigned int length))                \
    X(nvmlDeviceGetInforomImageVersion, (nvmlDevice_t device, char *version, unsigned int length))         \
    X(nvmlDeviceGetPciInfo, (nvmlDevice_t device, nvmlPciInfo_t *pci))                                     \
    X(nvmlDeviceGetPciInfo_v2, (nvmlDevice_t device, nvmlPciInfo_t *pci))                                  \
    X(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t *pci))                                  \
    X(nvmlDeviceGetPciInfoExt, (nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci))                            \
    X(nvmlDeviceGetArchitecture, (nvmlDevice_t device, unsigned int *arch))                                \
    X(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor))                   \
    X(nvmlDeviceGetNumGpuCores, (nvmlDevice_t device, unsigned int *cores))                                \
    X(nvmlDeviceGetAddressingMode, (nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode))             \
    X(nvmlDeviceGetVirtualizationMode, (nvmlDevice_t device, int *mode))                                   \
    X(nvmlDeviceGetPersistenceMode, (nvmlDevice_t device, int *mode))                                      \
    X(nvmlDeviceGetComputeMode, (nvmlDevice_t device, int *mode))                                          \
    X(nvmlDeviceGetDisplayActive, (nvmlDevice_t device, int *active))                                      \
    X(nvmlDeviceGetDisplayMode, (nvmlDevice_t device, int *mode))                                          \
    /* memory, load, sensors */                                                                            \
    X(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t *memory))                                \
    X(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t device, nvmlMemory_v2_t *memory))                          \
    X(nvmlDeviceGetBAR1MemoryInfo, (nvmlDevice_t device, nvmlBAR1Memory_t *memory))                        \
    X(nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, nvmlUtilization_t *utilization))                \
    X(nvmlDeviceGetEncoderUtilization, (nvmlDevice_t device, unsigned int *value, unsigned int *period))   \
    X(nvmlDeviceGetDecoderUtilization, (nvmlDevice_t device, unsigned int *value, unsigned int *period))   \
    X(nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned int *celsius))                  \
    X(nvmlDeviceGetTemperatureV, (nvmlDevice_t device, nvmlTemperature_v1_t *temperature))                 \
    X(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned int *milliwatt))                             \
    X(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *milliwatt))                     \
    X(nvmlDeviceGetPowerManagementLimit, (nvmlDevice_t device, unsigned int *milliwatt))                   \
    X(nvmlDeviceGetTotalEnergyConsumption, (nvmlDevice_t device, unsigned long long *millijoule))          \
    X(nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned int *mhz))                          \
    X(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned int *mhz))                       \
    X(nvmlDeviceGetPerformanceState, (nvmlDevice_t device, int *pstate))                                   \
    X(nvmlDeviceGetEccMode, (nvmlDevice_t device, int *current, int *pending))                             \
    X(nvmlDeviceGetTotalEccErrors, (nvmlDevice_t device, int type, int counter, unsigned long long *n))    \
    X(nvmlDeviceGetRemappedRows, (nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected, \
                                  unsigned int *pending, unsigned int *failed))                            \
    X(nvmlDeviceGetFieldValues, (nvmlDevice_t device, int count, nvmlFieldValue_t *values))                \
    X(nvmlGpmQueryDeviceSupport, (nvmlDevice_t device, nvmlGpmSupport_t *support))                         \
    /* processes */                                                                                        \
    X(nvmlDeviceGetComputeRunningProcesses,                                                                \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos))                             \
    X(nvmlDeviceGetComputeRunningProcesses_v2,                                                             \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetComputeRunningProcesses_v3,                                                             \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetGraphicsRunningProcesses,                                                               \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos))                             \
    X(nvmlDeviceGetGraphicsRunningProcesses_v2,                                                            \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3,                                                            \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetMPSComputeRunningProcesses,                                                             \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos))                             \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v2,                                                          \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v3,                                                          \
      (nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos))                                \
    X(nvmlDeviceGetProcessUtilization, (nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,      \
                                        unsigned int *count, unsigned long long last_seen))                \
    X(nvmlDeviceGetProcessesUtilizationInfo,                                                               \
      (nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t *info))                                      \
    /* events */                                                                                           \
    X(nvmlEventSetCreate, (nvmlEventSet_t * set))                                                          \
    X(nvmlEventSetFree, (nvmlEventSet_t set))                                                              \
    X(nvmlDeviceRegisterEvents, (nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set))       \
    X(nvmlDeviceGetSupportedEventTypes, (nvmlDevice_t device, unsigned long long *types))                  \
    X(nvmlEventSetWait, (nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms))              \
    X(nvmlEventSetWait_v2, (nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms))           \
    /* topology */                                                                                         \
    X(nvmlDeviceGetTopologyCommonAncestor, (nvmlDevice_t a, nvmlDevice_t b, int *level))                   \
    X(nvmlDeviceGetTopologyNearestGpus,                                                                    \
      (nvmlDevice_t device, int level, unsigned int *count, nvmlDevice_t *devices))                        \
    X(nvmlDeviceGetP2PStatus, (nvmlDevice_t a, nvmlDevice_t b, int index, int *status))                    \
    X(nvmlDeviceOnSameBoard, (nvmlDevice_t a, nvmlDevice_t b, int *same))                                  \
    X(nvmlDeviceGetNumaNodeId, (nvmlDevice_t device, unsigned int *node))                                  \
    X(nvmlDeviceGetMemoryAffinity,                                                                         \
      (nvmlDevice_t device, unsigned int words, unsigned long *nodes, unsigned int scope))                 \
    X(nvmlDeviceGetCpuAffinity, (nvmlDevice_t device, unsigned int words, unsigned long *cpus))            \
    X(nvmlDeviceGetCpuAffinityWithinScope,                                                                 \
      (nvmlDevice_t device, unsigned int words, unsigned long *cpus, unsigned int scope))                  \
    X(nvmlDeviceGetNvLinkState, (nvmlDevice_t device, unsigned int link, int *active))                     \
    X(nvmlDeviceGetNvLinkVersion, (nvmlDevice_t device, unsigned int link, unsigned int *version))         \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (nvmlDevice_t device, unsigned int link, int *type))            \
    X(nvmlDeviceGetNvLinkRemotePciInfo, (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci))      \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci))   \
    X(nvmlDeviceGetGpuFabricInfo, (nvmlDevice_t device, nvmlGpuFabricInfo_t *info))                        \
    X(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info))                    \
    /* MIG mode and GPU instances */                                                                       \
    X(nvmlDeviceSetMigMode, (nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation))            \
    X(nvmlDeviceGetMigMode, (nvmlDevice_t device, unsigned int *current, unsigned int *pending))           \
    X(nvmlDeviceGetGpuInstanceProfileInfo,                                                                 \
      (nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info))                     \
    X(nvmlDeviceGetGpuInstanceProfileInfoV,                                                                \
      (nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_v2_t *info))                  \
    X(nvmlDeviceGetGpuInstanceProfileInfoByIdV,                                                            \
      (nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstanceProfileInfo_v2_t *info))               \
    X(nvmlDeviceGetGpuInstancePossiblePlacements,                                                          \
      (nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstancePlacement_t *placements,               \
       unsigned int *count))                                                                               \
    X(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                                       \
      (nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstancePlacement_t *placements,               \
       unsigned int *count))                                                                               \
    X(nvmlDeviceGetGpuInstanceRemainingCapacity,                                                           \
      (nvmlDevice_t device, unsigned int profile_id, unsigned int *count))                                 \
    X(nvmlDeviceCreateGpuInstance,                                                                         \
      (nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t *instance))                         \
    X(nvmlDeviceCreateGpuInstanceWithPlacement,                                                            \
      (nvmlDevice_t device, unsigned int profile_id, const nvmlGpuInstancePlacement_t *placement,          \
       nvmlGpuInstance_t *instance))                                                                       \
    X(nvmlGpuInstanceDestroy, (nvmlGpuInstance_t instance))                                                \
    X(nvmlDeviceGetGpuInstances, (nvmlDevice_t device, unsigned int profile_id,                            \
                                  nvmlGpuInstance_t *instances, unsigned int *count))                      \
    X(nvmlDeviceGetGpuInstanceById, (nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *instance))   \
    X(nvmlGpuInstanceGetInfo, (nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info))                   \
    /* compute instances */                                                                                \
    X(nvmlGpuInstanceGetComputeInstanceProfileInfo,                                                        \
      (nvmlGpuInstance_t instance, unsigned int profile, unsigned int engine,                              \
       nvmlComputeInstanceProfileInfo_t *info))                                                            \
    X(nvmlGpuInstanceGetComputeInstanceProfileInfoV,                                                       \
      (nvmlGpuInstance_t instance, unsigned int profile, unsigned int engine,                              \
       nvmlComputeInstanceProfileInfo_v2_t *info))                                                         \
    X(nvmlGpuInstanceGetComputeInstanceRemainingCapacity,                                                  \
      (nvmlGpuInstance_t instance, unsigned int profile_id, unsigned int *count))                          \
    X(nvmlGpuInstanceGetComputeInstancePossiblePlacements,                                                 \
      (nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstancePlacement_t *placements,    \
       unsigned int *count))                                                                               \
    X(nvmlGpuInstanceCreateComputeInstance,                                                                \
      (nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstance_t *compute))               \
    X(nvmlGpuInstanceCreateComputeInstanceWithPlacement,                                                   \
      (nvmlGpuInstance_t instance, unsigned int profile_id,                                                \
       const nvmlComputeInstancePlacement_t *placement, nvmlComputeInstance_t *compute))                   \
    X(nvmlComputeInstanceDestroy, (nvmlComputeInstance_t compute))                                         \
    X(nvmlGpuInstanceGetComputeInstances,                                                                  \
      (nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstance_t *computes,               \
       unsigned int *count))                                                                               \
    X(nvmlGpuInstanceGetComputeInstanceById,                                                               \
      (nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstance_t *compute))                       \
    X(nvmlComputeInstanceGetInfo, (nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info))        \
    X(nvmlComputeInstanceGetInfo_v2, (nvmlComputeInstance_t compute, nvmlComputeInstanceInfo_t *info))     \
    /* MIG devices */                                                                                      \
    X(nvmlDeviceIsMigDeviceHandle, (nvmlDevice_t device, unsigned int *is_mig))                            \
    X(nvmlDeviceGetGpuInstanceId, (nvmlDevice_t device, unsigned int *id))                                 \
    X(nvmlDeviceGetComputeInstanceId, (nvmlDevice_t device, unsigned int *id))                             \
    X(nvmlDeviceGetMaxMigDeviceCount, (nvmlDevice_t device, unsigned int *count))                          \
    X(nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig))   \
    X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvmlDevice_t mig, nvmlDevice_t *device))              \
    X(nvmlDeviceGetAttributes, (nvmlDevice_t device, nvmlDeviceAttributes_t *attributes))                  \
    X(nvmlDeviceGetAttributes_v2, (nvmlDevice_t device, nvmlDeviceAttributes_t *attributes))

// clang-format on

#define NVML_EXPORT __attribute__((visibility("default")))
#define X(name, params) NVML_EXPORT nvmlReturn_t name params;
NVML_CALLS(X)
#undef X
NVML_EXPORT const char *nvmlErrorString(nvmlReturn_t result);

enum nvml_call {
#define X(name, params) CALL_##name,
    NVML_CALLS(X)
#undef X
        NVML_CALL_COUNT
};

#endif
