// SPDX-License-Identifier: Apache-2.0
//
// What the tenant needs of a CUDA driver, simulated or real. Nothing is
// linked: the library is opened by name and asked for its calls.
#ifndef GPUSIM_TENANT_DRIVER_H
#define GPUSIM_TENANT_DRIVER_H

#include "cuda_abi.h"

// X(member, base name, CUDA version of the wanted form, parameters)
#define TENANT_CALLS(X)                                                                                     \
    X(Init, "cuInit", 2000, (unsigned flags))                                                               \
    X(ErrorName, "cuGetErrorName", 6000, (CUresult code, const char **name))                                \
    X(PrimaryRetain, "cuDevicePrimaryCtxRetain", 7000, (CUcontext * ctx, CUdevice dev))                     \
    X(SetCurrent, "cuCtxSetCurrent", 4000, (CUcontext ctx))                                                 \
    X(Load, "cuModuleLoadData", 2000, (CUmodule * module, const void *image))                               \
    X(Function, "cuModuleGetFunction", 2000, (CUfunction * function, CUmodule module, const char *name))    \
    X(MemAlloc, "cuMemAlloc", 3020, (CUdeviceptr * ptr, size_t bytes))                                      \
    X(StreamCreate, "cuStreamCreate", 2000, (CUstream * stream, unsigned flags))                            \
    X(StreamSync, "cuStreamSynchronize", 2000, (CUstream stream))                                           \
    X(EventCreate, "cuEventCreate", 2000, (CUevent * event, unsigned flags))                                \
    X(EventRecord, "cuEventRecord", 2000, (CUevent event, CUstream stream))                                 \
    X(EventSync, "cuEventSynchronize", 2000, (CUevent event))                                               \
    X(Elapsed, "cuEventElapsedTime", 2000, (float *ms, CUevent start, CUevent end))                         \
    X(Launch, "cuLaunchKernel", 4000,                                                                       \
      (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared, CUstream stream, void **params, void **extra))                                      \
    X(LaunchEx, "cuLaunchKernelEx", 11060,                                                                  \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))                     \
    X(LaunchCooperative, "cuLaunchCooperativeKernel", 9000,                                                 \
      (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared, CUstream stream, void **params))                                                    \
    X(BeginCapture, "cuStreamBeginCapture", 10010, (CUstream stream, int mode))                             \
    X(EndCapture, "cuStreamEndCapture", 10000, (CUstream stream, CUgraph * graph))                          \
    X(Instantiate, "cuGraphInstantiateWithFlags", 11040,                                                    \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                                        \
    X(GraphLaunch, "cuGraphLaunch", 10000, (CUgraphExec exec, CUstream stream))

struct driver {
#define X(member, base, version, params) CUresult(*member) params;
    TENANT_CALLS(X)
#undef X
    CUfunction busy;
    uint64_t turns_per_us; // of the spin loop on this GPU
};

// driver_open opens libcuda.so.1, makes the device's primary context current
// and loads the kernel. It prints why it cannot and exits.
void driver_open(struct driver *d, int device);

// driver_must exits with the call's name and the error's unless it succeeded.
void driver_must(const struct driver *d, const char *call, CUresult r);
#define MUST(d, call, ...) driver_must((d), #call, (d)->call(__VA_ARGS__))

#endif
