// SPDX-License-Identifier: Apache-2.0
//
// Clients of a GPU. Callers hold the lock.
#ifndef GPUSIM_PROCESS_H
#define GPUSIM_PROCESS_H

#include <stdbool.h>

#include "machine.h"

// gs_process_alive: simulated ones always are, real ones while their pid
// still belongs to the process that was registered.
bool gs_process_alive(const struct gs_process *p);

// gs_process_start_time reads when a live pid was started, 0 when it is gone.
uint64_t gs_process_start_time(uint32_t pid);

// gs_process_matches: in use, alive, and on this instance; GS_NONE for gi or
// ci means any.
bool gs_process_matches(const struct gs_process *p, uint32_t gi, uint32_t ci);
int gs_process_count(const struct gs_gpu *g, uint32_t gi, uint32_t ci);

// gs_process_memory sums the bytes that the matching processes hold.
uint64_t gs_process_memory(const struct gs_gpu *g, uint32_t gi, uint32_t ci);

// gs_process_add registers a client; `used` in *p is ignored. The same pid on
// the same instance replaces its entry. NVML_ERROR_NOT_FOUND when the instance
// does not exist, _INSUFFICIENT_RESOURCES when memory or entries run out.
nvmlReturn_t gs_process_add(struct gs_gpu *g, const struct gs_process *p);

// gs_process_remove removes a client, NVML_ERROR_NOT_FOUND if there is none.
nvmlReturn_t gs_process_remove(struct gs_gpu *g, uint32_t pid, uint32_t gi, uint32_t ci);

// gs_process_room is how many bytes the clients of this place may hold
// together, 0 when there is no such place in the GPU's present mode.
uint64_t gs_process_room(const struct gs_gpu *g, uint32_t gi, uint32_t ci);

// gs_process_charge changes what a client holds, INSUFFICIENT_RESOURCES when
// the place is full. gs_process_find returns a CUDA client's entry, -1: none.
nvmlReturn_t gs_process_charge(struct gs_gpu *g, uint32_t process, int64_t bytes);
int gs_process_find(const struct gs_gpu *g, uint32_t client, uint32_t gi, uint32_t ci);

#endif
