// SPDX-License-Identifier: Apache-2.0
//
// What happens to a whole GPU or machine: power, reset, loss, health. Callers
// hold the machine's lock.
#ifndef GPUSIM_LIFECYCLE_H
#define GPUSIM_LIFECYCLE_H

#include <stdbool.h>

#include "machine.h"

// gs_power_on starts a new boot: volatile state is gone, Ampere GPUs take the
// MIG mode of their InfoROM, Hopper and later start with MIG off, every
// session that was open before is dead, and `boot_id` names the new boot.
// Injected faults and latencies are cleared too.
void gs_power_on(struct gs_machine *m);

// gs_reset_gpu resets one GPU: instances are gone, a pending mode is applied,
// volatile counters and the recovery action are cleared. A lost GPU needs
// more than that. NVML_ERROR_IN_USE while clients exist, _GPU_IS_LOST.
nvmlReturn_t gs_reset_gpu(struct gs_machine *m, uint32_t gpu);

// gs_set_mig_mode is nvmlDeviceSetMigMode after its argument checks; the
// returned value is the activation status.
nvmlReturn_t gs_set_mig_mode(struct gs_machine *m, uint32_t gpu, uint32_t mode);

// gs_mig_mode_persists: Ampere keeps the mode over a reboot and needs a reset
// to change it; later architectures do neither.
bool gs_mig_mode_persists(const struct gs_gpu *g);

// gs_lose drops a GPU off the bus (Xid 79); gs_recover brings it back as it
// would come back from a bus rescan: reset.
void gs_lose(struct gs_machine *m, uint32_t gpu);
void gs_recover(struct gs_machine *m, uint32_t gpu);

#endif
