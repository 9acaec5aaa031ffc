// SPDX-License-Identifier: Apache-2.0
//
// Events, also across processes.
#include <stdlib.h>
#include <string.h>

#include "cu.h"
#include "cu_capture.h"
#include "cu_event.h"
#include "cu_graph.h"

static struct gs_event_slot *slot_of(CUevent e) {
    return &cu.m.s->exec.event[e->slot];
}

static bool complete(CUevent e) {
    return slot_of(e)->done >= slot_of(e)->recorded;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    CU_CONTEXT();
    if (!event || flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    struct CUevent_st *e = calloc(1, sizeof *e);
    int slot = gs_exec_event_new(cu.m.s, (uint32_t)cu.client);
    if (!e || slot < 0) {
        free(e);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *e = (struct CUevent_st){.kind = CU_KIND_EVENT, .slot = (uint32_t)slot, .ctx = ctx, .flags = flags};
    *event = e;
    return CUDA_SUCCESS;
}

CUresult cu_event_record(CUevent e, CUstream s) {
    uint64_t number = ++cu.m.s->exec.records;
    slot_of(e)->recorded = number;
    CU_TRY(cu_push(s, (struct gs_command){.kind = GS_CMD_RECORD, .event = e->slot, .value = number}));
    e->stream = s->slot, e->count = s->pushed;
    return CUDA_SUCCESS;
}

CUresult cu_event_wait(CUevent e, CUstream s) {
    if (complete(e)) return CUDA_SUCCESS;
    return cu_push(s, (struct gs_command){.kind = GS_CMD_WAIT, .event = e->slot, .value = slot_of(e)->recorded});
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    if (event->ctx != s->ctx && event->ctx->device != s->ctx->device) return CUDA_ERROR_INVALID_HANDLE;
    if (cu_capturing(s)) return cu_capture_record(s, event, flags & 1);
    CU_TRY(cu_refuse_implicit(s));
    cu_capture_forget_event(event);
    return cu_event_record(event, s);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~1u) return CUDA_ERROR_INVALID_VALUE;
    if (event->capture || cu_capturing(s)) return cu_capture_wait(s, event, flags & 1);
    CU_TRY(cu_refuse_implicit(s));
    return cu_event_wait(event, s);
}

#define CU_EVENT(event)                                                       \
    CU_CALL();                                                                \
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;       \
    CU_TRY(cu_refuse_event(event))

CUresult cuEventQuery(CUevent event) {
    CU_EVENT(event);
    gs_exec_advance(&cu.m);
    return complete(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
    CU_EVENT(event);
    uint32_t slot = event->slot, stream = event->stream;
    uint64_t count = event->count;
    CUcontext ctx = event->ctx;
    uint64_t wanted = slot_of(event)->recorded;
    for (;;) {
        gs_exec_advance(&cu.m);
        struct gs_event_slot *ev = &cu.m.s->exec.event[slot];
        if (!ev->used || ev->done >= wanted) return CUDA_SUCCESS;
        gs_exec_sleep(&cu.m, event->foreign ? gs_now_ns() + 200000 : gs_exec_bound(cu.m.s, stream, count));
        if (cu.m.s->retired || cu.m.s->boot != cu.boot) return CUDA_ERROR_DEINITIALIZED;
        CU_TRY(cu_check_context(ctx));
    }
}

CUresult cuEventDestroy_v2(CUevent event) {
    CU_CALL();
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    cu_capture_forget_event(event);
    gs_exec_advance(&cu.m);
    if (!event->foreign) gs_exec_event_retire(cu.m.s, event->slot);
    event->kind = 0;
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
    return cuEventDestroy_v2(event);
}

static CUresult elapsed(float *ms, CUevent start, CUevent end) {
    CU_EVENT(start);
    if (!cu_is(end, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    if (!ms) return CUDA_ERROR_INVALID_VALUE;
    const struct gs_event_slot *a = slot_of(start), *b = slot_of(end);
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || !a->recorded || !b->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    gs_exec_advance(&cu.m);
    if (!complete(start) || !complete(end)) return CUDA_ERROR_NOT_READY;
    *ms = (float)((double)(int64_t)(b->time_ns - a->time_ns) / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
    return elapsed(ms, start, end);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end) {
    return elapsed(ms, start, end);
}

// What a handle says: the slot, and whose it was when it was made.
struct handle {
    uint32_t slot, client, generation;
};

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event) {
    CU_EVENT(event);
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (!(event->flags & CU_EVENT_INTERPROCESS)) return CUDA_ERROR_INVALID_HANDLE;
    uint32_t client = slot_of(event)->client;
    struct handle h = {event->slot, client, cu.m.s->exec.client[client].generation};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &h, sizeof h);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle) {
    CU_CONTEXT();
    struct handle h;
    memcpy(&h, &handle, sizeof h);
    if (!event) return CUDA_ERROR_INVALID_VALUE;
    const struct gs_exec *x = &cu.m.s->exec;
    if (h.slot >= GS_MAX_EVENTS || h.client >= GS_MAX_CLIENTS || !x->event[h.slot].used ||
        x->event[h.slot].client != h.client || x->client[h.client].generation != h.generation)
        return CUDA_ERROR_INVALID_HANDLE;
    struct CUevent_st *e = calloc(1, sizeof *e);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    *e = (struct CUevent_st){.kind = CU_KIND_EVENT, .slot = h.slot, .ctx = ctx, .foreign = true,
                             .flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING};
    *event = e;
    return CUDA_SUCCESS;
}
