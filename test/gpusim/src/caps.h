// SPDX-License-Identifier: Apache-2.0
//
// The driver's capability files, where `gpusim install-root` laid a root.
#ifndef GPUSIM_CAPS_H
#define GPUSIM_CAPS_H

#include "machine.h"

// gs_caps_minor is the device minor that the driver gives to an instance's
// capability: the tables of /proc/driver/nvidia-caps/mig-minors. ci GS_NONE
// asks for the GPU instance's own.
uint32_t gs_caps_minor(uint32_t gpu_minor, uint32_t gi, uint32_t ci);

// gs_caps_sync makes proc/driver/nvidia/capabilities below the machine's root
// show the instances that exist, as the kernel driver does on each change.
// Without a root, or where it cannot be written, it does nothing.
void gs_caps_sync(const struct gs_state *s);

#endif
