// SPDX-License-Identifier: Apache-2.0
//
// Readings that have a call of their own and are fields too.
#ifndef GPUSIM_NVML_SENSORS_H
#define GPUSIM_NVML_SENSORS_H

#include "nvml_session.h"

unsigned gs_celsius(const struct gs_target *t);
unsigned gs_milliwatt(const struct gs_target *t);
unsigned long long gs_energy(const struct gs_target *t); // millijoule
uint64_t gs_wall_us(void);                               // microseconds since the epoch

#endif
