// SPDX-License-Identifier: Apache-2.0
//
// Every driver symbol that the library stands in for, once. Each table is made
// from this list, so a hook that is missing in one of them cannot compile:
//
//   HOOK(symbol, rule, class, (parameters), (arguments))
//   TWIN(symbol, suffix, rule, class, (parameters), (arguments))
//
// rule is the function on_<rule> that does the work: versions of a call with the
// same parameters share one. A TWIN exists a second time as symbol_suffix, the
// form for per-thread default streams (NVIDIA's _ptsz and _ptds), and its rule is
// told which. Classes: INIT, CONTEXT, ALLOC, FREE, CODE, LAUNCH, GRAPH, CAPTURE,
// STREAM, COPY, INFO, RESOLVE and NVML, which is in the other library and comes last.
//
// passed.h names what is looked at and left alone.
// clang-format off

/* resolving, init */
HOOK(cuGetProcAddress, cuGetProcAddress, RESOLVE, (const char *name, void **function, int version, uint64_t flags), (name, function, version, flags))
HOOK(cuGetProcAddress_v2, cuGetProcAddress_v2, RESOLVE, (const char *name, void **function, int version, uint64_t flags, int *status), (name, function, version, flags, status))
HOOK(cuGetExportTable, cuGetExportTable, RESOLVE, (const void **table, const CUuuid *id), (table, id))
HOOK(cuInit, cuInit, INIT, (unsigned flags), (flags))

/* contexts */
HOOK(cuCtxCreate, cuCtxCreate, CONTEXT, (CUcontext *ctx, unsigned flags, CUdevice dev), (ctx, flags, dev))
HOOK(cuCtxCreate_v2, cuCtxCreate, CONTEXT, (CUcontext *ctx, unsigned flags, CUdevice dev), (ctx, flags, dev))
HOOK(cuCtxCreate_v3, cuCtxCreate_v3, CONTEXT, (CUcontext *ctx, void *affinity, int count, unsigned flags, CUdevice dev), (ctx, affinity, count, flags, dev))
HOOK(cuCtxCreate_v4, cuCtxCreate_v4, CONTEXT, (CUcontext *ctx, void *params, unsigned flags, CUdevice dev), (ctx, params, flags, dev))
HOOK(cuCtxDestroy, cuCtxDestroy, CONTEXT, (CUcontext ctx), (ctx))
HOOK(cuCtxDestroy_v2, cuCtxDestroy, CONTEXT, (CUcontext ctx), (ctx))
HOOK(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, CONTEXT, (CUcontext *ctx, CUdevice dev), (ctx, dev))
HOOK(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, CONTEXT, (CUdevice dev), (dev))
HOOK(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, CONTEXT, (CUdevice dev), (dev))
HOOK(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, CONTEXT, (CUdevice dev), (dev))
HOOK(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, CONTEXT, (CUdevice dev), (dev))
HOOK(cuGreenCtxCreate, cuGreenCtxCreate, CONTEXT, (CUgreenCtx *green, void *desc, CUdevice dev, unsigned flags), (green, desc, dev, flags))

/* device memory */
HOOK(cuMemAlloc, cuMemAlloc_v1, ALLOC, (unsigned *ptr, unsigned bytes), (ptr, bytes))
HOOK(cuMemAlloc_v2, cuMemAlloc, ALLOC, (CUdeviceptr *ptr, size_t bytes), (ptr, bytes))
HOOK(cuMemAllocPitch, cuMemAllocPitch_v1, ALLOC, (unsigned *ptr, unsigned *pitch, unsigned width, unsigned height, unsigned element), (ptr, pitch, width, height, element))
HOOK(cuMemAllocPitch_v2, cuMemAllocPitch, ALLOC, (CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned element), (ptr, pitch, width, height, element))
HOOK(cuMemAllocManaged, cuMemAllocManaged, ALLOC, (CUdeviceptr *ptr, size_t bytes, unsigned flags), (ptr, bytes, flags))
HOOK(cuMemFree, cuMemFree_v1, FREE, (unsigned ptr), (ptr))
HOOK(cuMemFree_v2, cuMemFree, FREE, (CUdeviceptr ptr), (ptr))
HOOK(cuArrayCreate, cuArrayCreate_v1, ALLOC, (CUarray *array, const unsigned *desc), (array, desc))
HOOK(cuArrayCreate_v2, cuArrayCreate, ALLOC, (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc), (array, desc))
HOOK(cuArray3DCreate, cuArray3DCreate_v1, ALLOC, (CUarray *array, const unsigned *desc), (array, desc))
HOOK(cuArray3DCreate_v2, cuArray3DCreate, ALLOC, (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc), (array, desc))
HOOK(cuArrayDestroy, cuArrayDestroy, FREE, (CUarray array), (array))
HOOK(cuMipmappedArrayCreate, cuMipmappedArrayCreate, ALLOC, (CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned levels), (array, desc, levels))
HOOK(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, FREE, (CUmipmappedArray array), (array))

