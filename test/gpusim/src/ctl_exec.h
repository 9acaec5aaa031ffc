// SPDX-License-Identifier: Apache-2.0
//
// What CUDA clients do on a GPU, for gpusim state.
#ifndef GPUSIM_CTL_EXEC_H
#define GPUSIM_CTL_EXEC_H

#include "machine.h"

void ctl_print_contexts(const struct gs_machine *m, uint32_t gpu);
void ctl_json_contexts(const struct gs_machine *m, uint32_t gpu); // the elements of an array

#endif
