// SPDX-License-Identifier: Apache-2.0
//
// The library side of a machine: what nvmlInit opens and each call enters.
//
// One process has at most one session, as with the real library. It is opened
// by the first nvmlInit, on the machine that GPUSIM_DIR names at that moment,
// and closed by the last nvmlShutdown, so one process can use several machines
// one after another. A session dies with the boot it was opened in: after
// `gpusim reboot` its calls answer UNINITIALIZED until nvmlInit is called.
#ifndef GPUSIM_NVML_SESSION_H
#define GPUSIM_NVML_SESSION_H

#include <stdbool.h>

#include "events.h"
#include "machine.h"
#include "models.h"

struct nvmlEventSet_st {
    struct nvmlEventSet_st *next;
    struct gs_interest want;
    uint64_t cursor;
    bool loss_told[GS_MAX_GPUS]; // GPU_IS_LOST is returned once for each loss
};

struct gs_session {
    struct gs_machine m;
    uint64_t boot;
    int refs;    // the library's own and one for each call in flight
    bool closed; // by nvmlShutdown; calls in flight must return
    struct nvmlEventSet_st *sets;
};

// One call in flight. It holds a reference on the session, and the machine's
// lock unless it waits.
struct gs_call {
    struct gs_session *session;
    struct gs_state *s;
};

// gs_call_enter takes the session and the lock and applies injected latency
// (without the lock) and injected failures. On error nothing is held.
nvmlReturn_t gs_call_enter(struct gs_call *c, enum nvml_call number);
void gs_call_leave(struct gs_call *c);

// gs_call_alive: false once the session was closed, the machine rebooted or
// replaced. Waiters check it each time they wake.
bool gs_call_alive(const struct gs_call *c);

// NVML_ENTER opens a call as `call`; it is left when the function returns.
#define NVML_ENTER(name)                                               \
    struct gs_call call __attribute__((cleanup(gs_call_leave))) = {0}; \
    do {                                                               \
        nvmlReturn_t entered = gs_call_enter(&call, CALL_##name);      \
        if (entered != NVML_SUCCESS) return entered;                   \
    } while (0)

// What a device handle means now. gi and ci are NULL for a whole GPU.
struct gs_target {
    const struct gs_machine *machine;
    uint32_t index;
    struct gs_gpu *gpu;
    const struct gs_model *model;
    struct gs_gpu_instance *gi;
    struct gs_compute_instance *ci;
};

// The resolvers answer INVALID_ARGUMENT for a handle that is not, or no
// longer, one of ours, and GPU_IS_LOST for anything on a lost GPU.
nvmlReturn_t gs_target_gpu(struct gs_call *c, uint32_t index, struct gs_target *t);
nvmlReturn_t gs_resolve(struct gs_call *c, nvmlDevice_t device, struct gs_target *t);     // GPU or MIG device
nvmlReturn_t gs_resolve_gpu(struct gs_call *c, nvmlDevice_t device, struct gs_target *t); // a MIG device: NOT_SUPPORTED
nvmlReturn_t gs_resolve_gi(struct gs_call *c, nvmlGpuInstance_t instance, struct gs_target *t);
nvmlReturn_t gs_resolve_ci(struct gs_call *c, nvmlComputeInstance_t compute, struct gs_target *t);

// Handles are addresses in a reserved range that is never readable; they
// encode slot and generation, so a stale one is recognised even when its slot
// is used again.
nvmlDevice_t gs_gpu_handle(uint32_t gpu);
nvmlDevice_t gs_mig_handle(const struct gs_target *t);
nvmlGpuInstance_t gs_gi_handle(const struct gs_target *t);
nvmlComputeInstance_t gs_ci_handle(const struct gs_target *t);

#define NVML_TRY(expr)                           \
    do {                                         \
        nvmlReturn_t tried = (expr);             \
        if (tried != NVML_SUCCESS) return tried; \
    } while (0)

// NVML_DEVICE enters a call and resolves its device into `t`.
#define NVML_DEVICE(name, device) \
    NVML_ENTER(name);             \
    struct gs_target t = {0};     \
    NVML_TRY(gs_resolve(&call, device, &t))

// NVML_GPU does the same and refuses MIG devices.
#define NVML_GPU(name, device) \
    NVML_ENTER(name);          \
    struct gs_target t = {0};  \
    NVML_TRY(gs_resolve_gpu(&call, device, &t))

// gs_copy_string: INSUFFICIENT_SIZE when text and its NUL do not fit.
nvmlReturn_t gs_copy_string(char *out, unsigned int length, const char *text);

#endif