/* pools */
TWIN(cuMemAllocAsync, ptsz, cuMemAllocAsync, ALLOC, (CUdeviceptr *ptr, size_t bytes, CUstream stream), (ptr, bytes, stream))
TWIN(cuMemAllocFromPoolAsync, ptsz, cuMemAllocFromPoolAsync, ALLOC, (CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream), (ptr, bytes, pool, stream))
TWIN(cuMemFreeAsync, ptsz, cuMemFreeAsync, FREE, (CUdeviceptr ptr, CUstream stream), (ptr, stream))
HOOK(cuMemPoolCreate, cuMemPoolCreate, ALLOC, (CUmemoryPool *pool, const CUmemPoolProps *props), (pool, props))
HOOK(cuMemPoolDestroy, cuMemPoolDestroy, FREE, (CUmemoryPool pool), (pool))
HOOK(cuMemPoolTrimTo, cuMemPoolTrimTo, FREE, (CUmemoryPool pool, size_t keep), (pool, keep))
HOOK(cuMemPoolSetAttribute, cuMemPoolSetAttribute, FREE, (CUmemoryPool pool, int attribute, void *value), (pool, attribute, value))
HOOK(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, FREE, (CUdevice dev), (dev))

/* virtual memory */
HOOK(cuMemCreate, cuMemCreate, ALLOC, (uint64_t *handle, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags), (handle, bytes, prop, flags))
HOOK(cuMemRelease, cuMemRelease, FREE, (uint64_t handle), (handle))
HOOK(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, ALLOC, (uint64_t *handle, void *address), (handle, address))
HOOK(cuMemMap, cuMemMap, ALLOC, (CUdeviceptr ptr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags), (ptr, bytes, offset, handle, flags))
HOOK(cuMemUnmap, cuMemUnmap, FREE, (CUdeviceptr ptr, size_t bytes), (ptr, bytes))

/* pinned host memory, counted only */
HOOK(cuMemHostAlloc, cuMemHostAlloc, ALLOC, (void **ptr, size_t bytes, unsigned flags), (ptr, bytes, flags))
HOOK(cuMemAllocHost, cuMemAllocHost_v1, ALLOC, (void **ptr, unsigned bytes), (ptr, bytes))
HOOK(cuMemAllocHost_v2, cuMemAllocHost, ALLOC, (void **ptr, size_t bytes), (ptr, bytes))
HOOK(cuMemFreeHost, cuMemFreeHost, FREE, (void *ptr), (ptr))
HOOK(cuMemHostRegister, cuMemHostRegister, ALLOC, (void *ptr, size_t bytes, unsigned flags), (ptr, bytes, flags))
HOOK(cuMemHostRegister_v2, cuMemHostRegister, ALLOC, (void *ptr, size_t bytes, unsigned flags), (ptr, bytes, flags))
HOOK(cuMemHostUnregister, cuMemHostUnregister, FREE, (void *ptr), (ptr))

/* code memory */
HOOK(cuModuleLoad, cuModuleLoad, CODE, (CUmodule *module, const char *path), (module, path))
HOOK(cuModuleLoadData, cuModuleLoadData, CODE, (CUmodule *module, const void *image), (module, image))
HOOK(cuModuleLoadDataEx, cuModuleLoadDataEx, CODE, (CUmodule *module, const void *image, unsigned count, int *options, void **values), (module, image, count, options, values))
HOOK(cuModuleUnload, cuModuleUnload, CODE, (CUmodule module), (module))

