// SPDX-License-Identifier: Apache-2.0
//
// What a context tells and lets itself be told. Cache and shared memory
// preferences, limits and flags are remembered and change nothing else.
#include "cu.h"

CUresult cuCtxGetDevice(CUdevice *dev) {
    CU_CONTEXT();
    if (!dev) return CUDA_ERROR_INVALID_VALUE;
    *dev = ctx->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx) {
    if (!ctx) return cuCtxGetDevice(dev);
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    if (!dev) return CUDA_ERROR_INVALID_VALUE;
    *dev = ctx->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags) {
    CU_CONTEXT();
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
    CU_CONTEXT();
    ctx->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext wanted, unsigned long long *id) {
    CU_CALL();
    CUcontext ctx = wanted;
    if (!ctx) CU_TRY(cu_current(&ctx));
    CU_TRY(cu_check_context(ctx));
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = ctx->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    CU_CONTEXT();
    CU_TRY(cu_refuse_capture(ctx, NULL));
    return cu_drain(ctx);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    if (!ctx) return cuCtxSynchronize();
    CU_CALL();
    CU_TRY(cu_check_context(ctx));
    CU_TRY(cu_refuse_capture(ctx, NULL));
    return cu_drain(ctx);
}

CUresult cuCtxSetLimit(int limit, size_t value) {
    CU_CONTEXT();
    if (limit < 0 || limit >= (int)(sizeof ctx->limit / sizeof *ctx->limit)) return CUDA_ERROR_INVALID_VALUE;
    ctx->limit[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, int limit) {
    CU_CONTEXT();
    if (!value || limit < 0 || limit >= (int)(sizeof ctx->limit / sizeof *ctx->limit)) return CUDA_ERROR_INVALID_VALUE;
    *value = ctx->limit[limit];
    return CUDA_SUCCESS;
}

static CUresult give(int *out, int value) {
    CU_CONTEXT();
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(int *config) {
    return give(config, 0);
}

CUresult cuCtxSetCacheConfig(int config) {
    int ignored;
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : give(&ignored, config);
}

CUresult cuCtxGetSharedMemConfig(int *config) {
    return give(config, 0);
}

CUresult cuCtxSetSharedMemConfig(int config) {
    int ignored;
    return config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : give(&ignored, config);
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version) {
    CU_CALL();
    if (ctx) CU_TRY(cu_check_context(ctx));
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    CU_CONTEXT();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void) {
    CU_CONTEXT();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *param, int type) {
    CU_CONTEXT();
    return !param || type ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
    CU_CONTEXT();
    CU_TRY(cu_check_context(peer));
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    return peer->device == ctx->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    CU_CONTEXT();
    CU_TRY(cu_check_context(peer));
    return peer == ctx ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_SUCCESS;
}

CUresult cuProfilerStart(void) {
    CU_CONTEXT();
    return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void) {
    CU_CONTEXT();
    return CUDA_SUCCESS;
}
