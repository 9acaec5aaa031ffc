// SPDX-License-Identifier: Apache-2.0
//
// Part of the list of calls, see cuda_calls.h: memory and copies.
#ifndef GPUSIM_CUDA_CALLS_MEMORY_H
#define GPUSIM_CUDA_CALLS_MEMORY_H

// clang-format off
#define CUDA_CALLS_MEMORY(X) \
    /* plain memory */ \
    X(cuMemGetInfo, cuMemGetInfo, 2000, 0, NO, (unsigned int *free, unsigned int *total), (free, total)) \
    X(cuMemGetInfo_v2, cuMemGetInfo, 3020, 0, NO, (size_t *free, size_t *total), (free, total)) \
    X(cuMemAlloc, cuMemAlloc, 2000, 0, NO, (unsigned int *ptr, unsigned int bytes), (ptr, bytes)) \
    X(cuMemAlloc_v2, cuMemAlloc, 3020, 0, NO, (CUdeviceptr *ptr, size_t bytes), (ptr, bytes)) \
    X(cuMemAllocPitch, cuMemAllocPitch, 2000, 0, NO, (unsigned int *ptr, unsigned int *pitch, unsigned int width, unsigned int height, unsigned int element), (ptr, pitch, width, height, element)) \
    X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, 0, NO, (CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element), (ptr, pitch, width, height, element)) \
    X(cuMemAllocManaged, cuMemAllocManaged, 6000, 0, NO, (CUdeviceptr *ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags)) \
    X(cuMemFree, cuMemFree, 2000, 0, NO, (unsigned int ptr), (ptr)) \
    X(cuMemFree_v2, cuMemFree, 3020, 0, NO, (CUdeviceptr ptr), (ptr)) \
    X(cuMemGetAddressRange, cuMemGetAddressRange, 2000, 0, NO, (unsigned int *base, unsigned int *size, unsigned int ptr), (base, size, ptr)) \
    X(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020, 0, NO, (CUdeviceptr *base, size_t *size, CUdeviceptr ptr), (base, size, ptr)) \
    X(cuMemAllocHost, cuMemAllocHost, 2000, 0, NO, (void **ptr, unsigned int bytes), (ptr, bytes)) \
    X(cuMemAllocHost_v2, cuMemAllocHost, 3020, 0, NO, (void **ptr, size_t bytes), (ptr, bytes)) \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, 0, NO, (void **ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags)) \
    X(cuMemFreeHost, cuMemFreeHost, 2000, 0, NO, (void *ptr), (ptr)) \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer, 2020, 0, NO, (unsigned int *ptr, void *host, unsigned int flags), (ptr, host, flags)) \
    X(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, 3020, 0, NO, (CUdeviceptr *ptr, void *host, unsigned int flags), (ptr, host, flags)) \
    X(cuMemHostGetFlags, cuMemHostGetFlags, 2030, 0, NO, (unsigned int *flags, void *host), (flags, host)) \
    X(cuMemHostRegister, cuMemHostRegister, 4000, 0, NO, (void *ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags)) \
    X(cuMemHostRegister_v2, cuMemHostRegister, 6050, 0, NO, (void *ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags)) \
    X(cuMemHostUnregister, cuMemHostUnregister, 4000, 0, NO, (void *ptr), (ptr)) \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, 0, NO, (void *data, int attribute, CUdeviceptr ptr), (data, attribute, ptr)) \
    X(cuPointerGetAttributes, cuPointerGetAttributes, 7000, 0, NO, (unsigned int count, int *attributes, void **data, CUdeviceptr ptr), (count, attributes, data, ptr)) \
    X(cuPointerSetAttribute, cuPointerSetAttribute, 6000, 0, NO, (const void *value, int attribute, CUdeviceptr ptr), (value, attribute, ptr)) \
    X(cuMemAdvise, cuMemAdvise, 8000, 0, NO, (CUdeviceptr ptr, size_t bytes, int advice, CUdevice dev), (ptr, bytes, advice, dev)) \
    X(cuMemAdvise_v2, cuMemAdvise, 12020, 0, NO, (CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation location), (ptr, bytes, advice, location)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, 0, PTSZ, (CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream), (ptr, bytes, dev, stream)) \
    X(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, 12020, 0, PTSZ, (CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream), (ptr, bytes, location, flags, stream)) \
    X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000, 0, PTSZ, (CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *indices, size_t locationCount, unsigned long long flags, CUstream stream), (ptrs, sizes, count, locations, indices, locationCount, flags, stream)) \
    X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000, 0, PTSZ, (CUdeviceptr *ptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream), (ptrs, sizes, count, flags, stream)) \
    X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000, 0, PTSZ, (CUdeviceptr *ptrs, size_t *sizes, size_t count, CUmemLocation *locations, size_t *indices, size_t locationCount, unsigned long long flags, CUstream stream), (ptrs, sizes, count, locations, indices, locationCount, flags, stream)) \
    /* pools */ \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, 0, NO, (CUmemoryPool *pool, CUdevice dev), (pool, dev)) \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, 0, NO, (CUmemoryPool *pool, CUdevice dev), (pool, dev)) \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, 0, NO, (CUdevice dev, CUmemoryPool pool), (dev, pool)) \
    X(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000, 0, NO, (CUmemoryPool *pool, CUmemLocation *location, int type), (pool, location, type)) \
    X(cuMemGetMemPool, cuMemGetMemPool, 13000, 0, NO, (CUmemoryPool *pool, CUmemLocation *location, int type), (pool, location, type)) \
    X(cuMemSetMemPool, cuMemSetMemPool, 13000, 0, NO, (CUmemLocation *location, int type, CUmemoryPool pool), (location, type, pool)) \
    X(cuMemPoolCreate, cuMemPoolCreate, 11020, 0, NO, (CUmemoryPool *pool, const CUmemPoolProps *props), (pool, props)) \
    X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 0, NO, (CUmemoryPool pool), (pool)) \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 0, NO, (CUmemoryPool pool, size_t keep), (pool, keep)) \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, 0, NO, (CUmemoryPool pool, int attribute, void *value), (pool, attribute, value)) \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, 0, NO, (CUmemoryPool pool, int attribute, void *value), (pool, attribute, value)) \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, 0, NO, (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count), (pool, map, count)) \
    X(cuMemPoolGetAccess, cuMemPoolGetAccess, 11020, 0, NO, (int *flags, CUmemoryPool pool, CUmemLocation *location), (flags, pool, location)) \
    X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020, 0, NO, (void *handle, CUmemoryPool pool, int type, unsigned long long flags), (handle, pool, type, flags)) \
    X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, 0, NO, (CUmemoryPool *pool, void *handle, int type, unsigned long long flags), (pool, handle, type, flags)) \
    X(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, 0, NO, (CUmemPoolPtrExportData *data, CUdeviceptr ptr), (data, ptr)) \
    X(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, 0, NO, (CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data), (ptr, pool, data)) \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, 0, PTSZ, (CUdeviceptr *ptr, size_t bytes, CUstream stream), (ptr, bytes, stream)) \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 0, PTSZ, (CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream), (ptr, bytes, pool, stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, 0, PTSZ, (CUdeviceptr ptr, CUstream stream), (ptr, stream)) \
    /* virtual memory */ \
    X(cuMemAddressReserve, cuMemAddressReserve, 10020, 0, NO, (CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags), (ptr, size, alignment, hint, flags)) \
    X(cuMemAddressFree, cuMemAddressFree, 10020, 0, NO, (CUdeviceptr ptr, size_t size), (ptr, size)) \
    X(cuMemCreate, cuMemCreate, 10020, 0, NO, (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags), (handle, size, prop, flags)) \
    X(cuMemRelease, cuMemRelease, 10020, 0, NO, (CUmemGenericAllocationHandle handle), (handle)) \
    X(cuMemMap, cuMemMap, 10020, 0, NO, (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), (ptr, size, offset, handle, flags)) \
    X(cuMemUnmap, cuMemUnmap, 10020, 0, NO, (CUdeviceptr ptr, size_t size), (ptr, size)) \
    X(cuMemMapArrayAsync, cuMemMapArrayAsync, 11010, 0, PTSZ, (void *list, unsigned int count, CUstream stream), (list, count, stream)) \
    X(cuMemSetAccess, cuMemSetAccess, 10020, 0, NO, (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count), (ptr, size, desc, count)) \
    X(cuMemGetAccess, cuMemGetAccess, 10020, 0, NO, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr), (flags, location, ptr)) \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, 0, NO, (void *shareable, CUmemGenericAllocationHandle handle, int type, unsigned long long flags), (shareable, handle, type, flags)) \
    X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, 0, NO, (CUmemGenericAllocationHandle *handle, void *shareable, int type), (handle, shareable, type)) \
    X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020, 0, NO, (size_t *granularity, const CUmemAllocationProp *prop, int option), (granularity, prop, option)) \
    X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, 10020, 0, NO, (CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle), (prop, handle)) \
    X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, 0, NO, (CUmemGenericAllocationHandle *handle, void *address), (handle, address)) \
    X(cuMulticastCreate, cuMulticastCreate, 12010, 0, NO, (CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop), (handle, prop)) \
    X(cuMulticastAddDevice, cuMulticastAddDevice, 12010, 0, NO, (CUmemGenericAllocationHandle handle, CUdevice dev), (handle, dev)) \
    X(cuMulticastBindMem, cuMulticastBindMem, 12010, 0, NO, (CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory, size_t memoryOffset, size_t size, unsigned long long flags), (handle, offset, memory, memoryOffset, size, flags)) \
    X(cuMulticastBindMem_v2, cuMulticastBindMem, 13010, 0, NO, (CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, CUmemGenericAllocationHandle memory, size_t memoryOffset, size_t size, unsigned long long flags), (handle, dev, offset, memory, memoryOffset, size, flags)) \
    X(cuMulticastBindAddr, cuMulticastBindAddr, 12010, 0, NO, (CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr ptr, size_t size, unsigned long long flags), (handle, offset, ptr, size, flags)) \
    X(cuMulticastBindAddr_v2, cuMulticastBindAddr, 13010, 0, NO, (CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, CUdeviceptr ptr, size_t size, unsigned long long flags), (handle, dev, offset, ptr, size, flags)) \
    X(cuMulticastUnbind, cuMulticastUnbind, 12010, 0, NO, (CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, size_t size), (handle, dev, offset, size)) \
    X(cuMulticastGetGranularity, cuMulticastGetGranularity, 12010, 0, NO, (size_t *granularity, const CUmulticastObjectProp *prop, int option), (granularity, prop, option)) \
    /* arrays, sharing, external */ \
    X(cuArrayCreate, cuArrayCreate, 2000, 0, NO, (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc), (array, desc)) \
    X(cuArrayCreate_v2, cuArrayCreate, 3020, 0, NO, (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc), (array, desc)) \
    X(cuArrayGetDescriptor, cuArrayGetDescriptor, 2000, 0, NO, (CUDA_ARRAY_DESCRIPTOR *desc, CUarray array), (desc, array)) \
    X(cuArrayGetDescriptor_v2, cuArrayGetDescriptor, 3020, 0, NO, (CUDA_ARRAY_DESCRIPTOR *desc, CUarray array), (desc, array)) \
    X(cuArray3DCreate, cuArray3DCreate, 2000, 0, NO, (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc), (array, desc)) \
    X(cuArray3DCreate_v2, cuArray3DCreate, 3020, 0, NO, (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc), (array, desc)) \
    X(cuArray3DGetDescriptor, cuArray3DGetDescriptor, 2000, 0, NO, (CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array), (desc, array)) \
    X(cuArray3DGetDescriptor_v2, cuArray3DGetDescriptor, 3020, 0, NO, (CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array), (desc, array)) \
    X(cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements, 11060, 0, NO, (CUDA_ARRAY_MEMORY_REQUIREMENTS *need, CUarray array, CUdevice dev), (need, array, dev)) \
    X(cuArrayDestroy, cuArrayDestroy, 2000, 0, NO, (CUarray array), (array)) \
    X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, 0, NO, (CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels), (array, desc, levels)) \
    X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel, 5000, 0, NO, (CUarray *level, CUmipmappedArray array, unsigned int n), (level, array, n)) \
    X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, 0, NO, (CUmipmappedArray array), (array)) \
    X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, 0, NO, (CUipcMemHandle *handle, CUdeviceptr ptr), (handle, ptr)) \
    X(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, 0, NO, (CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags), (ptr, handle, flags)) \
    X(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, 0, NO, (CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags), (ptr, handle, flags)) \
    X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, 0, NO, (CUdeviceptr ptr), (ptr)) \
    X(cuIpcGetEventHandle, cuIpcGetEventHandle, 4010, 0, NO, (CUipcEventHandle *handle, CUevent event), (handle, event)) \
    X(cuIpcOpenEventHandle, cuIpcOpenEventHandle, 4010, 0, NO, (CUevent *event, CUipcEventHandle handle), (event, handle)) \
    X(cuImportExternalMemory, cuImportExternalMemory, 10000, 0, NO, (CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc), (memory, desc)) \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000, 0, NO, (CUdeviceptr *ptr, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc), (ptr, memory, desc)) \
    X(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray, 10000, 0, NO, (CUmipmappedArray *array, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc), (array, memory, desc)) \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, 0, NO, (CUexternalMemory memory), (memory)) \
    X(cuGraphicsMapResources, cuGraphicsMapResources, 3000, 0, PTSZ, (unsigned int count, CUgraphicsResource *resources, CUstream stream), (count, resources, stream)) \
    X(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000, 0, PTSZ, (unsigned int count, CUgraphicsResource *resources, CUstream stream), (count, resources, stream)) \
    X(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000, 0, NO, (CUgraphicsResource resource), (resource)) \
    /* copies */ \
    X(cuMemcpy, cuMemcpy, 4000, 0, PTDS, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(cuMemcpyAsync, cuMemcpyAsync, 4000, 0, PTSZ, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream)) \
    X(cuMemcpyPeer, cuMemcpyPeer, 4000, 0, PTDS, (CUdeviceptr dst, CUcontext dstCtx, CUdeviceptr src, CUcontext srcCtx, size_t bytes), (dst, dstCtx, src, srcCtx, bytes)) \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, 0, PTSZ, (CUdeviceptr dst, CUcontext dstCtx, CUdeviceptr src, CUcontext srcCtx, size_t bytes, CUstream stream), (dst, dstCtx, src, srcCtx, bytes, stream)) \
    X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, 0, PTDS, (CUdeviceptr dst, const void *src, size_t bytes), (dst, src, bytes)) \
    X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, 0, PTDS, (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020, 0, PTDS, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, 0, PTSZ, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream), (dst, src, bytes, stream)) \
    X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, 0, PTSZ, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream)) \
    X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020, 0, PTSZ, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream)) \
    X(cuMemcpy2D_v2, cuMemcpy2D, 3020, 0, PTDS, (const CUDA_MEMCPY2D *copy), (copy)) \
    X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020, 0, PTDS, (const CUDA_MEMCPY2D *copy), (copy)) \
    X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020, 0, PTSZ, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpy3D_v2, cuMemcpy3D, 3020, 0, PTDS, (const CUDA_MEMCPY3D *copy), (copy)) \
    X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020, 0, PTSZ, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, 0, PTDS, (const CUDA_MEMCPY3D *copy), (copy)) \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, 0, PTSZ, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpyAtoH_v2, cuMemcpyAtoH, 3020, 0, PTDS, (void *dst, CUarray src, size_t offset, size_t bytes), (dst, src, offset, bytes)) \
    X(cuMemcpyHtoA_v2, cuMemcpyHtoA, 3020, 0, PTDS, (CUarray dst, size_t offset, const void *src, size_t bytes), (dst, offset, src, bytes)) \
    X(cuMemcpyAtoD_v2, cuMemcpyAtoD, 3020, 0, PTDS, (CUdeviceptr dst, CUarray src, size_t offset, size_t bytes), (dst, src, offset, bytes)) \
    X(cuMemcpyDtoA_v2, cuMemcpyDtoA, 3020, 0, PTDS, (CUarray dst, size_t offset, CUdeviceptr src, size_t bytes), (dst, offset, src, bytes)) \
    X(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync, 3020, 0, PTSZ, (void *dst, CUarray src, size_t offset, size_t bytes, CUstream stream), (dst, src, offset, bytes, stream)) \
    X(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync, 3020, 0, PTSZ, (CUarray dst, size_t offset, const void *src, size_t bytes, CUstream stream), (dst, offset, src, bytes, stream)) \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080, 13000, PTSZ, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes, size_t *indices, size_t attributeCount, size_t *failed, CUstream stream), (dsts, srcs, sizes, count, attributes, indices, attributeCount, failed, stream)) \
    X(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync, 13000, 0, PTSZ, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes, size_t *indices, size_t attributeCount, CUstream stream), (dsts, srcs, sizes, count, attributes, indices, attributeCount, stream)) \
    X(cuMemsetD8_v2, cuMemsetD8, 3020, 0, PTDS, (CUdeviceptr dst, unsigned char value, size_t count), (dst, value, count)) \
    X(cuMemsetD16_v2, cuMemsetD16, 3020, 0, PTDS, (CUdeviceptr dst, unsigned short value, size_t count), (dst, value, count)) \
    X(cuMemsetD32_v2, cuMemsetD32, 3020, 0, PTDS, (CUdeviceptr dst, unsigned int value, size_t count), (dst, value, count)) \
    X(cuMemsetD2D8_v2, cuMemsetD2D8, 3020, 0, PTDS, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height), (dst, pitch, value, width, height)) \
    X(cuMemsetD2D16_v2, cuMemsetD2D16, 3020, 0, PTDS, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height), (dst, pitch, value, width, height)) \
    X(cuMemsetD2D32_v2, cuMemsetD2D32, 3020, 0, PTDS, (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height), (dst, pitch, value, width, height)) \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, 0, PTSZ, (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream), (dst, value, count, stream)) \
    X(cuMemsetD16Async, cuMemsetD16Async, 3020, 0, PTSZ, (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream), (dst, value, count, stream)) \
    X(cuMemsetD32Async, cuMemsetD32Async, 3020, 0, PTSZ, (CUdeviceptr dst, unsigned int value, size_t count, CUstream stream), (dst, value, count, stream)) \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, 0, PTSZ, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream), (dst, pitch, value, width, height, stream)) \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, 0, PTSZ, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream), (dst, pitch, value, width, height, stream)) \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, 0, PTSZ, (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream), (dst, pitch, value, width, height, stream)) \
    /* more copies */ \
    X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, 12080, 13000, PTSZ, (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed, unsigned long long flags, CUstream stream), (count, ops, failed, flags, stream)) \
    X(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync, 13000, 0, PTSZ, (size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, CUstream stream), (count, ops, flags, stream)) \
    X(cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync, 13020, 0, PTSZ, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *attributes, CUstream stream), (dst, src, bytes, attributes, stream)) \
    X(cuMemcpy3DWithAttributesAsync, cuMemcpy3DWithAttributesAsync, 13020, 0, PTSZ, (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream), (op, flags, stream))
// clang-format on

#endif
