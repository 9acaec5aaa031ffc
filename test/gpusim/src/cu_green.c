// SPDX-License-Identifier: Apache-2.0
//
// Green contexts: parts of a device's SMs for a context of their own. They
// cost memory and take turns like other contexts; that their kernels would run
// beside those of other parts is not modelled.
#include <stdlib.h>
#include <string.h>

#include "cu.h"
#include "cu_event.h"

enum { RESOURCE_SM = 1, GROUP = 8 };

// No call ends a description, so all of them stay.
static struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    unsigned sms;
} *descriptions;

struct CUgreenCtx_st {
    uint32_t kind;
    CUcontext ctx;
    unsigned sms;
};

static CUdevResource sm_resource(unsigned count) {
    CUdevResource r = {.type = RESOURCE_SM};
    r.sm.smCount = count, r.sm.minSmPartitionSize = GROUP, r.sm.smCoscheduledAlignment = GROUP;
    return r;
}

static CUresult device_sms(CUdevice dev, unsigned *count) {
    int sms = 0;
    CU_TRY(cuDeviceGetAttribute(&sms, 16, dev));
    *count = (unsigned)sms;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice dev, CUdevResource *resource, int type) {
    unsigned count;
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    if (type != RESOURCE_SM) return CUDA_ERROR_NOT_SUPPORTED;
    CU_TRY(device_sms(dev, &count));
    *resource = sm_resource(count);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(CUcontext ctx, CUdevResource *resource, int type) {
    CUdevice dev;
    unsigned own = 0;
    {
        CU_CALL();
        CU_TRY(cu_check_context(ctx));
        dev = ctx->device;
        own = ctx->green ? ctx->green->sms : 0;
    }
    CU_TRY(cuDeviceGetDevResource(dev, resource, type));
    if (own) *resource = sm_resource(own);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *resource, int type) {
    CU_CALL();
    if (!cu_is(green, CU_KIND_GREEN) || !resource) return CUDA_ERROR_INVALID_VALUE;
    if (type != RESOURCE_SM) return CUDA_ERROR_NOT_SUPPORTED;
    *resource = sm_resource(green->sms);
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *groups, const CUdevResource *input,
                                     CUdevResource *remaining, unsigned int flags, unsigned int minCount) {
    if (!groups || !input || input->type != RESOURCE_SM || flags > 3) return CUDA_ERROR_INVALID_VALUE;
    unsigned each = (unsigned)cu_round_up(minCount ? minCount : 1, GROUP);
    unsigned possible = input->sm.smCount / each;
    if (!possible) return CUDA_ERROR_INVALID_VALUE;
    if (!result) return *groups = possible, CUDA_SUCCESS;
    if (*groups > possible) *groups = possible;
    for (unsigned i = 0; i < *groups; i++) result[i] = sm_resource(each);
    if (remaining) *remaining = sm_resource(input->sm.smCount - *groups * each);
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned int count) {
    if (!desc || !resources || !count) return CUDA_ERROR_INVALID_VALUE;
    struct CUdevResourceDesc_st *d = calloc(1, sizeof *d);
    if (!d) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < count; i++) d->sms += resources[i].sm.smCount;
    d->next = descriptions;
    *desc = descriptions = d;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
    CU_CALL();
    if (!green || !desc || flags != 1) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_device_at(dev)) return CUDA_ERROR_INVALID_DEVICE;
    struct CUgreenCtx_st *g = calloc(1, sizeof *g);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    g->kind = CU_KIND_GREEN, g->sms = desc->sms;
    CUresult r = cu_context_create(dev, 0, &g->ctx);
    if (r != CUDA_SUCCESS) {
        free(g);
        return r;
    }
    g->ctx->green = g;
    *green = g;
    return CUDA_SUCCESS;
}

#define CU_GREEN(green) \
    CU_CALL();          \
    if (!cu_is(green, CU_KIND_GREEN)) return CUDA_ERROR_INVALID_CONTEXT

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
    CU_GREEN(green);
    if (!green->ctx->destroyed) cu_context_destroy(green->ctx);
    green->kind = 0;
    free(green);
    return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *ctx, CUgreenCtx green) {
    CU_GREEN(green);
    if (!ctx) return CUDA_ERROR_INVALID_VALUE;
    *ctx = green->ctx;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned int flags, int priority) {
    CU_GREEN(green);
    if (!stream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    return cu_stream_create(green->ctx, flags, priority, stream);
}

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (!green) return CUDA_ERROR_INVALID_VALUE;
    *green = s->ctx->green;
    return CUDA_SUCCESS;
}

// The legacy stream waits for the blocking streams of the context; work of
// non-blocking streams is not waited for, which the real call does.
static CUresult record(CUcontext ctx, CUevent event) {
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    return cu_event_record(event, ctx->legacy);
}

static CUresult wait_everywhere(CUcontext ctx, CUevent event) {
    if (!cu_is(event, CU_KIND_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    for (struct CUstream_st *s = ctx->streams; s; s = s->next)
        if (!s->dying) CU_TRY(cu_event_wait(event, s));
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
    CU_GREEN(green);
    return record(green->ctx, event);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
    CU_GREEN(green);
    return wait_everywhere(green->ctx, event);
}

CUresult cuCtxRecordEvent(CUcontext ctx, CUevent event) {
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    return record(ctx, event);
}

CUresult cuCtxWaitEvent(CUcontext ctx, CUevent event) {
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    return wait_everywhere(ctx, event);
}
