// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <unistd.h>

#include "client.h"

// gone waits until the slot's word is zero; ten seconds are far more than it takes.
static int gone(const uint64_t *word) {
    for (int i = 0; i < 1000 && __atomic_load_n(word, __ATOMIC_SEQ_CST); i++) usleep(10000);
    return *word == 0;
}

// The process tells the test by host_bytes that it has something to give.
static void sign(uint64_t value) {
    __atomic_store_n(&my_slot()->host_bytes, value, __ATOMIC_SEQ_CST);
}

// It keeps memory in a pool's reserve, and waits to be asked for it.
static void trim(void) {
    CUdeviceptr p;
    CUmemoryPool pool;
    uint64_t keep = UINT64_MAX;
    OK(cuDeviceGetDefaultMemPool, &pool, 0);
    OK(cuMemPoolSetAttribute, pool, 4, &keep);
    OK(cuMemAllocAsync, &p, 100 * MIB, NULL);
    OK(cuMemFreeAsync, p, NULL);
    OK(cuCtxSynchronize, );
    CHECK(my_slot()->committed_bytes >= 100 * MIB, "the pool keeps what was freed");
    sign(1);
    CHECK(gone(&my_slot()->committed_bytes), "but %lu", (unsigned long)my_slot()->committed_bytes);
}

// It has managed memory on the GPU, which moves to the host when it is asked for,
// comes back on use, and stays charged as if it had not moved. Nothing was launched,
// so nobody but this library has a context current in its helper.
static void demote(void) {
    CUdeviceptr plain, managed;
    OK(cuMemAlloc_v2, &plain, 20 * MIB);
    OK(cuMemAllocManaged, &managed, 100 * MIB, 1);
    OK(cuMemPrefetchAsync, managed, 64 * 1024, 0, NULL);
    OK(cuCtxSynchronize, );
    uint64_t before = used_bytes(), charged = my_slot()->committed_bytes;
    CHECK(my_slot()->managed_bytes == 100 * MIB);
    sign(1);
    for (int i = 0; i < 1000 && used_bytes() + 100 * MIB > before; i++) usleep(10000);
    CHECK(used_bytes() + 100 * MIB == before, "all of it moved, and nothing else: %lu", (unsigned long)used_bytes());
    CHECK(my_slot()->committed_bytes == charged && my_slot()->managed_bytes == 100 * MIB);
    OK(cuMemPrefetchAsync, managed, 100 * MIB, 0, NULL);
    OK(cuCtxSynchronize, );
    CHECK(used_bytes() == before, "it came back: %lu", (unsigned long)used_bytes());
    OK(cuMemFree_v2, managed);
    OK(cuMemFree_v2, plain);
}

void client_reclaim(const char *what) {
    start();
    if (*what == 'd') demote();
    else trim();
    sign(0);
}
