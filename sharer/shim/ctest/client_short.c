// SPDX-License-Identifier: Apache-2.0
//
// One large allocation.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "client.h"

// client_take allocates so many GiB and ends: 0 it has them, 42 out of memory. how
// is "hold", to stay with them, or "capture", to allocate while one is open.
int client_take(const char *gib, const char *how) {
    CUdeviceptr p;
    CUstream stream;
    start();
    if (strcmp(how, "capture") == 0) {
        OK(cuStreamCreate, &stream, 1);
        OK(cuStreamBeginCapture_v2, stream, 2);
    }
    int result = CALL(cuMemAlloc_v2, &p, strtoull(gib, NULL, 10) << 30);
    CHECK(my_slot()->pending_bytes == 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return 42;
    CHECK(result == 0, "but %d", result);
    while (strcmp(how, "hold") == 0) pause();
    return 0;
}
