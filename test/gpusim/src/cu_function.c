// SPDX-License-Identifier: Apache-2.0
//
// What functions and kernels tell, occupancy, and the linker. Attributes that
// are set are accepted and ignored.
#include <stdlib.h>
#include <string.h>

#include "cu.h"

#define CU_FUNCTION(handle)                                                       \
    CU_CALL();                                                                    \
    struct CUfunc_st *f = (struct CUfunc_st *)(handle);                           \
    if (!cu_is(f, CU_KIND_FUNCTION)) return CUDA_ERROR_INVALID_HANDLE

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    CU_FUNCTION(kernel);
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    *function = f;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    CU_FUNCTION(kernel);
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    *library = (CUlibrary)f->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction function) {
    CU_FUNCTION(function);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = f->name;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel) {
    return cuFuncGetName(name, (CUfunction)kernel);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
    CU_FUNCTION(function);
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    *module = f->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    enum { MAX_THREADS = 0, REGISTERS = 4, PTX_VERSION = 5, BINARY_VERSION = 6 };
    CU_FUNCTION(function);
    if (!value || attribute < 0 || attribute > 15) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == MAX_THREADS ? 1024 : attribute == REGISTERS ? 32 : 0;
    if (attribute == PTX_VERSION || attribute == BINARY_VERSION) *value = 90;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    CU_FUNCTION(function);
    return attribute < 0 || attribute > 15 || value < -1 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice dev) {
    (void)dev;
    return cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice dev) {
    (void)dev;
    return cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
    CU_FUNCTION(function);
    return config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice dev) {
    (void)dev;
    return cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, int config) {
    CU_FUNCTION(function);
    return config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(int *state, CUfunction function) {
    CU_FUNCTION(function);
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *state = 1;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
    CU_FUNCTION(function);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int blockSize,
                                                              size_t shared, unsigned int flags) {
    CU_FUNCTION(function);
    if (!blocks || blockSize < 1 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    *blocks = blockSize > 1024 ? 0 : 2048 / blockSize;
    int by_shared = shared ? (int)(232448 / (shared + 1024)) : *blocks;
    if (*blocks > 32) *blocks = 32;
    if (by_shared < *blocks) *blocks = by_shared;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int blockSize, size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, blockSize, shared, 0);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGrid, int *blockSize, CUfunction function, void *sizes,
                                          size_t shared, int limit) {
    CU_FUNCTION(function);
    (void)sizes, (void)shared;
    if (!minGrid || !blockSize || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    *blockSize = limit && limit < 1024 ? limit : 1024;
    *minGrid = 264;
    return CUDA_SUCCESS;
}

// The linker returns what it was given last.
struct CUlinkState_st {
    uint32_t kind;
    char *image;
    size_t size;
};

CUresult cuLinkCreate_v2(unsigned int count, int *options, void **values, CUlinkState *state) {
    CU_CONTEXT();
    (void)ctx;
    if (!state || (count && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    *state = calloc(1, sizeof **state);
    if (!*state) return CUDA_ERROR_OUT_OF_MEMORY;
    (*state)->kind = CU_KIND_LINK;
    return CUDA_SUCCESS;
}

CUresult cuLinkCreate(unsigned int count, int *options, void **values, CUlinkState *state) {
    return cuLinkCreate_v2(count, options, values, state);
}

CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int count,
                          int *options, void **values) {
    CU_CALL();
    (void)type, (void)name, (void)count, (void)options, (void)values;
    if (!cu_is(state, CU_KIND_LINK)) return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size) return CUDA_ERROR_INVALID_VALUE;
    char *copy = calloc(1, size + 1);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(copy, data, size);
    free(state->image);
    state->image = copy, state->size = size;
    return CUDA_SUCCESS;
}

CUresult cuLinkAddData(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int count,
                       int *options, void **values) {
    return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size) {
    CU_CALL();
    if (!cu_is(state, CU_KIND_LINK)) return CUDA_ERROR_INVALID_HANDLE;
    if (!cubin || !state->image) return CUDA_ERROR_INVALID_VALUE;
    *cubin = state->image;
    if (size) *size = state->size;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
    CU_CALL();
    if (!cu_is(state, CU_KIND_LINK)) return CUDA_ERROR_INVALID_HANDLE;
    state->kind = 0;
    free(state->image);
    free(state);
    return CUDA_SUCCESS;
}
