// SPDX-License-Identifier: Apache-2.0
//
// Arrays, mipmapped arrays, external memory. An array costs what its texels
// need, in tiles of 64 KiB.
#include <stdlib.h>

#include "cu.h"
#include "cu_capture.h"

enum { TILE = 64 << 10, MAX_LEVELS = 16 };

struct CUarray_st {
    uint32_t kind;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    CUdeviceptr memory; // 0: a level of a mipmapped array
};

struct CUmipmappedArray_st {
    uint32_t kind;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    unsigned levels;
    CUdeviceptr memory;
    struct CUarray_st level[MAX_LEVELS];
};

static unsigned texel_bytes(int format) {
    switch (format) {
    case 0x01: case 0x08: return 1;
    case 0x02: case 0x09: case 0x10: return 2;
    case 0x03: case 0x0a: case 0x20: return 4;
    }
    return 0;
}

static size_t at_least_one(size_t n) {
    return n ? n : 1;
}

static uint64_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    uint64_t row = cu_round_up(d->Width * texel_bytes(d->Format) * d->NumChannels, 64);
    return cu_round_up(row * at_least_one(d->Height) * at_least_one(d->Depth), TILE);
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    if (!d->Width || !texel_bytes(d->Format) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    return d->Width > 1 << 17 || d->Height > 1 << 17 || d->Depth > 1 << 14 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult reserve(uint64_t bytes, CUdeviceptr *memory) {
    CUcontext ctx;
    struct cu_range *r;
    CU_TRY(cu_current(&ctx));
    CU_TRY(cu_refuse_unsafe());
    CU_TRY(cu_allocate(ctx, bytes, &r));
    *memory = r->base;
    return CUDA_SUCCESS;
}

static void give_back(CUdeviceptr memory) {
    struct cu_range *r = memory ? cu_range_at(memory) : NULL;
    if (r) cu_release(r);
}

static CUresult create(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc) {
    CU_CALL();
    CUdeviceptr memory;
    if (!array) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(check(desc));
    CU_TRY(reserve(bytes_of(desc), &memory));
    struct CUarray_st *a = calloc(1, sizeof *a);
    if (!a) {
        give_back(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *a = (struct CUarray_st){CU_KIND_ARRAY, *desc, memory};
    *array = a;
    return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc) {
    if (!desc) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = desc->Width, .Height = desc->Height, .Format = desc->Format, .NumChannels = desc->NumChannels};
    return create(array, &d);
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc) {
    return desc ? create(array, desc) : CUDA_ERROR_INVALID_VALUE;
}

// The first forms had 32-bit descriptors.
CUresult cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc) {
    (void)array, (void)desc;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc) {
    (void)array, (void)desc;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array) {
    (void)desc, (void)array;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array) {
    (void)desc, (void)array;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array) {
    CU_CALL();
    if (!desc) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_is(array, CU_KIND_ARRAY)) return CUDA_ERROR_INVALID_HANDLE;
    *desc = array->desc;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR d;
    if (!desc) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cuArray3DGetDescriptor_v2(&d, array));
    *desc = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
    return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *need, CUarray array, CUdevice dev) {
    CU_CALL();
    if (!cu_device_at(dev)) return CUDA_ERROR_INVALID_DEVICE;
    if (!need || !cu_is(array, CU_KIND_ARRAY)) return CUDA_ERROR_INVALID_VALUE;
    *need = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = bytes_of(&array->desc), .alignment = TILE};
    return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray array) {
    CU_CALL();
    if (!cu_is(array, CU_KIND_ARRAY) || !array->memory) return CUDA_ERROR_INVALID_HANDLE;
    give_back(array->memory);
    array->kind = 0;
    free(array);
    return CUDA_SUCCESS;
}

static size_t half(size_t n) {
    return n > 1 ? n / 2 : n;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels) {
    CU_CALL();
    if (!array || !desc || !levels || levels > MAX_LEVELS) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(check(desc));
    struct CUmipmappedArray_st *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct CUmipmappedArray_st){.kind = CU_KIND_MIPMAP, .desc = *desc, .levels = levels};
    CUDA_ARRAY3D_DESCRIPTOR d = *desc;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < levels; i++) {
        m->level[i] = (struct CUarray_st){CU_KIND_ARRAY, d, 0};
        bytes += bytes_of(&d);
        d.Width = half(d.Width), d.Height = half(d.Height), d.Depth = half(d.Depth);
    }
    CUresult r = reserve(bytes, &m->memory);
    if (r != CUDA_SUCCESS) free(m);
    else *array = m;
    return r;
}

CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned int n) {
    CU_CALL();
    if (!cu_is(array, CU_KIND_MIPMAP)) return CUDA_ERROR_INVALID_HANDLE;
    if (!level || n >= array->levels) return CUDA_ERROR_INVALID_VALUE;
    *level = &array->level[n];
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    CU_CALL();
    if (!cu_is(array, CU_KIND_MIPMAP)) return CUDA_ERROR_INVALID_HANDLE;
    give_back(array->memory);
    array->kind = 0;
    free(array);
    return CUDA_SUCCESS;
}

// External memory was allocated, and is paid for, by who exported it.
struct CUextMemory_st {
    uint32_t kind;
    uint64_t size;
};

CUresult cuImportExternalMemory(CUexternalMemory *memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc) {
    CU_CONTEXT();
    (void)ctx;
    if (!memory || !desc || !desc->size || desc->type < 1 || desc->type > 9) return CUDA_ERROR_INVALID_VALUE;
    *memory = calloc(1, sizeof **memory);
    if (!*memory) return CUDA_ERROR_OUT_OF_MEMORY;
    **memory = (struct CUextMemory_st){CU_KIND_EXTERNAL, desc->size};
    return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ptr, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc) {
    CU_CONTEXT();
    if (!cu_is(memory, CU_KIND_EXTERNAL)) return CUDA_ERROR_INVALID_HANDLE;
    if (!ptr || !desc || !desc->size || desc->offset + desc->size > memory->size) return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr base = cu_addresses(cu_round_up(desc->size, CU_GRANULE), CU_GRANULE);
    struct cu_range *r = cu_range_new(base, desc->size, CU_MEM_DEVICE, ctx);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = base;
    return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory memory,
                                                 const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc) {
    (void)array, (void)memory, (void)desc;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
    CU_CALL();
    if (!cu_is(memory, CU_KIND_EXTERNAL)) return CUDA_ERROR_INVALID_HANDLE;
    memory->kind = 0;
    free(memory);
    return CUDA_SUCCESS;
}

// There is no graphics driver whose resources could be mapped.
CUresult cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources, CUstream stream) {
    (void)count, (void)resources, (void)stream;
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources, CUstream stream) {
    (void)count, (void)resources, (void)stream;
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphicsUnregisterResource(CUgraphicsResource resource) {
    (void)resource;
    return CUDA_ERROR_INVALID_HANDLE;
}
