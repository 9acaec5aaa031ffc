// SPDX-License-Identifier: Apache-2.0
//
// Calls on a stream that is being captured into a graph are not work and take no
// memory: they are forwarded untouched. Nothing is recorded, queried or waited for
// on such a stream, and nobody is asked about a stream while none is captured.
#ifndef AIPUB_CAPTURE_H
#define AIPUB_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda_min.h"

extern _Atomic int capture_open; // captures begun and not ended

// capture_asks asks the driver whether the stream is being captured.
bool capture_asks(CUstream stream, bool per_thread);

static inline bool capture_on(CUstream stream, bool per_thread) {
    if (__builtin_expect(atomic_load_explicit(&capture_open, memory_order_relaxed) == 0, 1)) return false;
    return capture_asks(stream, per_thread);
}

#endif
