// SPDX-License-Identifier: Apache-2.0
#include "caps.h"

uint32_t gs_caps_minor(uint32_t gpu_minor, uint32_t gi, uint32_t ci) {
    uint32_t first = 3 + gpu_minor * 15 * 9 + gi * 9; // 1 and 2 are mig/config and mig/monitor
    return ci == GS_NONE ? first : first + 1 + ci;
}

void gs_caps_sync(const struct gs_state *s) {
    (void)s;
}
