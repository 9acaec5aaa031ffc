// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches of every kind. What a kernel costs is kept by its handle.
#define _GNU_SOURCE
#include "gate.h"
#include "rules.h"

int on_cuLaunchKernel(fn_cuLaunchKernel real, bool per_thread, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                      unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                      void **extra) {
    return GATED(f, stream, per_thread, real(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra));
}

int on_cuLaunchKernelEx(fn_cuLaunchKernelEx real, bool per_thread, const CUlaunchConfig *config, CUfunction f,
                        void **params, void **extra) {
    if (!config) return real(config, f, params, extra);
    return GATED(f, config->hStream, per_thread, real(config, f, params, extra));
}

int on_cuLaunchCooperativeKernel(fn_cuLaunchCooperativeKernel real, bool per_thread, CUfunction f, unsigned gx,
                                 unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                 CUstream stream, void **params) {
    return GATED(f, stream, per_thread, real(f, gx, gy, gz, bx, by, bz, shared, stream, params));
}

// One launch on several GPUs: it waits for all of them, in the order of the list,
// which the driver requires to name each GPU once.
static int launch_on(fn_cuLaunchCooperativeKernelMultiDevice real, CUDA_LAUNCH_PARAMS *list, unsigned count,
                     unsigned flags, unsigned at) {
    int (*context_of)(CUstream, CUcontext *) = DRIVER(cuStreamGetCtx, CUstream, CUcontext *);
    int (*push)(CUcontext) = DRIVER(cuCtxPushCurrent_v2, CUcontext);
    int (*pop)(CUcontext *) = DRIVER(cuCtxPopCurrent_v2, CUcontext *);
    CUcontext context;
    if (at == count) return real(list, count, flags);
    if (!context_of || !push || !pop || context_of(list[at].hStream, &context) != CUDA_SUCCESS ||
        push(context) != CUDA_SUCCESS)
        return real(list, count, flags);
    int result = GATED(list[at].function, list[at].hStream, false, launch_on(real, list, count, flags, at + 1));
    pop(&context);
    return result;
}

int on_cuLaunchCooperativeKernelMultiDevice(fn_cuLaunchCooperativeKernelMultiDevice real, CUDA_LAUNCH_PARAMS *list,
                                            unsigned count, unsigned flags) {
    if (!list || count == 0 || count > MAX_DEVICES) return real(list, count, flags);
    return launch_on(real, list, count, flags, 0);
}

int on_cuLaunch(fn_cuLaunch real, CUfunction f) {
    return GATED(f, NULL, false, real(f));
}

int on_cuLaunchGrid(fn_cuLaunchGrid real, CUfunction f, int width, int height) {
    return GATED(f, NULL, false, real(f, width, height));
}

int on_cuLaunchGridAsync(fn_cuLaunchGridAsync real, CUfunction f, int width, int height, CUstream stream) {
    return GATED(f, stream, false, real(f, width, height, stream));
}

int on_cuStreamDestroy(fn_cuStreamDestroy_v2 real, CUstream stream) {
    gate_forget_stream(stream);
    return real(stream);
}
