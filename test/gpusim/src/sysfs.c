// SPDX-License-Identifier: Apache-2.0
#include "sysfs.h"

#include <stdio.h>
#include <unistd.h>

#include "state.h"

bool gs_cpu_near(unsigned cpu, uint32_t node) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%u", node);
    if (node == GS_NONE || access(path, F_OK)) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u", cpu);
        return access(path, F_OK) == 0;
    }
    snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpu%u", node, cpu);
    return access(path, F_OK) == 0;
}
