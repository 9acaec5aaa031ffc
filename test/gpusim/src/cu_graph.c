// SPDX-License-Identifier: Apache-2.0
#include "cu_graph.h"

CUresult cu_capture_kernel(CUstream s, const struct cu_launch *l) {
    (void)s, (void)l;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cu_capture_host(CUstream s, CUhostFn fn, void *user) {
    (void)s, (void)fn, (void)user;
    return CUDA_ERROR_NOT_SUPPORTED;
}
