// SPDX-License-Identifier: Apache-2.0
//
// The state of one simulated machine as it lies in the mapped file `state`,
// shared by every process of that machine. Plain data without pointers.
//
// Crash rule: a process may be killed between any two stores while it holds
// the lock. A change therefore prepares its data first and becomes valid by
// one store (a slot's `used`, a mode, a counter) that is its last. Nothing is
// derived and stored: capacity, counts and indices are computed on read.
#ifndef GPUSIM_STATE_H
#define GPUSIM_STATE_H

#include <pthread.h>
#include <stdint.h>

#include "exec_state.h"
#include "nvml_calls.h"

#define GS_MAGIC "GPUSIM1"
enum {
    GS_STATE_VERSION = 3,
    GS_MAX_GPUS = 32,
    GS_MAX_GIS = 8,
    GS_MAX_CIS = 8,
    GS_MAX_PROCESSES = 512,
    GS_EVENT_RING = 1024, // older events are lost to a waiter that fell behind
    GS_CALL_SLOTS = 256,  // room for NVML_CALL_COUNT calls
    GS_UUID_SIZE = 48,
    GS_PATH_SIZE = 256,
};

enum { GS_PLACES = GS_MAX_GIS + 1 }; // of execution on a GPU: the whole one, then its instance slots

#define GS_NONE 0xFFFFFFFFu // no GPU or compute instance, no NUMA node
#define GS_ALWAYS 0xFFFFFFFFu

// What a description says about one GPU; constant after `gpusim init`.
struct gs_gpu_spec {
    char model[16];
    char uuid[GS_UUID_SIZE];
    char serial[32];
    uint32_t domain, bus, device;
    uint32_t minor;
    uint32_t numa_node; // GS_NONE: the platform reports none
    uint32_t memory_mib;
    uint8_t mig_capable;
    uint8_t mig_auto; // Ampere: SetMigMode resets an idle GPU by itself
    uint8_t ecc;
    uint8_t spare[5];
};

struct gs_machine_spec {
    char name[64];
    char driver_version[32];
    char nvml_version[32];
    uint32_t cuda_version; // 13000 is 13.0
    uint32_t require_root; // MIG changes need uid 0
    uint32_t gpu_count;
    uint32_t concurrent;  // contexts share a GPU's rate instead of taking turns
    uint32_t quantum_us;  // turn of a context
    uint32_t switch_us;   // time lost when another context gets its turn
    uint32_t context_mib; // device memory that each context costs
    uint32_t spare;
};

struct gs_compute_instance {
    uint32_t used; // the committing store
    uint32_t generation;
    uint8_t id, profile /* NVML enum = driver id */, start, size;
    uint32_t spare;
    char uuid[GS_UUID_SIZE];
};

struct gs_gpu_instance {
    uint32_t used; // the committing store
    uint32_t generation;
    uint8_t id, profile /* driver id */, start, size;
    uint32_t spare;
    struct gs_compute_instance ci[GS_MAX_CIS];
};

enum gs_process_kind { GS_COMPUTE, GS_GRAPHICS, GS_MPS };

struct gs_process {
    uint32_t used; // the committing store
    uint32_t pid;
    uint32_t gi, ci; // instance ids, GS_NONE on a whole GPU
    uint32_t kind, sm_percent;
    uint64_t memory; // bytes
    // Start time of a real process in clock ticks after boot; it holds the
    // device only while it lives. 0: simulated, holds until removed.
    uint64_t start_time;
    uint64_t parked;    // bytes that a checkpoint has moved to the host
    uint64_t window_ns; // GPU time in the running utilization sample
    uint32_t client;    // index + 1 of a CUDA client, which then decides whether it lives
    uint32_t contexts;  // of that client on this device
};

struct gs_ecc {
    uint64_t corrected, uncorrected;
};

// Survives `gpusim reboot` and `gpusim reset`, as the InfoROM does.
struct gs_inforom {
    uint32_t mig_mode; // Ampere: the mode after the next reset
    uint32_t spare;
    struct gs_ecc ecc; // aggregate counters
};

// Gone after a reboot.
struct gs_volatile {
    uint32_t lost;
    uint32_t mig_mode;
    uint32_t recovery_action;
    uint32_t util_gpu, util_memory; // percent
    uint32_t spare;
    struct gs_ecc ecc;
    struct gs_gpu_instance gi[GS_MAX_GIS];
    struct gs_timeline timeline[GS_PLACES];
    struct gs_process process[GS_MAX_PROCESSES];
};

struct gs_gpu {
    struct gs_gpu_spec spec;
    struct gs_inforom inforom;
    struct gs_volatile v;
};

struct gs_event {
    uint64_t type, data;
    uint32_t gpu, gi, ci, spare;
};

// Injected behaviour of one call.
struct gs_fault {
    uint32_t latency_ms;
    int32_t code;   // nvmlReturn_t instead of the real answer
    uint32_t times; // 0: none, GS_ALWAYS: until cleared
};

struct gs_state {
    char magic[8];
    uint32_t version, size;
    pthread_mutex_t lock;
    uint32_t pulse;   // futex: changes whenever a waiter should look again
    uint32_t retired; // this file was replaced by another `gpusim init`
    uint64_t boot;    // 1 at init, +1 with each reboot
    char boot_id[40];
    uint64_t event_next; // sequence number of the next event
    uint32_t generation; // of the instance created last
    uint32_t spare;
    char root[GS_PATH_SIZE]; // where install-root laid the driver's files, or ""
    char dev[GS_PATH_SIZE];  // and where it made device nodes, or ""
    struct gs_machine_spec machine;
    struct gs_fault fault[GS_CALL_SLOTS];
    struct gs_event event[GS_EVENT_RING];
    struct gs_gpu gpu[GS_MAX_GPUS];
    struct gs_exec exec; // last and sparse: pages of unused slots are never made
};

_Static_assert((int)NVML_CALL_COUNT <= (int)GS_CALL_SLOTS, "more calls than fault slots");
_Static_assert(sizeof(struct gs_gpu_spec) == 16 + 48 + 32 + 6 * 4 + 8, "gs_gpu_spec changed");
_Static_assert(sizeof(struct gs_compute_instance) == 64, "gs_compute_instance changed");
_Static_assert(sizeof(struct gs_gpu_instance) == 16 + 8 * 64, "gs_gpu_instance changed");
_Static_assert(sizeof(struct gs_process) == 64, "gs_process changed");
_Static_assert(sizeof(struct gs_event) == 32, "gs_event changed");
_Static_assert(sizeof(struct gs_fault) == 12, "gs_fault changed");
_Static_assert(offsetof(struct gs_state, version) == 8, "the version must stay where every build looks for it");
_Static_assert(offsetof(struct gs_state, pulse) % 4 == 0, "futex alignment");

#endif
