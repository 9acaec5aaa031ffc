// SPDX-License-Identifier: Apache-2.0
//
// Every way of launching a kernel.
#include "cu_launch.h"

#include <string.h>

#include "cu_capture.h"
#include "cu_graph.h"

enum { LEAST_NS = 1000 }; // no kernel takes less

// From `extra`, the buffer of parameters; a parameter N is its N-th 8 bytes.
static const void *in_buffer(void **extra, int parameter) {
    const char *buffer = NULL;
    size_t size = 0;
    for (; extra && *extra; extra += 2) {
        if (*extra == (void *)1) buffer = extra[1];
        if (*extra == (void *)2) size = *(const size_t *)extra[1];
    }
    return buffer && size >= 8 * ((size_t)parameter + 1) ? buffer + 8 * parameter : NULL;
}

CUresult cu_launch_prepare(struct cu_launch *l, void **params, void **extra) {
    const struct CUfunc_st *f = l->function;
    uint64_t us;
    if (!cu_is(f, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    for (int i = 0; i < 3; i++)
        if (!l->grid[i] || !l->block[i]) return CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > 1024 || l->shared > 232448)
        return CUDA_ERROR_INVALID_VALUE;
    if (params && extra) return CUDA_ERROR_INVALID_VALUE;
    us = f->us;
    if (f->parameter >= 0) {
        const void *value = params ? params[f->parameter] : in_buffer(extra, f->parameter);
        if (!value) return CUDA_ERROR_INVALID_VALUE;
        memcpy(&us, value, sizeof us);
    }
    if (us > UINT64_MAX / 2000) return CUDA_ERROR_INVALID_VALUE;
    l->ns = us ? us * 1000 : LEAST_NS;
    return CUDA_SUCCESS;
}

CUresult cu_launch_submit(const struct cu_launch *l, CUstream stream) {
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    if (cu_capturing(s)) return cu_capture_kernel(s, l);
    CU_TRY(cu_refuse_implicit(s));
    // A module's functions run in its context, and in green contexts of its device.
    CUcontext home = l->function->module->ctx;
    if (home && home != s->ctx && !(s->ctx->green && home->device == s->ctx->device)) return CUDA_ERROR_INVALID_HANDLE;
    return cu_push(s, (struct gs_command){.kind = GS_CMD_KERNEL, .left_ns = l->ns, .value = 1});
}

static CUresult launch(const struct cu_launch *asked, CUstream stream, void **params, void **extra) {
    CU_CONTEXT();
    (void)ctx;
    struct cu_launch l = *asked;
    CU_TRY(cu_launch_prepare(&l, params, extra));
    return cu_launch_submit(&l, stream);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                        unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                        void **extra) {
    struct cu_launch l = {function, {gx, gy, gz}, {bx, by, bz}, shared, 0};
    return launch(&l, stream, params, extra);
}

// Launch attributes are accepted; only the cooperative one has a rule.
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    struct cu_launch l = {function,
                          {config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes,
                          0};
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && config->attrs[i].value[0])
            return cuLaunchCooperativeKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                             config->blockDimX, config->blockDimY, config->blockDimZ,
                                             config->sharedMemBytes, config->hStream, params);
    return launch(&l, config->hStream, params, extra);
}

// All blocks of a cooperative launch must be resident at the same time.
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                                   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                   CUstream stream, void **params) {
    int sms = 0, each = 0;
    CUdevice dev;
    CU_TRY(cuCtxGetDevice(&dev));
    CU_TRY(cuDeviceGetAttribute(&sms, 16, dev));
    if (!bx || !by || !bz) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, function, (int)(bx * by * bz), shared));
    if ((uint64_t)gx * gy * gz > (uint64_t)sms * (uint64_t)each) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    struct cu_launch l = {function, {gx, gy, gz}, {bx, by, bz}, shared, 0};
    return launch(&l, stream, params, NULL);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int count, unsigned int flags) {
    if (!list || !count || flags & ~3u) return CUDA_ERROR_INVALID_VALUE;
    CU_CALL();
    for (unsigned i = 0; i < count; i++) {
        const CUDA_LAUNCH_PARAMS *p = &list[i];
        struct cu_launch l = {p->function,
                              {p->gridDimX, p->gridDimY, p->gridDimZ},
                              {p->blockDimX, p->blockDimY, p->blockDimZ},
                              p->sharedMemBytes,
                              0};
        // The default streams are not allowed, nor two launches on one device.
        if (!cu_is(p->hStream, CU_KIND_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
        for (unsigned k = 0; k < i; k++)
            if (list[k].hStream->ctx->device == p->hStream->ctx->device) return CUDA_ERROR_INVALID_DEVICE;
        if (cu_capturing(p->hStream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        CU_TRY(cu_launch_prepare(&l, p->kernelParams, NULL));
        CU_TRY(cu_launch_submit(&l, p->hStream));
    }
    return CUDA_SUCCESS;
}

// The launch calls of before CUDA 4: block shape and parameters are state of
// the function.
CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    CU_CALL();
    if (!cu_is(function, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    if (x < 1 || y < 1 || z < 1) return CUDA_ERROR_INVALID_VALUE;
    function->block[0] = (unsigned)x, function->block[1] = (unsigned)y, function->block[2] = (unsigned)z;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes) {
    CU_CALL();
    if (!cu_is(function, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    function->shared = bytes;
    return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
    CU_CALL();
    if (!cu_is(function, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    return bytes <= sizeof function->param ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuParamSetv(CUfunction function, int offset, void *data, unsigned int bytes) {
    CU_CALL();
    if (!cu_is(function, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    if (!data || offset < 0 || (size_t)offset + bytes > sizeof function->param) return CUDA_ERROR_INVALID_VALUE;
    memcpy(function->param + offset, data, bytes);
    return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value) {
    return cuParamSetv(function, offset, &value, sizeof value);
}

static CUresult legacy_launch(CUfunction function, int width, int height, CUstream stream) {
    if (width < 1 || height < 1) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_is(function, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE;
    size_t size = sizeof function->param;
    void *extra[] = {(void *)1, function->param, (void *)2, &size, NULL};
    const unsigned *b = function->block;
    struct cu_launch l = {function,
                          {(unsigned)width, (unsigned)height, 1},
                          {b[0] ? b[0] : 1, b[1] ? b[1] : 1, b[2] ? b[2] : 1},
                          function->shared,
                          0};
    return launch(&l, stream, NULL, extra);
}

CUresult cuLaunch(CUfunction function) {
    return legacy_launch(function, 1, 1, NULL);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return legacy_launch(function, width, height, NULL);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    return legacy_launch(function, width, height, stream);
}
