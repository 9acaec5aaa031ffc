// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_NOOP_CALLS_H
#define GPUSIM_NOOP_CALLS_H

#include <stdint.h>

extern __thread uint64_t noop_calls; // of this thread

#endif
