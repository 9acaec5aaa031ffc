// SPDX-License-Identifier: Apache-2.0
//
// The MIG rules of one GPU: where instances may lie, how many fit, what may be
// destroyed. Callers hold the lock and have checked that MIG mode is on.
//
// Rules and where they come from (reference numbers are in README.md):
//   - an instance occupies an interval of memory slices out of its profile's
//     list; intervals never overlap;
//   - the sum of compute slices is at most 7 (A30: 4); at most one +me;
//   - each profile has its own maximum;
//   - instance ids are small and reused: 0 whole, 1-2 halves, 3-6 quarters,
//     7-14 eighths, counted by position.
#ifndef GPUSIM_MIG_H
#define GPUSIM_MIG_H

#include <stdbool.h>

#include "models.h"
#include "state.h"

// Bit sets over start slices.
unsigned gs_gi_free_starts(const struct gs_gpu *g, const struct gs_profile *p);

// gs_gi_remaining: how many more instances of this profile fit now if nothing
// else is created.
int gs_gi_remaining(const struct gs_gpu *g, const struct gs_profile *p);

// gs_gi_create puts an instance at `start`, or where the driver would put it
// when start is GS_NONE: at the highest free start, which makes the order of
// creation matter as it does on hardware. NVML_ERROR_INVALID_ARGUMENT when
// the profile has no such start, _INSUFFICIENT_RESOURCES when it is taken or a
// count rule forbids it.
nvmlReturn_t gs_gi_create(struct gs_state *s, struct gs_gpu *g, const struct gs_profile *p, uint32_t start,
                          struct gs_gpu_instance **out);

// gs_gi_destroy: NVML_ERROR_IN_USE while it has a compute instance or a client.
nvmlReturn_t gs_gi_destroy(struct gs_gpu *g, struct gs_gpu_instance *gi);

int gs_gi_count(const struct gs_gpu *g);
struct gs_gpu_instance *gs_gi_find(struct gs_gpu *g, uint32_t id);

// Compute instance profiles: the NVML enum is also the driver id.
struct gs_ci_profile {
    uint8_t id, slices, max, starts;
    uint16_t sms;
};

// gs_ci_profile fills what a GPU instance of profile `p` offers for an NVML
// compute instance enum; false when it does not offer it.
bool gs_ci_profile(const struct gs_model *m, const struct gs_profile *p, unsigned nvml_enum, struct gs_ci_profile *out);

// gs_ci_name writes the profile's name as tools show it: "3g.71gb" for a whole
// instance, "1c.3g.71gb" for a part.
enum { GS_NAME_SIZE = 32 };
void gs_ci_name(char out[GS_NAME_SIZE], const struct gs_profile *p, unsigned slices);

unsigned gs_ci_free_starts(const struct gs_gpu_instance *gi, const struct gs_ci_profile *c);
int gs_ci_remaining(const struct gs_gpu_instance *gi, const struct gs_ci_profile *c);
nvmlReturn_t gs_ci_create(struct gs_state *s, struct gs_gpu_instance *gi, const struct gs_ci_profile *c, uint32_t start,
                          struct gs_compute_instance **out);
nvmlReturn_t gs_ci_destroy(struct gs_gpu *g, struct gs_gpu_instance *gi, struct gs_compute_instance *ci);
struct gs_compute_instance *gs_ci_find(struct gs_gpu_instance *gi, uint32_t id);

// gs_mig_device finds the index-th MIG device (compute instance) of a GPU in
// order of GPU instance id, then compute instance id.
bool gs_mig_device(struct gs_gpu *g, unsigned index, struct gs_gpu_instance **gi, struct gs_compute_instance **ci);

#endif
