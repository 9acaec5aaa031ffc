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

// A launch on several GPUs, in the order of their numbers: all programs wait in the
// same order, so none waits for a GPU that another one holds while it waits for its.
struct several {
    fn_cuLaunchCooperativeKernelMultiDevice real;
    CUDA_LAUNCH_PARAMS *list;
    unsigned count, flags;
    struct {
        CUdevice device;
        CUcontext context;
        const CUDA_LAUNCH_PARAMS *launch;
    } on[MAX_DEVICES];
    int (*push)(CUcontext);
    int (*pop)(CUcontext *);
};

// sort finds where each launch runs; false: the driver does not say.
static bool sort(struct several *s) {
    int (*context_of)(CUstream, CUcontext *) = DRIVER(cuStreamGetCtx, CUstream, CUcontext *);
    int (*device)(CUdevice *) = DRIVER(cuCtxGetDevice, CUdevice *);
    for (unsigned i = 0; i < s->count; i++) {
        CUcontext context, popped;
        CUdevice dev;
        if (!context_of || !device || context_of(s->list[i].hStream, &context) || s->push(context)) return false;
        bool found = device(&dev) == CUDA_SUCCESS;
        s->pop(&popped);
        if (!found) return false;
        unsigned at = i;
        for (; at > 0 && s->on[at - 1].device > dev; at--) s->on[at] = s->on[at - 1];
        s->on[at].device = dev;
        s->on[at].context = context;
        s->on[at].launch = &s->list[i];
    }
    return true;
}

// launch_on holds the GPUs before the one at that place, and goes on to the next.
static int launch_on(struct several *s, unsigned at) {
    CUcontext popped;
    if (at == s->count) return s->real(s->list, s->count, s->flags);
    const CUDA_LAUNCH_PARAMS *l = s->on[at].launch;
    int pushed = s->push(s->on[at].context);
    if (pushed != CUDA_SUCCESS) return pushed;
    struct gate_thread *outer = gate_nest();
    int result = GATED(l->function, l->hStream, false, launch_on(s, at + 1));
    gate_unnest(outer);
    s->pop(&popped);
    return result;
}

int on_cuLaunchCooperativeKernelMultiDevice(fn_cuLaunchCooperativeKernelMultiDevice real, CUDA_LAUNCH_PARAMS *list,
                                            unsigned count, unsigned flags) {
    struct several s = {.real = real, .list = list, .count = count, .flags = flags};
    s.push = DRIVER(cuCtxPushCurrent_v2, CUcontext);
    s.pop = DRIVER(cuCtxPopCurrent_v2, CUcontext *);
    if (!list || count == 0 || count > MAX_DEVICES || !s.push || !s.pop || !sort(&s)) return real(list, count, flags);
    return launch_on(&s, 0);
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
