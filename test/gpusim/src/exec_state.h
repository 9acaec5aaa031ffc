// SPDX-License-Identifier: Apache-2.0
//
// What the GPUs of a machine are doing, as it lies in the mapped state: who is
// attached, their contexts, the queues of commands, events, and one timeline
// for each GPU. state.h's crash rule holds: a queue grows by the store of
// `tail` and shrinks by the store of `head`; a death in the middle of a step
// of a timeline loses at most that step's time, never a queue or a byte.
#ifndef GPUSIM_EXEC_STATE_H
#define GPUSIM_EXEC_STATE_H

#include <stdint.h>

enum {
    GS_MAX_CLIENTS = 1024,
    GS_MAX_CONTEXTS = 2048,
    GS_MAX_STREAMS = 2048,
    GS_MAX_EVENTS = 65536,
    GS_QUEUE = 1024, // commands that a stream holds before a launch blocks
    GS_SAMPLE_NS = 166666667, // utilization is known per sixth of a second
};

enum gs_command_kind {
    GS_CMD_KERNEL, // left_ns of the GPU, for `value` kernels
    GS_CMD_COPY,   // left_ns of a copy engine
    GS_CMD_RECORD, // completes record `value` of `event`
    GS_CMD_WAIT,   // until record `value` of `event` is complete
    GS_CMD_HOST,   // until its process has run it
    GS_CMD_MARK,   // nothing
};

struct gs_command {
    uint64_t ticket; // order of submission within the context
    uint64_t left_ns;
    uint64_t value;
    uint32_t kind;
    uint32_t event;
};

// A process that uses CUDA. It lives while it holds byte `index` of the
// machine's file `clients` locked, so the kernel itself says when it is gone,
// in whatever PID namespace it runs.
struct gs_client {
    uint32_t used; // the committing store
    uint32_t pid;  // in its own namespace
    uint64_t pid_namespace;
    uint64_t start_time;
    uint32_t checkpoint; // cuCheckpointProcessGetState's numbers
    uint32_t generation; // a slot that is used again is another client
};

struct gs_context {
    uint32_t used; // the committing store
    uint32_t client;
    uint32_t gpu;
    uint32_t process; // its entry in the GPU's process table
    uint32_t legacy;  // stream slot of its legacy default stream
    uint32_t place;   // 0: the whole GPU, else its instance slot + 1; contexts of one place share its time
    uint64_t ticket;  // of the command submitted last
    uint64_t busy_ns; // GPU time received
    uint64_t kernels; // finished
};

enum { GS_STREAM_BLOCKING = 1, GS_STREAM_LEGACY = 2 };

struct gs_stream {
    uint32_t used; // the committing store
    uint32_t context;
    uint32_t flags;
    uint32_t spare;
    uint64_t head, tail; // sequence numbers; `head` commands are complete
    uint64_t work_ns;    // sum of left_ns in the queue
};

enum { GS_EVENT_RETIRED = 2 }; // `used` of a destroyed event with a record pending

struct gs_event_slot {
    uint32_t used; // the committing store
    uint32_t client;
    uint64_t recorded; // the record submitted last, 0: none
    uint64_t done;     // the newest record that is complete
    uint64_t time_ns;  // when that was
};

struct gs_timeline {
    uint64_t cursor_ns;    // CLOCK_MONOTONIC up to which the GPU has been advanced
    uint64_t slice_end_ns; // of the context that holds the GPU
    uint64_t switch_end_ns;
    uint64_t window_ns;      // start of the running sample
    uint64_t window_busy_ns; // in the running sample
    uint64_t busy_ns;        // since power on
    uint32_t context;        // that holds the GPU
    uint32_t spare;
    uint64_t active[GS_MAX_STREAMS / 64]; // streams with commands
};

struct gs_exec {
    uint32_t pulse; // futex: changes when a waiter must look again before its time
    uint32_t generation;
    uint32_t stream_high, event_high, context_high, client_high; // slots never used lie above
    uint64_t reaped_ns;
    uint64_t records; // number of the last event record; they never repeat, so a slot that is used again is no danger
    struct gs_client client[GS_MAX_CLIENTS];
    struct gs_context context[GS_MAX_CONTEXTS];
    struct gs_event_slot event[GS_MAX_EVENTS];
    struct gs_stream stream[GS_MAX_STREAMS];
    struct gs_command queue[GS_MAX_STREAMS][GS_QUEUE]; // apart from the streams, which every process looks through
};

_Static_assert(sizeof(struct gs_command) == 32, "gs_command changed");
_Static_assert(sizeof(struct gs_client) == 32, "gs_client changed");
_Static_assert(sizeof(struct gs_context) == 48, "gs_context changed");
_Static_assert(sizeof(struct gs_event_slot) == 32, "gs_event_slot changed");

#endif
