// SPDX-License-Identifier: Apache-2.0
//
// Execution of commands on the simulated GPUs, in real time and without a
// daemon: nothing runs between calls. Whoever has the lock advances the
// timelines to now, and whoever waits sleeps until the earliest moment at
// which its command can be complete, then looks again. All need the lock.
#ifndef GPUSIM_EXEC_H
#define GPUSIM_EXEC_H

#include <stdbool.h>

#include "machine.h"

uint64_t gs_now_ns(void); // CLOCK_MONOTONIC

void gs_exec_pulse(struct gs_state *s); // wakes every waiter

// gs_exec_power_on forgets every client, as a boot ends them.
void gs_exec_power_on(struct gs_state *s);

// Slots; -1 when there is none left.
int gs_exec_context_new(struct gs_state *s, uint32_t client, uint32_t gpu, uint32_t process, uint32_t place);
void gs_exec_context_free(struct gs_state *s, uint32_t context); // and its streams
void gs_exec_forget_gpu(struct gs_state *s, uint32_t gpu);         // all contexts of a GPU that was reset
int gs_exec_stream_new(struct gs_state *s, uint32_t context, uint32_t flags);
void gs_exec_stream_free(struct gs_state *s, uint32_t stream); // drops what is queued
int gs_exec_event_new(struct gs_state *s, uint32_t client);
void gs_exec_event_retire(struct gs_state *s, uint32_t event); // frees it once its last record is complete

// gs_exec_advance brings all timelines to now, without clients that are gone.
void gs_exec_advance(struct gs_machine *m);

// gs_exec_room: whether the stream takes one more command.
bool gs_exec_room(const struct gs_state *s, uint32_t stream);

// gs_exec_push appends a command (its ticket is filled in) and returns the
// number of commands that must be complete for it to be complete. The caller
// has advanced the timelines and checked the room.
uint64_t gs_exec_push(struct gs_state *s, uint32_t stream, struct gs_command c);

// gs_exec_complete: `count` commands of the stream are complete.
bool gs_exec_complete(const struct gs_state *s, uint32_t stream, uint64_t count);

// gs_exec_bound is the earliest time at which that can be so, as things stand;
// new work of others can only make it later.
uint64_t gs_exec_bound(const struct gs_state *s, uint32_t stream, uint64_t count);

// gs_exec_host_turn: the command at the head of the stream is one for its
// process, and everything before it is complete. gs_exec_host_done completes it.
bool gs_exec_host_turn(const struct gs_state *s, uint32_t stream);
void gs_exec_host_done(struct gs_state *s, uint32_t stream);

// gs_exec_sleep sleeps without the lock until the time or a pulse.
void gs_exec_sleep(struct gs_machine *m, uint64_t until_ns);

#endif
