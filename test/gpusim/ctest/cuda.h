// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the CUDA half share. They run in one process on one
// machine, with device 0's primary context current, and each of them leaves
// the device as it found it.
#ifndef GPUSIM_TEST_CUDA_H
#define GPUSIM_TEST_CUDA_H

#include <stdbool.h>

#include "check.h"
#include "cuda_calls.h"

#define MIB(n) ((uint64_t)(n) << 20)

// OK checks that a call succeeds, IS that it gives this code.
#define IS(code, call)                                                         \
    do {                                                                       \
        CUresult got_ = (call);                                                \
        CHECK(got_ == (code), "%s is %d, want %s", #call, (int)got_, #code);   \
    } while (0)
#define OK(call) IS(CUDA_SUCCESS, call)

uint64_t used_mib(void); // of device 0
CUfunction busy_kernel(void);
void launch_us(CUstream s, uint64_t us);

void test_cuda_memory(void);
void test_cuda_pools(void);
void test_cuda_streams(void);
void test_cuda_capture(void);
void test_cuda_graphs(void);
void test_cuda_resolve(void);
void test_cuda_contexts(void);
void test_cuda_ipc(void);

#endif
