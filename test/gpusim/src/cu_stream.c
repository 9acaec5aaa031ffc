// SPDX-License-Identifier: Apache-2.0
//
// Streams: which handle means which, submission, waiting.
#include <stdlib.h>

#include "cu.h"

static void unlink_stream(struct CUstream_st *s) {
    for (struct CUstream_st **p = &s->ctx->streams; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            return;
        }
}

static void end_stream(struct CUstream_st *s) {
    cu_host_calls_end(s);
    gs_exec_stream_free(cu.m.s, s->slot);
    s->kind = 0;
    free(s);
}

// sweep ends destroyed streams whose work is done by now.
static void sweep(CUcontext ctx) {
    gs_exec_advance(&cu.m);
    for (struct CUstream_st *s = ctx->streams, *next; s; s = next) {
        next = s->next;
        if (!s->dying || !gs_exec_complete(cu.m.s, s->slot, s->pushed)) continue;
        unlink_stream(s);
        end_stream(s);
    }
}

CUresult cu_stream_create(CUcontext ctx, unsigned flags, int priority, CUstream *out) {
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    sweep(ctx);
    int slot = gs_exec_stream_new(cu.m.s, ctx->slot, flags & CU_STREAM_NON_BLOCKING ? 0 : GS_STREAM_BLOCKING);
    if (slot < 0) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (priority > 0) priority = 0;
    if (priority < -5) priority = -5;
    *s = (struct CUstream_st){.kind = CU_KIND_STREAM,
                              .slot = (uint32_t)slot,
                              .ctx = ctx,
                              .flags = flags,
                              .priority = priority,
                              .id = cu_id(),
                              .next = ctx->streams};
    s->calls_end = &s->calls;
    ctx->streams = s;
    *out = s;
    return CUDA_SUCCESS;
}

void cu_streams_end(CUcontext ctx) {
    while (ctx->streams) {
        struct CUstream_st *s = ctx->streams;
        ctx->streams = s->next;
        end_stream(s);
    }
    ctx->legacy = NULL;
}

static CUresult own_stream(CUcontext ctx, CUstream *out) {
    for (struct CUstream_st *s = ctx->streams; s; s = s->next)
        if (s->owner == cu_thread()) return *out = s, CUDA_SUCCESS;
    CU_TRY(cu_stream_create(ctx, 0, 0, out));
    (*out)->owner = cu_thread();
    return CUDA_SUCCESS;
}

CUresult cu_stream(CUstream handle, CUstream *out) {
    CUcontext ctx;
    if (!handle) handle = cu_per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        CU_TRY(cu_current(&ctx));
        if (handle == CU_STREAM_PER_THREAD) return own_stream(ctx, out);
        *out = ctx->legacy;
        return CUDA_SUCCESS;
    }
    if (!cu_is(handle, CU_KIND_STREAM) || handle->dying) return CUDA_ERROR_INVALID_HANDLE;
    *out = handle;
    return cu_check_context(handle->ctx);
}

// alive: nothing has ended the context or the machine while we slept.
static CUresult alive(CUcontext ctx) {
    if (cu.m.s->retired || cu.m.s->boot != cu.boot) return CUDA_ERROR_DEINITIALIZED;
    return cu_check_context(ctx);
}

CUresult cu_wait(CUstream s, uint64_t count) {
    CUcontext ctx = s->ctx;
    uint32_t slot = s->slot;
    for (;;) {
        gs_exec_advance(&cu.m);
        if (gs_exec_complete(cu.m.s, slot, count)) {
            cu_pools_settle();
            return CUDA_SUCCESS;
        }
        gs_exec_sleep(&cu.m, gs_exec_bound(cu.m.s, slot, count));
        CU_TRY(alive(ctx));
    }
}

CUresult cu_push(CUstream s, struct gs_command c) {
    gs_exec_advance(&cu.m);
    while (!gs_exec_room(cu.m.s, s->slot)) CU_TRY(cu_wait(s, cu.m.s->exec.stream[s->slot].head + 1));
    s->pushed = gs_exec_push(cu.m.s, s->slot, c);
    return CUDA_SUCCESS;
}

CUresult cu_drain(CUcontext ctx) {
    for (struct CUstream_st *s = ctx->streams; s;) {
        if (gs_exec_complete(cu.m.s, s->slot, s->pushed)) {
            s = s->next;
            continue;
        }
        CU_TRY(cu_wait(s, s->pushed));
        s = ctx->streams; // the list may have changed meanwhile
    }
    return CUDA_SUCCESS;
}

static CUresult create(CUstream *out, unsigned flags, int priority) {
    CU_CONTEXT();
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    return cu_stream_create(ctx, flags, priority, out);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    return create(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
    return create(stream, flags, priority);
}

// The work of a destroyed stream goes on; it cannot be asked for any more.
CUresult cuStreamDestroy_v2(CUstream stream) {
    CU_CALL();
    if (!cu_is(stream, CU_KIND_STREAM) || stream->dying || stream == stream->ctx->legacy || stream->owner)
        return CUDA_ERROR_INVALID_HANDLE;
    if (cu_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->dying = true;
    sweep(stream->ctx);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
    return cuStreamDestroy_v2(stream);
}

#define CU_STREAM(stream)             \
    CU_CALL();                        \
    CUstream s;                       \
    CU_TRY(cu_stream((stream), &s))

CUresult cuStreamGetPriority(CUstream stream, int *priority) {
    CU_STREAM(stream);
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = s->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags) {
    CU_STREAM(stream);
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
    CU_STREAM(stream);
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = s->id;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx) {
    CU_STREAM(stream);
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    *ctx = s->ctx;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green) {
    CU_STREAM(stream);
    if (!ctx || !green) return CUDA_ERROR_INVALID_VALUE;
    *ctx = s->ctx->green ? NULL : s->ctx, *green = s->ctx->green;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *dev) {
    CU_STREAM(stream);
    if (!dev) return CUDA_ERROR_INVALID_VALUE;
    *dev = s->ctx->device;
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
    CU_STREAM(stream);
    CU_TRY(cu_refuse_capture(s->ctx, s));
    gs_exec_advance(&cu.m);
    // The legacy stream is idle when all blocking streams are, too.
    if (s == s->ctx->legacy)
        for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
            if (!(o->flags & CU_STREAM_NON_BLOCKING) && !gs_exec_complete(cu.m.s, o->slot, o->pushed))
                return CUDA_ERROR_NOT_READY;
    return gs_exec_complete(cu.m.s, s->slot, s->pushed) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream stream) {
    CU_STREAM(stream);
    CU_TRY(cu_refuse_capture(s->ctx, s));
    // What waits on the legacy stream waits for the blocking streams before it.
    if (s == s->ctx->legacy) CU_TRY(cu_push(s, (struct gs_command){.kind = GS_CMD_MARK}));
    return cu_wait(s, s->pushed);
}

// Attributes (access policy, synchronization policy, priority) and managed
// memory's attachment are accepted and ignored.
CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
    CU_STREAM(src);
    return cu_stream(dst, &s);
}

CUresult cuStreamGetAttribute(CUstream stream, int attribute, void *value) {
    CU_STREAM(stream);
    return !value || attribute < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream stream, int attribute, const void *value) {
    CU_STREAM(stream);
    return !value || attribute < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags) {
    CU_STREAM(stream);
    struct cu_range *r = cu_range_at(ptr);
    if (!r || r->memory != CU_MEM_MANAGED || length > r->size || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
