// SPDX-License-Identifier: Apache-2.0
//
// cuInit, the lock around every call, and the process's view of the machine.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu.h"
#include "cu_checkpoint.h"
#include "cu_version.h"

struct cu_library cu = {.client = -1};
__thread bool cu_per_thread;

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool forked;

static void in_child(void) {
    // As with the real library, what the parent has set up is useless here;
    // only a new program can use the GPU.
    if (cu.ready) atomic_store(&forked, true);
}

static void at_exit(void) {
    if (!cu.ready || atomic_load(&forked) || cu.client < 0) return;
    gs_lock(&cu.m);
    gs_client_detach(&cu.m, (uint32_t)cu.client);
    gs_unlock(&cu.m);
}

static CUresult open_machine(void) {
    char why[PATH_MAX + 200];
    enum gs_open_result r = gs_machine_open(&cu.m, gs_default_dir(), why, sizeof why);
    if (r != GS_OPEN_OK) {
        fprintf(stderr, "gpusim: cannot load the driver: %s (GPUSIM_DIR names the machine; `gpusim init` makes one)\n",
                why);
        return CUDA_ERROR_NO_DEVICE;
    }
    cu.boot = cu.m.s->boot;
    cu.next_address = 0x300000000000;
    gs_lock(&cu.m);
    CUresult found = cu_find_devices();
    if (found == CUDA_SUCCESS && (cu.client = gs_client_attach(&cu.m)) < 0) found = CUDA_ERROR_OPERATING_SYSTEM;
    gs_unlock(&cu.m);
    if (found != CUDA_SUCCESS) {
        gs_machine_close(&cu.m);
        return found;
    }
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&forked)) return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&opening);
    CUresult r = cu.ready ? CUDA_SUCCESS : open_machine();
    if (r == CUDA_SUCCESS) cu.ready = true;
    pthread_mutex_unlock(&opening);
    return r;
}

static CUresult usable(void) {
    if (!cu.m.s->retired && cu.m.s->boot == cu.boot) return CUDA_SUCCESS;
    gs_unlock(&cu.m);
    return CUDA_ERROR_DEINITIALIZED;
}

CUresult cu_enter_locked(void) {
    if (!__atomic_load_n(&cu.ready, __ATOMIC_ACQUIRE) || atomic_load(&forked)) return CUDA_ERROR_NOT_INITIALIZED;
    if (cu_in_host_call) return CUDA_ERROR_NOT_PERMITTED;
    gs_lock(&cu.m);
    return usable();
}

CUresult cu_enter(void) {
    CU_TRY(cu_enter_locked());
    while (cu.m.s->exec.client[cu.client].checkpoint != CU_PROCESS_RUNNING) {
        gs_exec_sleep(&cu.m, gs_now_ns() + 100000000);
        CU_TRY(usable());
    }
    return CUDA_SUCCESS;
}

void cu_leave(const bool *entered) {
    if (*entered) gs_unlock(&cu.m);
}

uint64_t cu_id(void) {
    return ++cu.next_id;
}

uint64_t cu_thread(void) {
    static atomic_ullong count;
    static __thread uint64_t number;
    if (!number) number = atomic_fetch_add(&count, 1) + 1;
    return number;
}

// The default library has the driver version of its machine, the others have
// their own; both may be asked before cuInit.
CUresult cuDriverGetVersion(int *version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = gs_cuda_version();
    return CUDA_SUCCESS;
}

#define TWIN(twin, symbol, base, since, params, args) \
    CUresult twin params {                            \
        cu_per_thread = true;                         \
        CUresult r = symbol args;                     \
        cu_per_thread = false;                        \
        return r;                                     \
    }
#define X(symbol, base, since, until, twin, params, args) GS_TWIN_##twin(TWIN, symbol, base, since, params, args)
CUDA_CALLS(X)
#undef X
