// SPDX-License-Identifier: Apache-2.0
//
// Steps that MIG calls share, in the order in which hardware refuses: capable,
// enabled, permitted.
#ifndef GPUSIM_NVML_MIG_H
#define GPUSIM_NVML_MIG_H

#include "nvml_session.h"

nvmlReturn_t gs_mig_capable(const struct gs_target *t);  // the GPU has MIG
nvmlReturn_t gs_mig_enabled(const struct gs_target *t);  // and it is on
nvmlReturn_t gs_mig_may_change(const struct gs_call *c); // NO_PERMISSION when the description asks for root

// gs_profile_of_id: an id that no profile of this GPU has is NOT_SUPPORTED.
nvmlReturn_t gs_profile_of_id(const struct gs_target *t, unsigned int id, const struct gs_profile **p);

// gs_mig_changed tells the world about a change of instances: capability
// files and an event.
void gs_mig_changed(struct gs_call *c, const struct gs_target *t);

#endif
