// SPDX-License-Identifier: Apache-2.0
//
// Part of the list of calls, see cuda_calls.h: devices, contexts, code, streams, launches.
#ifndef GPUSIM_CUDA_CALLS_CORE_H
#define GPUSIM_CUDA_CALLS_CORE_H

// clang-format off
#define CUDA_CALLS_CORE(X) \
    /* resolver and library */ \
    X(cuInit, cuInit, 2000, 0, NO, (unsigned int flags), (flags)) \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, 0, NO, (int *version), (version)) \
    X(cuGetErrorName, cuGetErrorName, 6000, 0, NO, (CUresult error, const char **text), (error, text)) \
    X(cuGetErrorString, cuGetErrorString, 6000, 0, NO, (CUresult error, const char **text), (error, text)) \
    X(cuGetExportTable, cuGetExportTable, 3000, 0, NO, (const void **table, const CUuuid *id), (table, id)) \
    X(cuGetProcAddress, cuGetProcAddress, 11030, 0, NO, (const char *symbol, void **pfn, int version, cuuint64_t flags), (symbol, pfn, version, flags)) \
    X(cuGetProcAddress_v2, cuGetProcAddress, 12000, 0, NO, (const char *symbol, void **pfn, int version, cuuint64_t flags, int *status), (symbol, pfn, version, flags, status)) \
    /* devices */ \
    X(cuDeviceGet, cuDeviceGet, 2000, 0, NO, (CUdevice *device, int ordinal), (device, ordinal)) \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, 0, NO, (int *count), (count)) \
    X(cuDeviceGetName, cuDeviceGetName, 2000, 0, NO, (char *name, int len, CUdevice dev), (name, len, dev)) \
    X(cuDeviceGetUuid, cuDeviceGetUuid, 9020, 0, NO, (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
    X(cuDeviceGetUuid_v2, cuDeviceGetUuid, 11040, 0, NO, (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
    X(cuDeviceGetLuid, cuDeviceGetLuid, 10000, 0, NO, (char *luid, unsigned int *mask, CUdevice dev), (luid, mask, dev)) \
    X(cuDeviceTotalMem, cuDeviceTotalMem, 2000, 0, NO, (unsigned int *bytes, CUdevice dev), (bytes, dev)) \
    X(cuDeviceTotalMem_v2, cuDeviceTotalMem, 3020, 0, NO, (size_t *bytes, CUdevice dev), (bytes, dev)) \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, 0, NO, (int *value, int attribute, CUdevice dev), (value, attribute, dev)) \
    X(cuDeviceGetProperties, cuDeviceGetProperties, 2000, 0, NO, (CUdevprop *prop, CUdevice dev), (prop, dev)) \
    X(cuDeviceComputeCapability, cuDeviceComputeCapability, 2000, 0, NO, (int *major, int *minor, CUdevice dev), (major, minor, dev)) \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, 0, NO, (char *id, int len, CUdevice dev), (id, len, dev)) \
    X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, 0, NO, (CUdevice *dev, const char *id), (dev, id)) \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, 0, NO, (int *can, CUdevice dev, CUdevice peer), (can, dev, peer)) \
    X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, 0, NO, (int *value, int attribute, CUdevice src, CUdevice dst), (value, attribute, src, dst)) \
    X(cuDeviceGetExecAffinitySupport, cuDeviceGetExecAffinitySupport, 11040, 0, NO, (int *pi, int type, CUdevice dev), (pi, type, dev)) \
    /* contexts */ \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, 0, NO, (CUcontext *ctx, CUdevice dev), (ctx, dev)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0, NO, (CUdevice dev), (dev)) \
    X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, 0, NO, (CUdevice dev), (dev)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 0, NO, (CUdevice dev), (dev)) \
    X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 0, NO, (CUdevice dev), (dev)) \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags, 7000, 0, NO, (CUdevice dev, unsigned int flags), (dev, flags)) \
    X(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags, 11000, 0, NO, (CUdevice dev, unsigned int flags), (dev, flags)) \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, 0, NO, (CUdevice dev, unsigned int *flags, int *active), (dev, flags, active)) \
    X(cuCtxCreate, cuCtxCreate, 2000, 0, NO, (CUcontext *ctx, unsigned int flags, CUdevice dev), (ctx, flags, dev)) \
    X(cuCtxCreate_v2, cuCtxCreate, 3020, 0, NO, (CUcontext *ctx, unsigned int flags, CUdevice dev), (ctx, flags, dev)) \
    X(cuCtxCreate_v3, cuCtxCreate, 11040, 0, NO, (CUcontext *ctx, CUexecAffinityParam *params, int count, unsigned int flags, CUdevice dev), (ctx, params, count, flags, dev)) \
    X(cuCtxCreate_v4, cuCtxCreate, 12050, 0, NO, (CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev), (ctx, params, flags, dev)) \
    X(cuCtxDestroy, cuCtxDestroy, 2000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxDestroy_v2, cuCtxDestroy, 4000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxAttach, cuCtxAttach, 2000, 0, NO, (CUcontext *ctx, unsigned int flags), (ctx, flags)) \
    X(cuCtxDetach, cuCtxDetach, 2000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxPushCurrent, cuCtxPushCurrent, 2000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxPushCurrent_v2, cuCtxPushCurrent, 4000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxPopCurrent, cuCtxPopCurrent, 2000, 0, NO, (CUcontext *ctx), (ctx)) \
    X(cuCtxPopCurrent_v2, cuCtxPopCurrent, 4000, 0, NO, (CUcontext *ctx), (ctx)) \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, 0, NO, (CUcontext *ctx), (ctx)) \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000, 0, NO, (CUdevice *dev), (dev)) \
    X(cuCtxGetDevice_v2, cuCtxGetDevice, 13000, 0, NO, (CUdevice *dev, CUcontext ctx), (dev, ctx)) \
    X(cuCtxGetFlags, cuCtxGetFlags, 7000, 0, NO, (unsigned int *flags), (flags)) \
    X(cuCtxSetFlags, cuCtxSetFlags, 12010, 0, NO, (unsigned int flags), (flags)) \
    X(cuCtxGetId, cuCtxGetId, 12000, 0, NO, (CUcontext ctx, unsigned long long *id), (ctx, id)) \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, 0, NO, (void), ()) \
    X(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, 0, NO, (CUcontext ctx), (ctx)) \
    X(cuCtxSetLimit, cuCtxSetLimit, 3010, 0, NO, (int limit, size_t value), (limit, value)) \
    X(cuCtxGetLimit, cuCtxGetLimit, 3010, 0, NO, (size_t *value, int limit), (value, limit)) \
    X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020, 0, NO, (int *config), (config)) \
    X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020, 0, NO, (int config), (config)) \
    X(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, 4020, 0, NO, (int *config), (config)) \
    X(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, 4020, 0, NO, (int config), (config)) \
    X(cuCtxGetApiVersion, cuCtxGetApiVersion, 3020, 0, NO, (CUcontext ctx, unsigned int *version), (ctx, version)) \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, 0, NO, (int *least, int *greatest), (least, greatest)) \
    X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, 11000, 0, NO, (void), ()) \
    X(cuCtxGetExecAffinity, cuCtxGetExecAffinity, 11040, 0, NO, (CUexecAffinityParam *param, int type), (param, type)) \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, 0, NO, (CUcontext peer, unsigned int flags), (peer, flags)) \
    X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, 0, NO, (CUcontext peer), (peer)) \
    /* code */ \
    X(cuModuleLoad, cuModuleLoad, 2000, 0, NO, (CUmodule *module, const char *file), (module, file)) \
    X(cuModuleLoadData, cuModuleLoadData, 2000, 0, NO, (CUmodule *module, const void *image), (module, image)) \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, 0, NO, (CUmodule *module, const void *image, unsigned int count, int *options, void **values), (module, image, count, options, values)) \
    X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, 0, NO, (CUmodule *module, const void *image), (module, image)) \
    X(cuModuleUnload, cuModuleUnload, 2000, 0, NO, (CUmodule module), (module)) \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, 0, NO, (CUfunction *function, CUmodule module, const char *name), (function, module, name)) \
    X(cuModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, 0, NO, (int *mode), (mode)) \
    X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, 0, NO, (unsigned int *count, CUmodule module), (count, module)) \
    X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, 0, NO, (CUfunction *functions, unsigned int count, CUmodule module), (functions, count, module)) \
    X(cuModuleGetGlobal, cuModuleGetGlobal, 2000, 0, NO, (unsigned int *ptr, unsigned int *bytes, CUmodule module, const char *name), (ptr, bytes, module, name)) \
    X(cuModuleGetGlobal_v2, cuModuleGetGlobal, 3020, 0, NO, (CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name), (ptr, bytes, module, name)) \
    X(cuLibraryLoadData, cuLibraryLoadData, 12000, 0, NO, (CUlibrary *library, const void *code, int *jit, void **jitValues, unsigned int jitCount, int *options, void **values, unsigned int count), (library, code, jit, jitValues, jitCount, options, values, count)) \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, 0, NO, (CUlibrary *library, const char *file, int *jit, void **jitValues, unsigned int jitCount, int *options, void **values, unsigned int count), (library, file, jit, jitValues, jitCount, options, values, count)) \
    X(cuLibraryUnload, cuLibraryUnload, 12000, 0, NO, (CUlibrary library), (library)) \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, 0, NO, (CUkernel *kernel, CUlibrary library, const char *name), (kernel, library, name)) \
    X(cuLibraryGetModule, cuLibraryGetModule, 12000, 0, NO, (CUmodule *module, CUlibrary library), (module, library)) \
    X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, 12040, 0, NO, (unsigned int *count, CUlibrary library), (count, library)) \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, 0, NO, (CUkernel *kernels, unsigned int count, CUlibrary library), (kernels, count, library)) \
    X(cuKernelGetFunction, cuKernelGetFunction, 12000, 0, NO, (CUfunction *function, CUkernel kernel), (function, kernel)) \
    X(cuKernelGetLibrary, cuKernelGetLibrary, 12050, 0, NO, (CUlibrary *library, CUkernel kernel), (library, kernel)) \
    X(cuKernelGetName, cuKernelGetName, 12030, 0, NO, (const char **name, CUkernel kernel), (name, kernel)) \
    X(cuKernelGetAttribute, cuKernelGetAttribute, 12000, 0, NO, (int *value, int attribute, CUkernel kernel, CUdevice dev), (value, attribute, kernel, dev)) \
    X(cuKernelSetAttribute, cuKernelSetAttribute, 12000, 0, NO, (int attribute, int value, CUkernel kernel, CUdevice dev), (attribute, value, kernel, dev)) \
    X(cuKernelSetCacheConfig, cuKernelSetCacheConfig, 12000, 0, NO, (CUkernel kernel, int config, CUdevice dev), (kernel, config, dev)) \
    X(cuFuncGetName, cuFuncGetName, 12030, 0, NO, (const char **name, CUfunction function), (name, function)) \
    X(cuFuncGetModule, cuFuncGetModule, 11000, 0, NO, (CUmodule *module, CUfunction function), (module, function)) \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, 0, NO, (int *value, int attribute, CUfunction function), (value, attribute, function)) \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, 0, NO, (CUfunction function, int attribute, int value), (function, attribute, value)) \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000, 0, NO, (CUfunction function, int config), (function, config)) \
    X(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, 4020, 0, NO, (CUfunction function, int config), (function, config)) \
    X(cuFuncIsLoaded, cuFuncIsLoaded, 12040, 0, NO, (int *state, CUfunction function), (state, function)) \
    X(cuFuncLoad, cuFuncLoad, 12040, 0, NO, (CUfunction function), (function)) \
    X(cuLinkCreate, cuLinkCreate, 5050, 0, NO, (unsigned int count, int *options, void **values, CUlinkState *state), (count, options, values, state)) \
    X(cuLinkCreate_v2, cuLinkCreate, 6050, 0, NO, (unsigned int count, int *options, void **values, CUlinkState *state), (count, options, values, state)) \
    X(cuLinkAddData, cuLinkAddData, 5050, 0, NO, (CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int count, int *options, void **values), (state, type, data, size, name, count, options, values)) \
    X(cuLinkAddData_v2, cuLinkAddData, 6050, 0, NO, (CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int count, int *options, void **values), (state, type, data, size, name, count, options, values)) \
    X(cuLinkComplete, cuLinkComplete, 5050, 0, NO, (CUlinkState state, void **cubin, size_t *size), (state, cubin, size)) \
    X(cuLinkDestroy, cuLinkDestroy, 5050, 0, NO, (CUlinkState state), (state)) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, 0, NO, (int *blocks, CUfunction function, int blockSize, size_t shared), (blocks, function, blockSize, shared)) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, 0, NO, (int *blocks, CUfunction function, int blockSize, size_t shared, unsigned int flags), (blocks, function, blockSize, shared, flags)) \
    X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050, 0, NO, (int *minGrid, int *blockSize, CUfunction function, void *sizes, size_t shared, int limit), (minGrid, blockSize, function, sizes, shared, limit)) \
    /* streams and events */ \
    X(cuStreamCreate, cuStreamCreate, 2000, 0, NO, (CUstream *stream, unsigned int flags), (stream, flags)) \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, 0, NO, (CUstream *stream, unsigned int flags, int priority), (stream, flags, priority)) \
    X(cuStreamDestroy, cuStreamDestroy, 2000, 0, NO, (CUstream stream), (stream)) \
    X(cuStreamDestroy_v2, cuStreamDestroy, 4000, 0, NO, (CUstream stream), (stream)) \
    X(cuStreamGetPriority, cuStreamGetPriority, 5050, 0, PTSZ, (CUstream stream, int *priority), (stream, priority)) \
    X(cuStreamGetFlags, cuStreamGetFlags, 5050, 0, PTSZ, (CUstream stream, unsigned int *flags), (stream, flags)) \
    X(cuStreamGetId, cuStreamGetId, 12000, 0, PTSZ, (CUstream stream, unsigned long long *id), (stream, id)) \
    X(cuStreamGetCtx, cuStreamGetCtx, 9020, 0, PTSZ, (CUstream stream, CUcontext *ctx), (stream, ctx)) \
    X(cuStreamGetCtx_v2, cuStreamGetCtx, 12050, 0, PTSZ, (CUstream stream, CUcontext *ctx, CUgreenCtx *green), (stream, ctx, green)) \
    X(cuStreamGetDevice, cuStreamGetDevice, 12080, 0, PTSZ, (CUstream stream, CUdevice *dev), (stream, dev)) \
    X(cuStreamQuery, cuStreamQuery, 2000, 0, PTSZ, (CUstream stream), (stream)) \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, 0, PTSZ, (CUstream stream), (stream)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, 0, PTSZ, (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags)) \
    X(cuStreamAddCallback, cuStreamAddCallback, 5000, 0, PTSZ, (CUstream stream, CUstreamCallback callback, void *user, unsigned int flags), (stream, callback, user, flags)) \
    X(cuStreamAttachMemAsync, cuStreamAttachMemAsync, 6000, 0, PTSZ, (CUstream stream, CUdeviceptr ptr, size_t length, unsigned int flags), (stream, ptr, length, flags)) \
    X(cuStreamCopyAttributes, cuStreamCopyAttributes, 11000, 0, PTSZ, (CUstream dst, CUstream src), (dst, src)) \
    X(cuStreamGetAttribute, cuStreamGetAttribute, 11000, 0, PTSZ, (CUstream stream, int attribute, void *value), (stream, attribute, value)) \
    X(cuStreamSetAttribute, cuStreamSetAttribute, 11000, 0, PTSZ, (CUstream stream, int attribute, const void *value), (stream, attribute, value)) \
    X(cuStreamWriteValue32, cuStreamWriteValue32, 8000, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue32_v2, cuStreamWriteValue32, 11070, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue64, cuStreamWriteValue64, 9000, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue64_v2, cuStreamWriteValue64, 11070, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue32, cuStreamWaitValue32, 8000, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue32_v2, cuStreamWaitValue32, 11070, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue64, cuStreamWaitValue64, 9000, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue64_v2, cuStreamWaitValue64, 11070, 0, PTSZ, (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp, 8000, 0, PTSZ, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags), (stream, count, ops, flags)) \
    X(cuStreamBatchMemOp_v2, cuStreamBatchMemOp, 11070, 0, PTSZ, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags), (stream, count, ops, flags)) \
    X(cuEventCreate, cuEventCreate, 2000, 0, NO, (CUevent *event, unsigned int flags), (event, flags)) \
    X(cuEventRecord, cuEventRecord, 2000, 0, PTSZ, (CUevent event, CUstream stream), (event, stream)) \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, 0, PTSZ, (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags)) \
    X(cuEventQuery, cuEventQuery, 2000, 0, NO, (CUevent event), (event)) \
    X(cuEventSynchronize, cuEventSynchronize, 2000, 0, NO, (CUevent event), (event)) \
    X(cuEventDestroy, cuEventDestroy, 2000, 0, NO, (CUevent event), (event)) \
    X(cuEventDestroy_v2, cuEventDestroy, 4000, 0, NO, (CUevent event), (event)) \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000, 0, NO, (float *ms, CUevent start, CUevent end), (ms, start, end)) \
    X(cuEventElapsedTime_v2, cuEventElapsedTime, 12080, 0, NO, (float *ms, CUevent start, CUevent end), (ms, start, end)) \
    /* launches */ \
    X(cuLaunchKernel, cuLaunchKernel, 4000, 0, PTSZ, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra), (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)) \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, 0, PTSZ, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra), (config, function, params, extra)) \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, 0, PTSZ, (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params), (function, gx, gy, gz, bx, by, bz, shared, stream, params)) \
    X(cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, 9000, 13000, NO, (CUDA_LAUNCH_PARAMS *list, unsigned int count, unsigned int flags), (list, count, flags)) \
    X(cuLaunchHostFunc, cuLaunchHostFunc, 10000, 0, PTSZ, (CUstream stream, CUhostFn fn, void *user), (stream, fn, user)) \
    X(cuLaunchHostFunc_v2, cuLaunchHostFunc, 13020, 0, PTSZ, (CUstream stream, CUhostFn fn, void *user, unsigned int syncMode), (stream, fn, user, syncMode)) \
    X(cuLaunch, cuLaunch, 2000, 0, NO, (CUfunction function), (function)) \
    X(cuLaunchGrid, cuLaunchGrid, 2000, 0, NO, (CUfunction function, int width, int height), (function, width, height)) \
    X(cuLaunchGridAsync, cuLaunchGridAsync, 2000, 0, NO, (CUfunction function, int width, int height, CUstream stream), (function, width, height, stream)) \
    X(cuFuncSetBlockShape, cuFuncSetBlockShape, 2000, 0, NO, (CUfunction function, int x, int y, int z), (function, x, y, z)) \
    X(cuFuncSetSharedSize, cuFuncSetSharedSize, 2000, 0, NO, (CUfunction function, unsigned int bytes), (function, bytes)) \
    X(cuParamSetSize, cuParamSetSize, 2000, 0, NO, (CUfunction function, unsigned int bytes), (function, bytes)) \
    X(cuParamSeti, cuParamSeti, 2000, 0, NO, (CUfunction function, int offset, unsigned int value), (function, offset, value)) \
    X(cuParamSetf, cuParamSetf, 2000, 0, NO, (CUfunction function, int offset, float value), (function, offset, value)) \
    X(cuParamSetv, cuParamSetv, 2000, 0, NO, (CUfunction function, int offset, void *data, unsigned int bytes), (function, offset, data, bytes)) \
    /* green contexts */ \
    X(cuDeviceGetDevResource, cuDeviceGetDevResource, 12040, 0, NO, (CUdevice dev, CUdevResource *resource, int type), (dev, resource, type)) \
    X(cuCtxGetDevResource, cuCtxGetDevResource, 12040, 0, NO, (CUcontext ctx, CUdevResource *resource, int type), (ctx, resource, type)) \
    X(cuGreenCtxGetDevResource, cuGreenCtxGetDevResource, 12040, 0, NO, (CUgreenCtx green, CUdevResource *resource, int type), (green, resource, type)) \
    X(cuDevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040, 0, NO, (CUdevResource *result, unsigned int *groups, const CUdevResource *input, CUdevResource *remaining, unsigned int flags, unsigned int minCount), (result, groups, input, remaining, flags, minCount)) \
    X(cuDevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040, 0, NO, (CUdevResourceDesc *desc, CUdevResource *resources, unsigned int count), (desc, resources, count)) \
    X(cuGreenCtxCreate, cuGreenCtxCreate, 12040, 0, NO, (CUgreenCtx *green, CUdevResourceDesc desc, CUdevice dev, unsigned int flags), (green, desc, dev, flags)) \
    X(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, 0, NO, (CUgreenCtx green), (green)) \
    X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040, 0, NO, (CUcontext *ctx, CUgreenCtx green), (ctx, green)) \
    X(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12040, 0, NO, (CUstream *stream, CUgreenCtx green, unsigned int flags, int priority), (stream, green, flags, priority)) \
    X(cuGreenCtxRecordEvent, cuGreenCtxRecordEvent, 12040, 0, NO, (CUgreenCtx green, CUevent event), (green, event)) \
    X(cuGreenCtxWaitEvent, cuGreenCtxWaitEvent, 12040, 0, NO, (CUgreenCtx green, CUevent event), (green, event)) \
    X(cuStreamGetGreenCtx, cuStreamGetGreenCtx, 12040, 0, NO, (CUstream stream, CUgreenCtx *green), (stream, green)) \
    X(cuCtxRecordEvent, cuCtxRecordEvent, 12050, 0, NO, (CUcontext ctx, CUevent event), (ctx, event)) \
    X(cuCtxWaitEvent, cuCtxWaitEvent, 12050, 0, NO, (CUcontext ctx, CUevent event), (ctx, event)) \
    /* checkpoint */ \
    X(cuCheckpointProcessLock, cuCheckpointProcessLock, 12080, 0, NO, (int pid, CUcheckpointLockArgs *args), (pid, args)) \
    X(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080, 0, NO, (int pid, void *args), (pid, args)) \
    X(cuCheckpointProcessRestore, cuCheckpointProcessRestore, 12080, 0, NO, (int pid, void *args), (pid, args)) \
    X(cuCheckpointProcessUnlock, cuCheckpointProcessUnlock, 12080, 0, NO, (int pid, void *args), (pid, args)) \
    X(cuCheckpointProcessGetState, cuCheckpointProcessGetState, 12080, 0, NO, (int pid, int *state), (pid, state)) \
    X(cuCheckpointProcessGetRestoreThreadId, cuCheckpointProcessGetRestoreThreadId, 12080, 0, NO, (int pid, int *tid), (pid, tid)) \
    /* profiler */ \
    X(cuProfilerStart, cuProfilerStart, 4000, 0, NO, (void), ()) \
    X(cuProfilerStop, cuProfilerStop, 4000, 0, NO, (void), ())
// clang-format on

#endif
