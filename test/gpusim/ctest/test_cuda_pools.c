// SPDX-License-Identifier: Apache-2.0
//
// Pools keep what they have reserved until a synchronization or a trim.
#include "cuda.h"

static uint64_t reserved_mib(CUmemoryPool pool) {
    cuuint64_t bytes = 0;
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes >> 20;
}

static void default_pool(void) {
    CUmemoryPool pool;
    CUdeviceptr a, b;
    uint64_t before = used_mib();
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&a, MIB(1), NULL));
    CHECK(used_mib() - before == 32 && reserved_mib(pool) == 32, "a pool grows in steps");
    OK(cuMemAllocAsync(&b, MIB(40), NULL));
    CHECK(used_mib() - before == 64 && reserved_mib(pool) == 64);
    OK(cuMemFreeAsync(b, NULL));
    CHECK(used_mib() - before == 64, "nothing goes back before a synchronization");
    OK(cuStreamSynchronize(NULL));
    CHECK(used_mib() - before == 2 && reserved_mib(pool) == 2);
    cuuint64_t keep = MIB(100);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuMemAllocAsync(&b, MIB(40), NULL));
    OK(cuMemFreeAsync(b, NULL));
    OK(cuMemFreeAsync(a, NULL));
    OK(cuStreamSynchronize(NULL));
    CHECK(used_mib() - before >= 40, "below the threshold it is kept");
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK(used_mib() == before);
    keep = 0;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, NULL));
}

static void own_pool(void) {
    CUmemPoolProps props = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, .maxSize = MIB(64)};
    CUmemoryPool pool;
    CUdeviceptr p;
    uint64_t before = used_mib();
    OK(cuMemPoolCreate(&pool, &props));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&p, MIB(65), pool, NULL));
    OK(cuMemAllocFromPoolAsync(&p, MIB(64), pool, NULL));
    OK(cuMemFree_v2(p)); // the plain call frees what came from a pool, too
    OK(cuMemPoolDestroy(pool));
    CHECK(used_mib() == before);
}

void test_cuda_pools(void) {
    default_pool();
    own_pool();
}
