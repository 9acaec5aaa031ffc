// SPDX-License-Identifier: Apache-2.0
//
// The files that a driver keeps current, in a root that `gpusim install-root`
// laid. Without a root, or where it cannot be written, nothing happens.
#ifndef GPUSIM_CAPS_H
#define GPUSIM_CAPS_H

#include "machine.h"

enum {
    GS_GI_IDS = 15,      // 0..14
    GS_CAP_CONFIG = 1,   // minor of mig/config
    GS_CAP_MONITOR = 2,  // minor of mig/monitor
    GS_CAPS_MAJOR = 236, // a driver gets dynamic majors; these are ours
    GS_UVM_MAJOR = 511,
    GS_GPU_MAJOR = 195,
};

// gs_caps_minor is the device minor that the driver gives to an instance's
// capability: the table of /proc/driver/nvidia-caps/mig-minors, which is fixed
// at driver load. ci GS_NONE asks for the GPU instance's own.
uint32_t gs_caps_minor(uint32_t gpu_minor, uint32_t gi, uint32_t ci);

// gs_caps_sync makes proc/driver/nvidia/capabilities show the instances of a
// GPU, as the kernel driver does on each change.
void gs_caps_sync(const struct gs_state *s, uint32_t gpu);

// gs_root_boot writes proc/sys/kernel/random/boot_id.
void gs_root_boot(const struct gs_state *s);

#endif
