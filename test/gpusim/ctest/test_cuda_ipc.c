// SPDX-License-Identifier: Apache-2.0
//
// Two processes: memory, events and pools of one are used by the other, which
// is not charged for them. The other is this program again, because a fork's
// child cannot use CUDA.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.h"

// What the parent passes, with its descriptors' numbers, which the child has too.
struct passed {
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUmemPoolPtrExportData pointer;
    int pool, physical;
    int answer; // where the child says that it has seen the event pending
    uint64_t used_mib;
};

static void use_memory(const struct passed *p) {
    CUdeviceptr ptr, again;
    CUmemGenericAllocationHandle h;
    CUmemoryPool pool;
    OK(cuIpcOpenMemHandle_v2(&ptr, p->memory, 1));
    OK(cuMemsetD8_v2(ptr, 0, MIB(10)));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(ptr));
    OK(cuIpcCloseMemHandle(ptr));
    OK(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)p->physical, 1));
    OK(cuMemAddressReserve(&again, MIB(4), 0, 0, 0));
    OK(cuMemMap(again, MIB(4), 0, h, 0));
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)p->pool, 1, 0));
    OK(cuMemPoolImportPointer(&ptr, pool, (CUmemPoolPtrExportData *)&p->pointer));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&ptr, 1, pool, NULL));
    CHECK(used_mib() == p->used_mib + 400, "only the child's context is charged: %llu", (unsigned long long)used_mib());
}

// ipc_child is the other process; it returns its exit code.
int ipc_child(int from) {
    struct passed p;
    CUcontext ctx;
    CUevent e;
    CUstream s;
    if (read(from, &p, sizeof p) != (ssize_t)sizeof p) return 1;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&ctx, 0));
    OK(cuCtxSetCurrent(ctx));
    use_memory(&p);
    OK(cuIpcOpenEventHandle(&e, p.event));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitEvent(s, e, 0));
    IS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
    CHECK(write(p.answer, "", 1) == 1);
    OK(cuStreamSynchronize(s));
    OK(cuEventQuery(e));
    OK(cuEventDestroy_v2(e));
    OK(cuStreamDestroy_v2(s));
    printf("%d passed, %d failed in the other process\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

static pid_t start(int *to) {
    int ends[2];
    char number[16];
    if (pipe2(ends, 0)) return -1;
    snprintf(number, sizeof number, "%d", ends[0]);
    pid_t child = fork();
    if (!child) {
        close(ends[1]);
        execl("/proc/self/exe", "ctest", number, NULL);
        _exit(127);
    }
    close(ends[0]);
    *to = ends[1];
    return child;
}

static void share(struct passed *p, CUdeviceptr plain, CUdeviceptr pooled, CUevent e, CUmemoryPool pool,
                  CUmemGenericAllocationHandle h) {
    CUdeviceptr own;
    OK(cuIpcGetMemHandle(&p->memory, plain));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&own, p->memory, 1));
    OK(cuIpcGetEventHandle(&p->event, e));
    OK(cuMemPoolExportPointer(&p->pointer, pooled));
    OK(cuMemPoolExportToShareableHandle(&p->pool, pool, 1, 0));
    OK(cuMemExportToShareableHandle(&p->physical, h, 1, 0));
    fcntl(p->pool, F_SETFD, 0); // the child shall have them
    fcntl(p->physical, F_SETFD, 0);
    p->used_mib = used_mib();
}

void test_cuda_ipc(void) {
    static struct passed p;
    CUmemAllocationProp prop = {.type = 1, .requestedHandleTypes = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemPoolProps props = {.allocType = 1, .handleTypes = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle h;
    CUmemoryPool pool;
    CUdeviceptr plain, pooled;
    CUevent e;
    CUstream s;
    int to, status = -1, answer[2];
    uint32_t *word;
    char seen;
    OK(cuMemAlloc_v2(&plain, MIB(10)));
    OK(cuMemCreate(&h, MIB(4), &prop, 0));
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&pooled, MIB(1), pool, NULL));
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    share(&p, plain, pooled, e, pool, h);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc((void **)&word, 4096, 0));
    CHECK(!pipe2(answer, 0));
    p.answer = answer[1];
    pid_t child = start(&to);
    OK(cuStreamWaitValue32_v2(s, (uintptr_t)word, 1, 0));
    OK(cuEventRecord(e, s));
    CHECK(write(to, &p, sizeof p) == (ssize_t)sizeof p);
    close(answer[1]); // so that the child's end, good or bad, ends the read
    CHECK(read(answer[0], &seen, 1) == 1);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cuStreamSynchronize(s));
    OK(cuMemFreeHost(word));
    OK(cuStreamDestroy_v2(s));
    OK(cuEventDestroy_v2(e));
    OK(cuMemFree_v2(plain));
    OK(cuMemFreeAsync(pooled, NULL));
    OK(cuMemPoolDestroy(pool));
    OK(cuMemRelease(h));
    close(to);
    close(answer[0]);
    close(p.pool);
    close(p.physical);
}
