// SPDX-License-Identifier: Apache-2.0
//
// What the slow path and the helper share of a GPU. All of it is under the lock.
#ifndef AIPUB_GATE_STATE_H
#define AIPUB_GATE_STATE_H

#include "gate.h"

#define SHUT (INT64_MIN / 2) // a budget that no addition of a loser opens
#define LEAST_COST_NS 500  // of a launch, so that empty ones are bounded too
enum { BATCHES = 256 };

// A recorded event, in use by the batches that it begins or ends.
struct mark {
    CUevent event;
    struct space *space;
    unsigned uses;
    struct mark *next; // while free
};

// A context's events. base is where its time line begins; horizon, in ns after
// base, is up to where its busy time has been counted.
struct space {
    CUcontext context;
    struct mark *free;
    struct mark *base;
    int64_t horizon;
    bool dead;
    struct space *next;
};

// A stream. last is its latest mark.
struct track {
    struct track_head head;
    CUstream stream;
    struct gate_thread *owner; // of a per-thread default stream
    struct space *space;
    struct mark *last;
    int64_t seen; // unmarked, when the helper looked last
    bool dead;
    struct track *next;
};

// Work between two marks of a stream, not seen complete yet.
struct batch {
    struct track *track;
    struct mark *from, *to;
    int64_t predicted;
    struct cost *cost; // of the only command in it, else NULL
    bool dense;        // the GPU had work on this stream all the time
};

struct gate_state {
    struct gate *gate;
    struct device *device;
    struct lock lock;
    struct space *spaces;
    struct track *tracks;
    struct batch batch[BATCHES];
    unsigned batches;

    bool open, draining;
    struct slice *leased; // while open or draining
    uint32_t turn;
    bool by_timetable;
    bool is_free; // nothing is held back; work is only measured
    uint64_t close_at;
    uint32_t returned[MAX_SLICES]; // the turn that was given back, by the device's slices
    bool has_returned[MAX_SLICES];
    bool wanted; // the agent has been told
    uint64_t used_ns;
    uint64_t busy_at; // when work began or was last seen complete
    _Atomic uint32_t waiting; // threads with a command that may not be issued yet
    _Atomic uint32_t kick; // futex: the helper sleeps on it while there is nothing to do
    _Atomic bool rests;     // it does
    bool helper;
    bool over; // the program is ending: no more calls of the driver
};

// marks.c: what is in flight.

// marks_space returns the record of a context, NULL: there is none.
struct space *marks_space(struct gate_state *s, CUcontext context);
struct track *marks_track(struct gate_state *s, struct space *space, CUstream stream, struct gate_thread *owner);

// marks_begin returns a mark in use that the next command on the track comes
// after; alone: nothing unmarked may lie between. NULL: the driver refuses.
struct mark *marks_begin(struct gate_state *s, struct track *t, bool alone);

// marks_end marks the end of what was issued on the track and makes it a batch.
void marks_end(struct gate_state *s, struct track *t, struct mark *from, int64_t ns, struct cost *cost);

// marks_tail does so for what the fast path left unmarked; false: nothing was.
bool marks_tail(struct gate_state *s, struct track *t);

// marks_harvest takes the batches that are complete and counts their time.
void marks_harvest(struct gate_state *s);

// marks_in_flight returns the predicted ns that are left of what was issued, and
// of what the fast path may issue. The oldest batch has run since busy_at.
int64_t marks_in_flight(const struct gate_state *s, uint64_t now);

// marks_pause returns for how long nobody need look whether something is complete:
// half of what the oldest batch is expected to take still, within these bounds.
uint64_t marks_pause(const struct gate_state *s, uint64_t now, uint64_t least, uint64_t most);

// marks_forget drops everything of a stream or, with stream NULL, of a context.
void marks_forget(struct gate_state *s, CUcontext context, const CUstream *stream);

// lease.c: whether work may be issued.

// lease_open says whether it may now, and opens the gate if so.
bool lease_open(struct gate_state *s, uint64_t now);

// lease_lost says whether an open gate has to be shut.
bool lease_lost(struct gate_state *s, uint64_t now);

// lease_shut stops the fast path; what is in the driver goes on.
void lease_shut(struct gate_state *s);

// lease_wait sleeps until it may have changed. The lock is not held.
void lease_wait(struct gate_state *s);

// costs.c

struct cost *costs_find(struct gate_state *s, const void *key);

// costs_begin is told that a launch is measured. What is known already goes on
// meanwhile: the launches behind it take the fast path.
void costs_begin(struct cost *c);
void costs_measured(struct cost *c, int64_t ns);

// gate.c

uint64_t gate_window(const struct gate_state *s);
bool gate_calls(const struct gate *g); // somebody is in the driver
void gate_count(struct gate_state *s); // launches into the slot

// helper.c

void helper_start(struct gate_state *s);
void helper_kick(struct gate_state *s);

#endif