/* questions whose answer is the slice's, not the GPU's */
HOOK(cuMemGetInfo, cuMemGetInfo_v1, INFO, (unsigned *available, unsigned *total), (available, total))
HOOK(cuMemGetInfo_v2, cuMemGetInfo, INFO, (size_t *available, size_t *total), (available, total))
HOOK(cuDeviceTotalMem, cuDeviceTotalMem_v1, INFO, (unsigned *bytes, CUdevice dev), (bytes, dev))
HOOK(cuDeviceTotalMem_v2, cuDeviceTotalMem, INFO, (size_t *bytes, CUdevice dev), (bytes, dev))

/* launches */
TWIN(cuLaunchKernel, ptsz, cuLaunchKernel, LAUNCH, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, void **extra), (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
TWIN(cuLaunchKernelEx, ptsz, cuLaunchKernelEx, LAUNCH, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), (config, f, params, extra))
TWIN(cuLaunchCooperativeKernel, ptsz, cuLaunchCooperativeKernel, LAUNCH, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params), (f, gx, gy, gz, bx, by, bz, shared, stream, params))
HOOK(cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, LAUNCH, (CUDA_LAUNCH_PARAMS *list, unsigned count, unsigned flags), (list, count, flags))
HOOK(cuLaunch, cuLaunch, LAUNCH, (CUfunction f), (f))
HOOK(cuLaunchGrid, cuLaunchGrid, LAUNCH, (CUfunction f, int width, int height), (f, width, height))
HOOK(cuLaunchGridAsync, cuLaunchGridAsync, LAUNCH, (CUfunction f, int width, int height, CUstream stream), (f, width, height, stream))

/* graphs */
HOOK(cuGraphInstantiate, cuGraphInstantiate, GRAPH, (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size), (exec, graph, node, log, size))
HOOK(cuGraphInstantiate_v2, cuGraphInstantiate, GRAPH, (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size), (exec, graph, node, log, size))
HOOK(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, GRAPH, (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))
TWIN(cuGraphInstantiateWithParams, ptsz, cuGraphInstantiateWithParams, GRAPH, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), (exec, graph, params))
TWIN(cuGraphUpload, ptsz, cuGraphUpload, GRAPH, (CUgraphExec exec, CUstream stream), (exec, stream))
TWIN(cuGraphLaunch, ptsz, cuGraphLaunch, LAUNCH, (CUgraphExec exec, CUstream stream), (exec, stream))
HOOK(cuGraphExecDestroy, cuGraphExecDestroy, GRAPH, (CUgraphExec exec), (exec))

/* capture */
TWIN(cuStreamBeginCapture, ptsz, cuStreamBeginCapture, CAPTURE, (CUstream stream), (stream))
TWIN(cuStreamBeginCapture_v2, ptsz, cuStreamBeginCapture_v2, CAPTURE, (CUstream stream, int mode), (stream, mode))
TWIN(cuStreamBeginCaptureToGraph, ptsz, cuStreamBeginCaptureToGraph, CAPTURE, (CUstream stream, CUgraph graph, const void *deps, const void *edges, size_t count, int mode), (stream, graph, deps, edges, count, mode))
TWIN(cuStreamBeginRecaptureToGraph, ptsz, cuStreamBeginRecaptureToGraph, CAPTURE, (CUstream stream, int mode, CUgraph graph, void *callback, void *user), (stream, mode, graph, callback, user))
TWIN(cuStreamBeginCaptureToCig, ptsz, cuStreamBeginCaptureToCig, CAPTURE, (CUstream stream, void *params), (stream, params))
TWIN(cuStreamEndCaptureToCig, ptsz, cuStreamEndCaptureToCig, CAPTURE, (CUstream stream), (stream))
TWIN(cuStreamEndCapture, ptsz, cuStreamEndCapture, CAPTURE, (CUstream stream, CUgraph *graph), (stream, graph))

/* streams */
HOOK(cuStreamDestroy, cuStreamDestroy, STREAM, (CUstream stream), (stream))
HOOK(cuStreamDestroy_v2, cuStreamDestroy, STREAM, (CUstream stream), (stream))

