// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <unistd.h>

#include "client.h"

// gone waits until the slot's word is zero; ten seconds are far more than it takes.
static int gone(const uint64_t *word) {
    for (int i = 0; i < 1000 && __atomic_load_n(word, __ATOMIC_SEQ_CST); i++) usleep(10000);
    return *word == 0;
}

// The process keeps memory in a pool's reserve and managed memory on the GPU, and
// tells the test by its peak that it has; then it waits to be asked for it.
void client_reclaim(void) {
    CUdeviceptr p;
    CUmemoryPool pool;
    uint64_t keep = UINT64_MAX;
    start();
    OK(cuDeviceGetDefaultMemPool, &pool, 0);
    OK(cuMemPoolSetAttribute, pool, 4, &keep);
    OK(cuMemAllocAsync, &p, 100 * MIB, NULL);
    OK(cuMemFreeAsync, p, NULL);
    OK(cuCtxSynchronize, );
    CHECK(my_slot()->committed_bytes >= 100 * MIB, "the pool keeps what was freed");
    __atomic_store_n(&my_slot()->host_bytes, 1, __ATOMIC_SEQ_CST); // the sign
    CHECK(gone(&my_slot()->committed_bytes), "but %lu", (unsigned long)my_slot()->committed_bytes);
    __atomic_store_n(&my_slot()->host_bytes, 0, __ATOMIC_SEQ_CST);
}
