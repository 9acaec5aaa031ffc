// SPDX-License-Identifier: Apache-2.0
#include "cu_capture.h"

bool cu_capturing(CUstream s) {
    return s->capture != NULL;
}

CUresult cu_refuse_capture(CUcontext ctx, CUstream s) {
    (void)ctx, (void)s;
    return CUDA_SUCCESS;
}

CUresult cu_refuse_implicit(CUstream s) {
    (void)s;
    return CUDA_SUCCESS;
}

CUresult cu_refuse_unsafe(void) {
    return CUDA_SUCCESS;
}

CUresult cu_refuse_event(CUevent e) {
    (void)e;
    return CUDA_SUCCESS;
}

CUresult cu_capture_record(CUstream s, CUevent e, bool external) {
    (void)s, (void)e, (void)external;
    return CUDA_SUCCESS;
}

CUresult cu_capture_wait(CUstream s, CUevent e, bool external) {
    (void)s, (void)e, (void)external;
    return CUDA_SUCCESS;
}

void cu_capture_forget_event(CUevent e) {
    (void)e;
}
