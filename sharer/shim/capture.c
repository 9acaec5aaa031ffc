// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "capture.h"

#include "gate.h"
#include "rules.h"

_Atomic int capture_open;

// A stream that takes part in a capture because of an event that it waits for was
// never named in a BeginCapture, so every stream is asked while one is open. A
// question that fails is answered by the call that follows: the driver refuses it.
bool capture_asks(CUstream stream, bool per_thread) {
    int (*ask)(CUstream, int *) = resolve_symbol(per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");
    int status = CU_STREAM_CAPTURE_STATUS_NONE;
    return ask && (ask(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
}

// begin counts the capture first, so that no launch takes the fast path from here
// on, and marks what is in flight, which the helper may not do while it lasts.
static void begin(void) {
    if (atomic_fetch_add(&capture_open, 1) == 0) gate_mark_all();
}

static int begun(int result) {
    if (result != CUDA_SUCCESS) atomic_fetch_sub(&capture_open, 1);
    return result;
}

int on_cuStreamBeginCapture(fn_cuStreamBeginCapture real, bool per_thread, CUstream stream) {
    (void)per_thread;
    begin();
    return begun(real(stream));
}

int on_cuStreamBeginCapture_v2(fn_cuStreamBeginCapture_v2 real, bool per_thread, CUstream stream, int mode) {
    (void)per_thread;
    begin();
    return begun(real(stream, mode));
}

int on_cuStreamBeginCaptureToGraph(fn_cuStreamBeginCaptureToGraph real, bool per_thread, CUstream stream,
                                   CUgraph graph, const void *deps, const void *edges, size_t count, int mode) {
    (void)per_thread;
    begin();
    return begun(real(stream, graph, deps, edges, count, mode));
}

int on_cuStreamBeginRecaptureToGraph(fn_cuStreamBeginRecaptureToGraph real, bool per_thread, CUstream stream, int mode,
                                     CUgraph graph, void *callback, void *user) {
    (void)per_thread;
    begin();
    return begun(real(stream, mode, graph, callback, user));
}

int on_cuStreamBeginCaptureToCig(fn_cuStreamBeginCaptureToCig real, bool per_thread, CUstream stream, void *params) {
    (void)per_thread;
    begin();
    return begun(real(stream, params));
}

// An EndCapture that fails may have ended a capture that had become invalid. Only
// one that was never begun leaves the count alone; too high a count costs a
// question per launch, too low a one would break a capture.
int on_cuStreamEndCapture(fn_cuStreamEndCapture real, bool per_thread, CUstream stream, CUgraph *graph) {
    bool was = capture_on(stream, per_thread);
    int result = real(stream, graph);
    if (was && !capture_asks(stream, per_thread)) atomic_fetch_sub(&capture_open, 1);
    return result;
}

int on_cuStreamEndCaptureToCig(fn_cuStreamEndCaptureToCig real, bool per_thread, CUstream stream) {
    bool was = capture_on(stream, per_thread);
    int result = real(stream);
    if (was && !capture_asks(stream, per_thread)) atomic_fetch_sub(&capture_open, 1);
    return result;
}
