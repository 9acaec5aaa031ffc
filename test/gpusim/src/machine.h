// SPDX-License-Identifier: Apache-2.0
//
// A mapped machine: find its directory, map its state, lock it, wait on it.
#ifndef GPUSIM_MACHINE_H
#define GPUSIM_MACHINE_H

#include <limits.h>
#include <time.h>

#include "state.h"

struct gs_machine {
    struct gs_state *s;
    int clients; // file whose byte locks are the CUDA clients' lives; never closed, see clients.h
    char dir[PATH_MAX];
};

enum gs_open_result {
    GS_OPEN_OK,
    GS_OPEN_ABSENT,  // no such machine
    GS_OPEN_FOREIGN, // another layout version, another size, or not a state file
};

// gs_default_dir is $GPUSIM_DIR, or /run/gpusim.
const char *gs_default_dir(void);

// gs_machine_open maps the machine in `dir`. On failure it fills `why` with
// one sentence without a newline.
enum gs_open_result gs_machine_open(struct gs_machine *m, const char *dir, char *why, size_t size);
void gs_machine_close(struct gs_machine *m);

// gs_machine_create writes a new machine with this spec into `dir` (made if
// absent) as one rename, powers it on, and maps it. A machine that was there is
// retired: whoever has it mapped sees its calls fail. 0, or -1 with `why`.
int gs_machine_create(struct gs_machine *m, const char *dir, const struct gs_machine_spec *machine,
                      const struct gs_gpu_spec *gpus, char *why, size_t size);

// The lock excludes threads and processes alike. When its holder dies the
// kernel hands it on; state.h's crash rule keeps the data valid. Not recursive.
void gs_lock(struct gs_machine *m);
void gs_unlock(struct gs_machine *m);

// gs_pulse wakes every waiter. gs_wait sleeps, without the lock, until the
// pulse differs from `seen` or the deadline (CLOCK_MONOTONIC) has passed.
void gs_pulse(struct gs_state *s);
void gs_wait(struct gs_state *s, uint32_t seen, const struct timespec *deadline);

// gs_new_uuid writes PREFIX followed by a random version 4 UUID.
void gs_new_uuid(char out[GS_UUID_SIZE], const char *prefix);

#endif