/* copies and fills: work, when they are large */
TWIN(cuMemcpy, ptds, cuMemcpy, COPY, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes))
TWIN(cuMemcpyAsync, ptsz, cuMemcpyAsync, COPY, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream))
TWIN(cuMemcpyPeer, ptds, cuMemcpyPeer, COPY, (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes), (dst, to, src, from, bytes))
TWIN(cuMemcpyPeerAsync, ptsz, cuMemcpyPeerAsync, COPY, (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes, CUstream stream), (dst, to, src, from, bytes, stream))
TWIN(cuMemcpyHtoD_v2, ptds, cuMemcpyHtoD, COPY, (CUdeviceptr dst, const void *src, size_t bytes), (dst, src, bytes))
TWIN(cuMemcpyDtoH_v2, ptds, cuMemcpyDtoH, COPY, (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes))
TWIN(cuMemcpyDtoD_v2, ptds, cuMemcpyDtoD, COPY, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes))
TWIN(cuMemcpyHtoDAsync_v2, ptsz, cuMemcpyHtoDAsync, COPY, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream), (dst, src, bytes, stream))
TWIN(cuMemcpyDtoHAsync_v2, ptsz, cuMemcpyDtoHAsync, COPY, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream))
TWIN(cuMemcpyDtoDAsync_v2, ptsz, cuMemcpyDtoDAsync, COPY, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream))
TWIN(cuMemcpy2D_v2, ptds, cuMemcpy2D, COPY, (const CUDA_MEMCPY2D *copy), (copy))
TWIN(cuMemcpy2DUnaligned_v2, ptds, cuMemcpy2DUnaligned, COPY, (const CUDA_MEMCPY2D *copy), (copy))
TWIN(cuMemcpy2DAsync_v2, ptsz, cuMemcpy2DAsync, COPY, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
TWIN(cuMemcpy3D_v2, ptds, cuMemcpy3D, COPY, (const CUDA_MEMCPY3D *copy), (copy))
TWIN(cuMemcpy3DAsync_v2, ptsz, cuMemcpy3DAsync, COPY, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream))
TWIN(cuMemcpyBatchAsync, ptsz, cuMemcpyBatchAsync, COPY, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs, size_t *indexes, size_t kinds, size_t *failed, CUstream stream), (dsts, srcs, sizes, count, attrs, indexes, kinds, failed, stream))
TWIN(cuMemcpyBatchAsync_v2, ptsz, cuMemcpyBatchAsync_v2, COPY, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attrs, size_t *indexes, size_t kinds, CUstream stream), (dsts, srcs, sizes, count, attrs, indexes, kinds, stream))
TWIN(cuMemsetD8_v2, ptds, cuMemsetD8, COPY, (CUdeviceptr dst, unsigned char value, size_t count), (dst, value, count))
TWIN(cuMemsetD16_v2, ptds, cuMemsetD16, COPY, (CUdeviceptr dst, unsigned short value, size_t count), (dst, value, count))
TWIN(cuMemsetD32_v2, ptds, cuMemsetD32, COPY, (CUdeviceptr dst, unsigned value, size_t count), (dst, value, count))
TWIN(cuMemsetD8Async, ptsz, cuMemsetD8Async, COPY, (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream), (dst, value, count, stream))
TWIN(cuMemsetD16Async, ptsz, cuMemsetD16Async, COPY, (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream), (dst, value, count, stream))
TWIN(cuMemsetD32Async, ptsz, cuMemsetD32Async, COPY, (CUdeviceptr dst, unsigned value, size_t count, CUstream stream), (dst, value, count, stream))
TWIN(cuMemPrefetchAsync, ptsz, cuMemPrefetchAsync, COPY, (CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream), (ptr, bytes, dev, stream))
TWIN(cuMemPrefetchAsync_v2, ptsz, cuMemPrefetchAsync_v2, COPY, (CUdeviceptr ptr, size_t bytes, CUmemLocation place, unsigned flags, CUstream stream), (ptr, bytes, place, flags, stream))

/* NVML */
HOOK(nvmlDeviceGetMemoryInfo, nvmlDeviceGetMemoryInfo, NVML, (nvmlDevice_t dev, nvmlMemory_t *memory), (dev, memory))
HOOK(nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetMemoryInfo_v2, NVML, (nvmlDevice_t dev, nvmlMemory_v2_t *memory), (dev, memory))
HOOK(nvmlDeviceSetComputeMode, nvmlDeviceSetComputeMode, NVML, (nvmlDevice_t dev, int mode), (dev, mode))
