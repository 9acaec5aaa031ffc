// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_EXEC_TIMELINE_H
#define GPUSIM_EXEC_TIMELINE_H

#include "exec.h"

// gs_command_at is the place of a stream's n-th command.
static inline struct gs_command *gs_command_at(const struct gs_state *s, const struct gs_stream *st, uint64_t n) {
    return (struct gs_command *)&s->exec.queue[st - s->exec.stream][n % GS_QUEUE];
}

// gs_exec_in_order: the default stream's rule lets the head of this stream
// start. A legacy default stream and the blocking streams of its context wait
// for each other's earlier commands.
bool gs_exec_in_order(const struct gs_state *s, uint32_t stream);

#endif
