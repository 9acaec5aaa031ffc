// SPDX-License-Identifier: Apache-2.0
//
// Built-in GPU models: what the silicon and its driver would answer. Constant
// data; the per-machine copy of what a description may override is in state.h.
#ifndef GPUSIM_MODELS_H
#define GPUSIM_MODELS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GS_PROFILE_ENUMS = 0x12, // NVML_GPU_INSTANCE_PROFILE_COUNT
    GS_MAX_SLICES = 8,       // memory slices of the largest model
};

// One GPU instance profile. `starts` is a bit set over memory slices.
struct gs_profile {
    uint8_t nvml_enum; // argument of GetGpuInstanceProfileInfo
    uint8_t driver_id; // argument of every other call, unique per model
    uint8_t compute;   // compute slices
    uint8_t size;      // memory slices
    uint8_t max;       // instances of this profile on an empty GPU
    uint8_t starts;
    uint16_t sms;
    uint32_t memory_mib;
    uint8_t copy, decoder, jpeg, ofa; // media and copy engines
    bool media_ext;                   // +me: one per GPU
    const char *name;
};

struct gs_model {
    const char *key;  // in a description: model = H200-141
    const char *name; // nvmlDeviceGetName
    int brand;
    uint32_t arch;
    int cc_major, cc_minor;
    uint32_t memory_mib, reserved_mib, bar1_mib;
    uint32_t pci_device, pci_subsystem;
    uint16_t sms, cores_per_sm;
    uint16_t power_limit_w, clock_mhz, memory_clock_mhz;
    uint8_t nvlinks;         // 0: PCIe board
    uint8_t compute, memory; // MIG slices, 0: not MIG capable
    uint8_t slice_sms;       // SMs of one compute slice in a shared instance
    const char *part_number;
    const struct gs_profile *profiles;
    int profile_count;
};

// gs_model_find returns the model with this key, or NULL.
const struct gs_model *gs_model_find(const char *key);

// gs_model_at iterates over the models in table order, NULL after the last.
const struct gs_model *gs_model_at(int index);

// Lookup by NVML enum and by driver profile id; NULL when the model lacks it.
const struct gs_profile *gs_profile_by_enum(const struct gs_model *m, unsigned nvml_enum);
const struct gs_profile *gs_profile_by_id(const struct gs_model *m, unsigned driver_id);

#endif
