// SPDX-License-Identifier: Apache-2.0
//
// The only source that differs between the libraries of several versions.
#include "cu_version.h"

#ifndef GPUSIM_CUDA_VERSION
#define GPUSIM_CUDA_VERSION 0
#endif

const int gs_cuda_built_as = GPUSIM_CUDA_VERSION;
