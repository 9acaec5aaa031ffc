// SPDX-License-Identifier: Apache-2.0
//
// Order of work, told by events' times, which the simulated device decides.
#include <pthread.h>
#include <unistd.h>

#include "cuda.h"

static CUevent event(void) {
    CUevent e = NULL;
    OK(cuEventCreate(&e, 0));
    return e;
}

static float between(CUevent a, CUevent b) {
    float ms = -1;
    OK(cuEventElapsedTime(&ms, a, b));
    return ms;
}

// Kernels of one stream run one after another, those of two share the rate;
// either way the GPU does one millisecond of work in a millisecond.
static void rate(bool two_streams) {
    CUstream s[2];
    CUevent start = event(), end = event(), mid = event();
    for (int i = 0; i < 2; i++) OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    OK(cuEventRecord(start, s[0]));
    for (int i = 0; i < 10; i++) launch_us(s[two_streams ? i % 2 : 0], 1000);
    OK(cuEventRecord(mid, s[two_streams]));
    OK(cuStreamWaitEvent(s[0], mid, 0));
    OK(cuEventRecord(end, s[0]));
    IS(CUDA_ERROR_NOT_READY, cuEventQuery(end));
    OK(cuEventSynchronize(end));
    OK(cuStreamQuery(s[0]));
    CHECK(between(start, end) >= 9.9f, "%f ms", (double)between(start, end));
    for (int i = 0; i < 2; i++) OK(cuStreamDestroy_v2(s[i]));
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(mid));
    OK(cuEventDestroy_v2(end));
}

// The legacy default stream and blocking streams wait for each other.
static void legacy(void) {
    CUstream blocking, free_stream;
    CUevent first = event(), second = event(), third = event(), apart = event();
    OK(cuStreamCreate(&blocking, 0));
    OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    launch_us(blocking, 3000);
    OK(cuEventRecord(first, blocking));
    launch_us(NULL, 1000);
    OK(cuEventRecord(second, NULL));
    launch_us(blocking, 1000);
    OK(cuEventRecord(third, blocking));
    OK(cuEventRecord(apart, free_stream));
    IS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    OK(cuStreamSynchronize(free_stream));
    IS(CUDA_ERROR_NOT_READY, cuEventQuery(third));
    OK(cuCtxSynchronize());
    CHECK(between(first, second) >= 0.99f && between(second, third) >= 0.99f);
    CHECK(between(apart, first) > 0, "a non-blocking stream waits for nobody");
    OK(cuStreamDestroy_v2(blocking));
    OK(cuStreamDestroy_v2(free_stream));
    OK(cuEventDestroy_v2(first));
    OK(cuEventDestroy_v2(second));
    OK(cuEventDestroy_v2(third));
    OK(cuEventDestroy_v2(apart));
}

struct note {
    CUevent before;
    CUresult inside, status;
    int runs;
};

static void host_function(void *user) {
    struct note *n = user;
    n->inside = cuEventQuery(n->before);
    n->runs++;
}

static void callback(CUstream stream, CUresult status, void *user) {
    struct note *n = user;
    (void)stream;
    n->status = status;
    n->runs++;
}

static void host_functions(void) {
    CUstream s;
    struct note n = {.before = event(), .status = CUDA_ERROR_UNKNOWN};
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    launch_us(s, 1000);
    OK(cuLaunchHostFunc(s, host_function, &n));
    OK(cuStreamAddCallback(s, callback, &n, 0));
    OK(cuStreamSynchronize(s));
    CHECK(n.runs == 2 && n.status == CUDA_SUCCESS);
    CHECK(n.inside == CUDA_ERROR_NOT_PERMITTED, "CUDA calls are not allowed in a host function");
    OK(cuStreamDestroy_v2(s));
    OK(cuEventDestroy_v2(n.before));
}

// A wait for a value in host memory on one stream ends by a write on another.
static void values(void) {
    CUstream a, b;
    uint32_t *word;
    OK(cuMemHostAlloc((void **)&word, 4096, 0));
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32_v2(a, (uintptr_t)word, 7, 1));
    IS(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
    launch_us(b, 500);
    OK(cuStreamWriteValue32_v2(b, (uintptr_t)word, 7, 0));
    OK(cuStreamSynchronize(a));
    CHECK(*word == 7);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFreeHost(word));
}

static void *own_default_stream(void *ctx) {
    CUstream *seen = calloc(1, sizeof *seen);
    unsigned long long id = 0;
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamGetId_ptsz(NULL, &id));
    *seen = (CUstream)(uintptr_t)id;
    return seen;
}

// In a _ptsz call stream 0 is the thread's own stream, else the legacy one.
static void per_thread(void) {
    pthread_t t;
    CUcontext ctx;
    void *other;
    unsigned long long legacy_id, own_id, same;
    OK(cuCtxGetCurrent(&ctx));
    OK(cuStreamGetId(NULL, &legacy_id));
    OK(cuStreamGetId_ptsz(NULL, &own_id));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &same));
    CHECK(own_id != legacy_id && same == own_id);
    pthread_create(&t, NULL, own_default_stream, ctx);
    pthread_join(t, &other);
    CHECK((uintptr_t) * (CUstream *)other != own_id && (uintptr_t) * (CUstream *)other != legacy_id);
    free(other);
}

// A queue is bounded: a launch waits for room, and none is lost.
static void full_queue(void) {
    CUstream s;
    CUevent start = event(), end = event();
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventRecord(start, s));
    for (int i = 0; i < 3 * GS_QUEUE; i++) launch_us(s, 10);
    OK(cuEventRecord(end, s));
    OK(cuStreamSynchronize(s));
    CHECK(between(start, end) >= 3 * GS_QUEUE * 0.0099f);
    OK(cuStreamDestroy_v2(s));
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(end));
}

static void bad_launches(void) {
    uint64_t us = 1;
    void *params[] = {&us};
    CUevent e = event();
    float ms;
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(busy_kernel(), 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(busy_kernel(), 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    IS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
       cuLaunchCooperativeKernel(busy_kernel(), 100000, 1, 1, 1024, 1, 1, 0, NULL, params));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, e, e));
    OK(cuEventDestroy_v2(e));
}

void test_cuda_streams(void) {
    rate(false);
    rate(true);
    legacy();
    host_functions();
    values();
    per_thread();
    full_queue();
    bad_launches();
}
