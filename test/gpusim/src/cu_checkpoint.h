// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_CU_CHECKPOINT_H
#define GPUSIM_CU_CHECKPOINT_H

#include "cuda_abi.h"

// States of a process, in cuCheckpointProcessGetState's numbers.
enum { CU_PROCESS_RUNNING, CU_PROCESS_LOCKED, CU_PROCESS_CHECKPOINTED, CU_PROCESS_FAILED };

// cu_enter_locked is cu_enter without the wait for this process to be running.
CUresult cu_enter_locked(void);

#endif
