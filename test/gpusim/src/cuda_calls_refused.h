// SPDX-License-Identifier: Apache-2.0
//
// Part of the list of calls, see cuda_calls.h: what exists to be found, and always answers
// CUDA_ERROR_NOT_SUPPORTED.
#ifndef GPUSIM_CUDA_CALLS_REFUSED_H
#define GPUSIM_CUDA_CALLS_REFUSED_H

// clang-format off
#define CUDA_CALLS_REFUSED(X) \
    /* not supported */ \
    X(cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph, 13030, 0, NO, (CUstream stream, int mode, CUgraph graph, void *callback, void *user), (stream, mode, graph, callback, user)) \
    X(cuStreamBeginCaptureToCig, cuStreamBeginCaptureToCig, 13010, 0, NO, (CUstream stream, void *params), (stream, params)) \
    X(cuStreamEndCaptureToCig, cuStreamEndCaptureToCig, 13010, 0, NO, (CUstream stream), (stream)) \
    X(cuMemBatchDecompressAsync, cuMemBatchDecompressAsync, 12060, 0, PTSZ, (void *params, size_t count, unsigned int flags, size_t *failed, CUstream stream), (params, count, flags, failed, stream)) \
    X(cuLogicalEndpointBindMem, cuLogicalEndpointBindMem, 13030, 0, NO, (cuuint32_t endpoint, CUdevice dev, cuuint64_t offset, CUmemGenericAllocationHandle memory, cuuint64_t memoryOffset, cuuint64_t size, unsigned long long flags), (endpoint, dev, offset, memory, memoryOffset, size, flags)) \
    X(cuLogicalEndpointBindAddr, cuLogicalEndpointBindAddr, 13030, 0, NO, (cuuint32_t endpoint, CUdevice dev, cuuint64_t offset, void *ptr, cuuint64_t size, unsigned long long flags), (endpoint, dev, offset, ptr, size, flags)) \
    X(cuDevSmResourceSplit, cuDevSmResourceSplit, 13010, 0, NO, (CUdevResource *result, unsigned int groups, const CUdevResource *input, CUdevResource *remaining, unsigned int flags, void *params), (result, groups, input, remaining, flags, params)) \
    X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, 0, NO, (void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags), (handle, ptr, size, type, flags)) \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore, 10000, 0, NO, (CUexternalSemaphore *semaphore, const void *desc), (semaphore, desc)) \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync, 10000, 0, PTSZ, (const CUexternalSemaphore *semaphores, const void *params, unsigned int count, CUstream stream), (semaphores, params, count, stream)) \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync, 10000, 0, PTSZ, (const CUexternalSemaphore *semaphores, const void *params, unsigned int count, CUstream stream), (semaphores, params, count, stream)) \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore, 10000, 0, NO, (CUexternalSemaphore semaphore), (semaphore)) \
    X(cuModuleGetTexRef, cuModuleGetTexRef, 2000, 0, NO, (CUtexref *ref, CUmodule module, const char *name), (ref, module, name)) \
    X(cuModuleGetSurfRef, cuModuleGetSurfRef, 3000, 0, NO, (CUsurfref *ref, CUmodule module, const char *name), (ref, module, name)) \
    X(cuTexObjectCreate, cuTexObjectCreate, 5000, 0, NO, (unsigned long long *object, const void *resource, const void *texture, const void *view), (object, resource, texture, view)) \
    X(cuTexObjectDestroy, cuTexObjectDestroy, 5000, 0, NO, (unsigned long long object), (object)) \
    X(cuSurfObjectCreate, cuSurfObjectCreate, 5000, 0, NO, (unsigned long long *object, const void *resource), (object, resource)) \
    X(cuSurfObjectDestroy, cuSurfObjectDestroy, 5000, 0, NO, (unsigned long long object), (object)) \
    X(cuArrayGetSparseProperties, cuArrayGetSparseProperties, 11010, 0, NO, (void *properties, CUarray array), (properties, array)) \
    X(cuGraphDebugDotPrint, cuGraphDebugDotPrint, 11030, 0, NO, (CUgraph graph, const char *path, unsigned int flags), (graph, path, flags)) \
    X(cuUserObjectCreate, cuUserObjectCreate, 11030, 0, NO, (CUuserObject *object, void *ptr, CUhostFn destroy, unsigned int count, unsigned int flags), (object, ptr, destroy, count, flags)) \
    X(cuUserObjectRetain, cuUserObjectRetain, 11030, 0, NO, (CUuserObject object, unsigned int count), (object, count)) \
    X(cuUserObjectRelease, cuUserObjectRelease, 11030, 0, NO, (CUuserObject object, unsigned int count), (object, count)) \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, 0, NO, (CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags), (graph, object, count, flags)) \
    X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030, 0, NO, (CUgraph graph, CUuserObject object, unsigned int count), (graph, object, count))
// clang-format on

#endif
