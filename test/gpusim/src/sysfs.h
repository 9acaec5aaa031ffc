// SPDX-License-Identifier: Apache-2.0
//
// The little that the simulator asks of the real host.
#ifndef GPUSIM_SYSFS_H
#define GPUSIM_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

// gs_cpu_near: an online CPU of this NUMA node; of any node when the node is
// GS_NONE or the host has no such node (a simulated machine may have more).
bool gs_cpu_near(unsigned cpu, uint32_t node);

#endif
