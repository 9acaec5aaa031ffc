// SPDX-License-Identifier: Apache-2.0
//
// What a capture allows, what it refuses, and that a refused call invalidates
// it: a library between program and driver must do neither by itself.
#include <pthread.h>

#include "cuda.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };

static CUstream begin(int mode) {
    CUstream s = NULL;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(s, mode));
    return s;
}

static int status_of(CUstream s) {
    int status = -1;
    OK(cuStreamIsCapturing(s, &status));
    return status;
}

static void end_invalid(CUstream s) {
    CUgraph g = (CUgraph)1;
    CHECK(status_of(s) == CU_CAPTURE_INVALIDATED);
    IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
    CHECK(!g && status_of(s) == CU_CAPTURE_NONE);
    OK(cuStreamDestroy_v2(s));
}

static size_t end_valid(CUstream s) {
    CUgraph g = NULL;
    size_t count = 0;
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphGetNodes(g, NULL, &count));
    OK(cuGraphDestroy(g));
    OK(cuStreamDestroy_v2(s));
    return count;
}

static void waiting_is_refused(void) {
    CUstream s = begin(RELAXED);
    launch_us(s, 10);
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
    end_invalid(s);
    s = begin(RELAXED);
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
    end_invalid(s);
    s = begin(RELAXED);
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    end_invalid(s);
}

// Allocation is unsafe for global captures of any thread and for one's own
// that are not relaxed; a thread in relaxed mode may do it.
static void unsafe_calls(void) {
    CUdeviceptr p;
    for (int mode = GLOBAL; mode <= THREAD_LOCAL; mode++) {
        CUstream s = begin(mode);
        IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&p, 1));
        end_invalid(s);
    }
    CUstream s = begin(RELAXED);
    OK(cuMemAlloc_v2(&p, 1));
    CHECK(end_valid(s) == 0);
    s = begin(GLOBAL);
    int mode = RELAXED;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == GLOBAL);
    OK(cuMemFree_v2(p));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(end_valid(s) == 0);
}

static void *allocate_elsewhere(void *ctx) {
    CUdeviceptr p = 0;
    OK(cuCtxSetCurrent(ctx));
    CUresult r = cuMemAlloc_v2(&p, 1);
    if (r == CUDA_SUCCESS) OK(cuMemFree_v2(p));
    return (void *)(intptr_t)r;
}

static CUresult from_another_thread(void) {
    pthread_t t;
    void *r;
    CUcontext ctx;
    OK(cuCtxGetCurrent(&ctx));
    pthread_create(&t, NULL, allocate_elsewhere, ctx);
    pthread_join(t, &r);
    return (CUresult)(intptr_t)r;
}

static void other_threads(void) {
    CUstream s = begin(THREAD_LOCAL);
    OK(from_another_thread());
    CHECK(end_valid(s) == 0);
    s = begin(GLOBAL);
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, from_another_thread());
    end_invalid(s);
}

static void default_stream(void) {
    CUstream s;
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, GLOBAL));
    OK(cuStreamCreate(&s, 0)); // blocking
    OK(cuStreamBeginCapture_v2(s, RELAXED));
    uint64_t us = 1;
    void *params[] = {&us};
    IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuLaunchKernel(busy_kernel(), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    end_invalid(s);
    s = begin(RELAXED); // a non-blocking stream has no part in it
    launch_us(NULL, 1);
    CHECK(end_valid(s) == 0);
}

static void events(void) {
    CUevent inside, outside;
    OK(cuEventCreate(&inside, 0));
    OK(cuEventCreate(&outside, 0));
    OK(cuEventRecord(outside, NULL));
    CUstream s = begin(RELAXED);
    IS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, outside, 0));
    end_invalid(s);
    s = begin(RELAXED);
    OK(cuEventRecord(inside, s));
    IS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(inside));
    end_invalid(s);
    s = begin(RELAXED);
    OK(cuEventRecord(inside, s));
    IS(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(inside));
    end_invalid(s);
    OK(cuEventDestroy_v2(inside));
    OK(cuEventDestroy_v2(outside));
}

// A stream joins a capture by waiting for an event of it, and must be joined
// back before the end.
static void fork_and_join(bool back) {
    CUstream s = begin(RELAXED), side;
    CUevent e;
    CUgraph g;
    OK(cuEventCreate(&e, 0));
    OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    launch_us(s, 10);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(side, e, 0));
    CHECK(status_of(side) == CU_CAPTURE_ACTIVE);
    launch_us(side, 10);
    OK(cuEventRecord(e, side));
    if (back) {
        OK(cuStreamWaitEvent(s, e, 0));
        launch_us(s, 10);
        CHECK(end_valid(s) == 3);
    } else {
        IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &g));
        OK(cuStreamDestroy_v2(s));
    }
    CHECK(status_of(side) == CU_CAPTURE_NONE);
    OK(cuStreamDestroy_v2(side));
    OK(cuEventDestroy_v2(e));
}

static void misuse(void) {
    CUgraph g;
    CUstream s = begin(RELAXED);
    IS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2(s, RELAXED));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphDestroy(g));
    IS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &g));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(s, 3));
    OK(cuStreamDestroy_v2(s));
}

// Only the stream on which a capture began ends it.
static void wrong_stream(void) {
    CUstream s = begin(RELAXED), side;
    CUevent e;
    CUgraph g;
    OK(cuEventCreate(&e, 0));
    OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(side, e, 0));
    IS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(side, &g));
    end_invalid(s);
    OK(cuStreamDestroy_v2(side));
    OK(cuEventDestroy_v2(e));
}

void test_cuda_capture(void) {
    waiting_is_refused();
    unsafe_calls();
    other_threads();
    default_stream();
    events();
    fork_and_join(true);
    fork_and_join(false);
    misuse();
    wrong_stream();
}
