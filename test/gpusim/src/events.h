// SPDX-License-Identifier: Apache-2.0
//
// The machine's event ring. Events carry a growing sequence number; a reader
// keeps the number of the next one that it wants. Callers hold the lock.
#ifndef GPUSIM_EVENTS_H
#define GPUSIM_EVENTS_H

#include <stdbool.h>

#include "machine.h"

// What a reader wants: event types per GPU, and nothing of that GPU that
// happened before sequence number `since`.
struct gs_interest {
    uint64_t types[GS_MAX_GPUS];
    uint64_t since[GS_MAX_GPUS];
};

// gs_post appends an event and wakes the waiters. gi and ci are GS_NONE when
// the event cannot be attributed to an instance.
void gs_post(struct gs_state *s, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci);

// gs_next copies the first wanted event from *cursor on and moves the cursor
// behind it. False when there is none.
bool gs_next(const struct gs_state *s, uint64_t *cursor, const struct gs_interest *want, struct gs_event *out);

// gs_set_recovery stores a recovery action and posts the change.
void gs_set_recovery(struct gs_state *s, uint32_t gpu, uint32_t action);

#endif
