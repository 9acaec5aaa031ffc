// SPDX-License-Identifier: Apache-2.0
//
// The part of the NVML C ABI that the simulator speaks: names, numbers and
// struct layouts as callers built against API version 13 see them. Only what
// is exported is declared. Sizes and offsets are asserted at the end of the
// file and, against go-nvml's own types, by TestABI in the Go tests.
#ifndef GPUSIM_NVML_ABI_H
#define GPUSIM_NVML_ABI_H

#include <stddef.h>

typedef int nvmlReturn_t;
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_ALREADY_INITIALIZED = 5,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_INSUFFICIENT_POWER = 8,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_IRQ_ISSUE = 11,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_CORRUPTED_INFOROM = 14,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_OPERATING_SYSTEM = 17,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_NOT_READY = 27,
    NVML_ERROR_GPU_NOT_FOUND = 28,
    NVML_ERROR_INVALID_STATE = 29,
    NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
    NVML_ERROR_UNKNOWN = 999
};

// Handles are opaque pointers. A one-pointer struct (as go-nvml's header has
// it) and a plain pointer are passed alike on every ABI we build for.
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;

// Versioned structs carry their size in the low 24 bits, the version above.
#define NVML_VERSION_OF(type, ver) ((unsigned int)(sizeof(type) | ((ver) << 24U)))

enum {
    NVML_BRAND_TESLA = 2,
    NVML_BRAND_NVIDIA = 14,
    NVML_ARCH_TURING = 6,
    NVML_ARCH_AMPERE = 7,
    NVML_ARCH_ADA = 8,
    NVML_ARCH_HOPPER = 9,
    NVML_ARCH_BLACKWELL = 10,
    NVML_DISABLED = 0,
    NVML_ENABLED = 1,
    NVML_INIT_FLAG_ALL = 7,
    NVML_NAME_V2_SIZE = 96,
    NVML_NO_INSTANCE = 0xFFFFFFFF,
};

typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct {
    unsigned int version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
    char busId[32];
} nvmlPciInfoExt_v1_t;

typedef struct {
    unsigned int version, type;
    union {
        char str[41];
        unsigned char bytes[16];
    } value;
} nvmlUUID_v1_t;

typedef struct {
    unsigned int gpu, memory;
} nvmlUtilization_t;

typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
    unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
    unsigned int pid;
    unsigned long long timeStamp; // microseconds since the epoch
    unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef struct {
    unsigned long long timeStamp;
    unsigned int pid, smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;

typedef struct {
    unsigned int version, processSamplesCount;
    unsigned long long lastSeenTimeStamp;
    nvmlProcessUtilizationInfo_v1_t *procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;

typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount;
    unsigned int sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct {
    unsigned int version, value;
} nvmlDeviceAddressingMode_v1_t;

typedef struct {
    unsigned int version;
    int sensorType, temperature;
} nvmlTemperature_v1_t;

typedef union {
    double dVal;
    int siVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    long long sllVal;
    unsigned short usVal;
} nvmlValue_t;

enum { NVML_VALUE_UINT = 1, NVML_VALUE_ULL = 3 };

typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

enum {
    NVML_FI_ECC_SBE_VOL_TOTAL = 3,
    NVML_FI_ECC_DBE_VOL_TOTAL = 4,
    NVML_FI_ECC_SBE_AGG_TOTAL = 5,
    NVML_FI_ECC_DBE_AGG_TOTAL = 6,
    NVML_FI_MEMORY_TEMP = 82,
    NVML_FI_TOTAL_ENERGY = 83,
    NVML_FI_REMAPPED_COR = 142,
    NVML_FI_REMAPPED_UNC = 143,
    NVML_FI_REMAPPED_PENDING = 144,
    NVML_FI_REMAPPED_FAILURE = 145,
    NVML_FI_POWER_AVERAGE = 185,
    NVML_FI_POWER_INSTANT = 186,
    NVML_FI_RECOVERY_ACTION = 230,
};

enum {
    NVML_RECOVERY_NONE = 0,
    NVML_RECOVERY_GPU_RESET = 1,
    NVML_RECOVERY_NODE_REBOOT = 2,
    NVML_RECOVERY_DRAIN_P2P = 3,
    NVML_RECOVERY_DRAIN_AND_RESET = 4,
};

#define NVML_EVENT_SBE 0x1ULL
#define NVML_EVENT_DBE 0x2ULL
#define NVML_EVENT_XID 0x8ULL
#define NVML_EVENT_MIG_CONFIG 0x100ULL
#define NVML_EVENT_RECOVERY 0x8000ULL
#define NVML_EVENT_KNOWN 0xFF9FULL // every bit that NVML defines

typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

typedef struct {
    unsigned int start, size; // memory slices
} nvmlGpuInstancePlacement_t;

typedef struct {
    unsigned int id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount;
    unsigned int decoderCount, encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;

typedef struct {
    unsigned int version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount;
    unsigned int copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[NVML_NAME_V2_SIZE];
} nvmlGpuInstanceProfileInfo_v2_t;

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount;
    unsigned int copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[NVML_NAME_V2_SIZE];
    unsigned int capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;

typedef struct {
    nvmlDevice_t device;
    unsigned int id, profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct {
    unsigned int start, size; // compute slices
} nvmlComputeInstancePlacement_t;

typedef struct {
    unsigned int id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount;
    unsigned int sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount;
    unsigned int sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[NVML_NAME_V2_SIZE];
} nvmlComputeInstanceProfileInfo_v2_t;

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount;
    unsigned int sharedDecoderCount, sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[NVML_NAME_V2_SIZE];
    unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;

typedef struct {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned int id, profileId;
    nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;

// The first five fields of every fabric version are alike; the version word
// in front of the "V" structs shifts them.
typedef struct {
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
} nvmlGpuFabricInfo_t;

typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct {
    unsigned int cpuCaps, gpusCaps;
} nvmlConfComputeSystemCaps_t;

typedef struct {
    unsigned int environment, ccFeature, devToolsMode;
} nvmlConfComputeSystemState_t;

typedef struct {
    unsigned int version, environment, ccFeature, devToolsMode, multiGpuMode;
} nvmlSystemConfComputeSettings_v1_t;

typedef struct {
    unsigned int version;
    char branch[80];
} nvmlSystemDriverBranchInfo_v1_t;

typedef struct {
    unsigned int version, isSupportedDevice;
} nvmlGpmSupport_t;

#define ASSERT_SIZE(type, n) _Static_assert(sizeof(type) == (n), #type " has another size in NVML")
ASSERT_SIZE(nvmlPciInfo_t, 68);
ASSERT_SIZE(nvmlPciInfoExt_v1_t, 64);
ASSERT_SIZE(nvmlUUID_v1_t, 52);
ASSERT_SIZE(nvmlMemory_v2_t, 40);
ASSERT_SIZE(nvmlProcessInfo_v1_t, 16);
ASSERT_SIZE(nvmlProcessInfo_t, 24);
ASSERT_SIZE(nvmlProcessUtilizationSample_t, 32);
ASSERT_SIZE(nvmlDeviceAttributes_t, 40);
ASSERT_SIZE(nvmlFieldValue_t, 40);
ASSERT_SIZE(nvmlEventData_t, 32);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_t, 48);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_v2_t, 152);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_v3_t, 152);
ASSERT_SIZE(nvmlGpuInstanceInfo_t, 24);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_t, 36);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_v2_t, 136);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_v3_t, 140);
ASSERT_SIZE(nvmlComputeInstanceInfo_t, 32);
ASSERT_SIZE(nvmlGpuFabricInfo_t, 28);
ASSERT_SIZE(nvmlGpuFabricInfo_v2_t, 36);
ASSERT_SIZE(nvmlGpuFabricInfo_v3_t, 40);

#endif
