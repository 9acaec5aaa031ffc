// SPDX-License-Identifier: Apache-2.0
//
// The slices that this process may use, and the GPUs that they are of.
#ifndef AIPUB_SLICES_H
#define AIPUB_SLICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../wire/wire.h"
#include "cuda_min.h"
#include "lock.h"

enum { MAX_SLICES = 32, MAX_DEVICES = 64 };

// A slice as this process sees it. slot is NULL while the process has none: then
// nothing is written. socket is -1 while the agent is away.
struct slice {
    const struct aipub_grant *grant;
    struct aipub_page *page;
    struct aipub_slot *slot;
    uint32_t index;
    int socket;
    uint64_t next_connect; // not before
    char path[96];         // of the socket
};

// A GPU of this process that is shared: the slices of it add up.
struct device {
    CUdevice id;
    unsigned count;
    struct slice *slices[MAX_SLICES];
    unsigned long long total; // bytes of the whole GPU, as its driver says
    struct gate *gate;        // NULL: not used yet
    uint32_t reclaimed;       // what the agent asked for last
};

// Shared words are plain in wire.h; these are the accesses to them.
#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define STORE(word, value) __atomic_store_n(&(word), value, __ATOMIC_SEQ_CST)
#define ADD(word, value) __atomic_fetch_add(&(word), value, __ATOMIC_SEQ_CST)
#define OR(word, value) __atomic_fetch_or(&(word), value, __ATOMIC_SEQ_CST)

// slices_silent reports whether the agent has not been heard for too long.
static inline bool slices_silent(const struct aipub_grant *g, uint64_t now) {
    uint64_t beat = LOAD(g->heartbeat_ns);
    return now > beat && now - beat > LOAD(g->stale_ns);
}

// slices_open opens all slices and takes a slot in each; false: there are some that
// cannot be used, and the reason has been told.
bool slices_open(struct slice all[MAX_SLICES], unsigned *count);

// slices_attach maps the slices, takes a slot in each and tells the agent, once for
// the process and once more in a child after fork. It returns CUDA_SUCCESS, with or
// without slices, or CUDA_ERROR_SYSTEM_NOT_READY when there are some that cannot be
// used. The three that follow do so too.
int slices_attach(void);

// slices_known attaches and finds the GPU of each slice, when the driver is
// initialised.
int slices_known(void);

// slices_matched says whether the GPUs have been found; without slices there is
// nothing to find.
bool slices_matched(void);

// slices_accepted does all that and, the first time, waits for the agent's answer,
// up to 100 ms after the process said who it is. An agent that does not answer is no
// reason to stop.
int slices_accepted(void);

// slices_device returns the shared GPU with that ordinal, NULL when it is not
// shared.
struct device *slices_device(CUdevice id);

// slices_current returns the shared GPU of the calling thread's context.
struct device *slices_current(void);

// slices_devices returns the shared GPUs.
struct device *slices_devices(unsigned *count);

// slices_named collects the slices of the GPU that NVML calls "GPU-…"; false: it
// is not shared. It needs no CUDA.
bool slices_named(const char *gpu_name, struct device *d);

// slices_unknown writes how many unknown driver symbols were asked for.
void slices_unknown(void);

// slices_problem sets a problem bit in the slots of every slice.
void slices_problem(uint32_t bit);

// agent_hello connects to the slice's agent and says who this is, without waiting.
void agent_hello(struct slice *s);

// agent_welcomed waits for the answer until that time; false: refused. No answer
// is no refusal: the agent may be away.
bool agent_welcomed(struct slice *s, uint64_t until);

// agent_send sends one message; a connection that fails is closed.
void agent_send(struct slice *s, uint32_t type, uint32_t turn, uint64_t a, uint64_t b);

// agent_keep notices a lost connection and makes a new one, once a second at most:
// true, and the agent knows nothing of what was said before.
bool agent_keep(struct slice *s, uint64_t now);

#endif
