// SPDX-License-Identifier: Apache-2.0
//
// Descriptions: the text that says which GPUs a machine has. The format is
// told by machines/three-h200.conf and README.md.
#ifndef GPUSIM_DESCRIBE_H
#define GPUSIM_DESCRIBE_H

#include "state.h"

struct gs_description {
    struct gs_machine_spec machine;
    struct gs_gpu_spec gpu[GS_MAX_GPUS];
};

// gs_describe reads a whole description. `file` is only used in messages.
// On failure it returns -1 and fills `why` with one line that names file,
// line, key, value and what is allowed.
int gs_describe(const char *file, const char *text, struct gs_description *d, char *why, size_t size);

#endif
