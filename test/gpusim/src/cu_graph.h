// SPDX-License-Identifier: Apache-2.0
#ifndef GPUSIM_CU_GRAPH_H
#define GPUSIM_CU_GRAPH_H

#include "cu_launch.h"

CUresult cu_capture_kernel(CUstream s, const struct cu_launch *l);
CUresult cu_capture_host(CUstream s, CUhostFn fn, void *user);

#endif
