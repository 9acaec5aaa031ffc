// SPDX-License-Identifier: Apache-2.0
//
// Functions of the program that run in stream order. One helper thread for
// the process, started with the first of them, runs those whose turn it is.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cu.h"
#include "cu_capture.h"
#include "cu_graph.h"

struct cu_host_call {
    struct cu_host_call *next;
    bool (*ready)(const void *user); // NULL: at once
    CUhostFn fn;
    CUstreamCallback callback; // instead of fn
    CUstream stream;           // as the program knows it
    void *user;
};

__thread bool cu_in_host_call;
static bool started;

enum { POLL_NS = 100000 }; // how often a condition is looked at

static struct CUstream_st *with_turn(uint64_t *soonest) {
    for (struct CUctx_st *c = cu.contexts; c; c = c->next)
        for (struct CUstream_st *s = c->streams; s; s = s->next) {
            if (!s->calls) continue;
            bool turn = gs_exec_host_turn(cu.m.s, s->slot);
            if (turn && (!s->calls->ready || s->calls->ready(s->calls->user))) return s;
            if (turn && gs_now_ns() + POLL_NS < *soonest) *soonest = gs_now_ns() + POLL_NS;
            if (turn) continue;
            uint64_t bound = gs_exec_bound(cu.m.s, s->slot, cu.m.s->exec.stream[s->slot].tail - 1);
            if (bound < *soonest) *soonest = bound;
        }
    return NULL;
}

static void run_one(struct CUstream_st *s) {
    struct cu_host_call *call = s->calls;
    uint32_t slot = s->slot;
    s->calls = call->next;
    if (!s->calls) s->calls_end = &s->calls;
    gs_unlock(&cu.m);
    cu_in_host_call = true;
    if (call->callback) call->callback(call->stream, CUDA_SUCCESS, call->user);
    else call->fn(call->user);
    cu_in_host_call = false;
    free(call);
    gs_lock(&cu.m);
    gs_exec_host_done(cu.m.s, slot);
}

static void *helper(void *unused) {
    gs_lock(&cu.m);
    while (!cu.m.s->retired && cu.m.s->boot == cu.boot) {
        gs_exec_advance(&cu.m);
        uint64_t soonest = gs_now_ns() + 1000000000;
        struct CUstream_st *s = with_turn(&soonest);
        if (s) run_one(s);
        else gs_exec_sleep(&cu.m, soonest);
    }
    gs_unlock(&cu.m);
    return unused;
}

static CUresult start_helper(void) {
    pthread_t t;
    sigset_t all, old;
    if (started) return CUDA_SUCCESS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); // signals are the program's threads' business
    int bad = pthread_create(&t, NULL, helper, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (bad) return CUDA_ERROR_OPERATING_SYSTEM;
    pthread_detach(t);
    started = true;
    return CUDA_SUCCESS;
}

static CUresult submit(CUstream s, const struct cu_host_call *what) {
    struct cu_host_call *call = malloc(sizeof *call);
    if (!call) return CUDA_ERROR_OUT_OF_MEMORY;
    *call = *what;
    CUresult r = start_helper();
    if (r == CUDA_SUCCESS) r = cu_push(s, (struct gs_command){.kind = GS_CMD_HOST});
    if (r != CUDA_SUCCESS) {
        free(call);
        return r;
    }
    *s->calls_end = call;
    s->calls_end = &call->next;
    gs_exec_pulse(cu.m.s);
    return CUDA_SUCCESS;
}

CUresult cu_host_call(CUstream s, CUhostFn fn, CUstreamCallback callback, void *user) {
    struct cu_host_call call = {.fn = fn, .callback = callback, .stream = s, .user = user};
    return submit(s, &call);
}

CUresult cu_host_call_when(CUstream s, bool (*ready)(const void *user), CUhostFn fn, void *user) {
    struct cu_host_call call = {.ready = ready, .fn = fn, .stream = s, .user = user};
    return submit(s, &call);
}

void cu_host_calls_end(CUstream s) {
    while (s->calls) {
        struct cu_host_call *call = s->calls;
        s->calls = call->next;
        free(call);
    }
    s->calls_end = &s->calls;
}

static CUresult launch_host(CUstream stream, CUhostFn fn, CUstreamCallback callback, void *user) {
    CU_CALL();
    CUstream s;
    if (!fn && !callback) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_stream(stream, &s));
    if (cu_capturing(s)) return fn ? cu_capture_host(s, fn, user) : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CU_TRY(cu_refuse_implicit(s));
    return cu_host_call(s, fn, callback, user);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user) {
    return launch_host(stream, fn, NULL, user);
}

CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn fn, void *user, unsigned int syncMode) {
    return syncMode > 1 ? CUDA_ERROR_INVALID_VALUE : launch_host(stream, fn, NULL, user);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user, unsigned int flags) {
    return flags ? CUDA_ERROR_INVALID_VALUE : launch_host(stream, NULL, callback, user);
}
