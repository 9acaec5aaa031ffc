// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_TENANT_OPTIONS_H
#define GPUSIM_TENANT_OPTIONS_H

#include <stdint.h>

enum launch_kind { LAUNCH_PLAIN, LAUNCH_EX, LAUNCH_COOPERATIVE, LAUNCH_GRAPH };

struct options {
    uint64_t kernel_us, burst, gap_ms, streams, seconds, alloc_mib, window_ms, device, blocks;
    enum launch_kind kind;
    const char *csv; // NULL: standard output
};

// options_read prints what is wrong and exits with 2, or with 0 after --help.
void options_read(struct options *o, int argc, char **argv);

#endif
