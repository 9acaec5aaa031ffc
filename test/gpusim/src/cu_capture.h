// SPDX-License-Identifier: Apache-2.0
//
// Stream capture, as the calls that may meet one see it. All need the lock.
#ifndef GPUSIM_CU_CAPTURE_H
#define GPUSIM_CU_CAPTURE_H

#include "cu.h"

// cu_refuse_implicit: work on the legacy default stream while a blocking
// stream of its context captures would depend on the capture. The capture is
// invalidated.
CUresult cu_refuse_implicit(CUstream s);

// cu_refuse_unsafe: calls like cuMemAlloc that a capture in global mode, or of
// this thread, forbids; relaxed captures, or a thread in relaxed mode, do not.
CUresult cu_refuse_unsafe(void);

// cu_refuse_event: an event that was recorded in a capture has no time.
CUresult cu_refuse_event(CUevent e);

CUresult cu_capture_record(CUstream s, CUevent e, bool external);
CUresult cu_capture_wait(CUstream s, CUevent e, bool external);
void cu_capture_forget_event(CUevent e);

#endif
