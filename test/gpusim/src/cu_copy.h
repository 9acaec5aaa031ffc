// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_CU_COPY_H
#define GPUSIM_CU_COPY_H

#include "cu.h"

enum cu_copy_path { CU_PATH_HOST, CU_PATH_DEVICE, CU_PATH_FILL };

// cu_copy_ns is how long an engine takes for so many bytes on this path.
uint64_t cu_copy_ns(enum cu_copy_path path, uint64_t bytes);

// cu_copy3d checks a description and gives its path and size.
CUresult cu_copy3d(const CUDA_MEMCPY3D *c, enum cu_copy_path *path, uint64_t *bytes);

// cu_copy_any copies between addresses that say themselves where they are.
CUresult cu_copy_any(CUdeviceptr dst, CUdeviceptr src, uint64_t bytes, CUstream stream, bool wait);

#endif
