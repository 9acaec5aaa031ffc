// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of processes by pid: running -> locked -> checkpointed, and
// back. A locked process's calls wait; a checkpointed one holds no device
// memory, which lies on its host until it is restored.
#include "cu.h"
#include "cu_checkpoint.h"

static int client_of(int pid) {
    struct gs_exec *e = &cu.m.s->exec;
    for (uint32_t i = 0; i < e->client_high; i++)
        if (e->client[i].used && gs_client_pid(&cu.m, i) == (uint32_t)pid) return (int)i;
    return -1;
}

// enter is cu_enter without the wait for one's own lock, since a process may
// checkpoint itself.
#define CU_CHECKPOINT(pid)                                      \
    CU_TRY(cu_enter_locked());                                  \
    const bool entered __attribute__((cleanup(cu_leave), unused)) = true; \
    int client = client_of(pid);                                \
    if (client < 0) return CUDA_ERROR_INVALID_VALUE;            \
    struct gs_client *c = &cu.m.s->exec.client[client]

static bool has_work(uint32_t client) {
    const struct gs_exec *e = &cu.m.s->exec;
    for (uint32_t i = 0; i < e->stream_high; i++) {
        const struct gs_stream *s = &e->stream[i];
        if (s->used && e->context[s->context].client == client && s->head != s->tail) return true;
    }
    return false;
}

static CUresult await_idle(uint32_t client, uint64_t deadline) {
    for (;;) {
        gs_exec_advance(&cu.m);
        if (!has_work(client)) return CUDA_SUCCESS;
        if (gs_now_ns() >= deadline) return CUDA_ERROR_NOT_READY;
        gs_exec_sleep(&cu.m, gs_now_ns() + 500000);
        if (cu.m.s->retired || cu.m.s->boot != cu.boot) return CUDA_ERROR_DEINITIALIZED;
    }
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args) {
    CU_CHECKPOINT(pid);
    if (c->checkpoint != CU_PROCESS_RUNNING) return CUDA_ERROR_ILLEGAL_STATE;
    uint64_t limit = args && args->timeoutMs ? gs_now_ns() + args->timeoutMs * 1000000ull : UINT64_MAX;
    c->checkpoint = CU_PROCESS_LOCKED;
    CUresult r = await_idle((uint32_t)client, limit);
    if (r != CUDA_SUCCESS) {
        c->checkpoint = CU_PROCESS_RUNNING;
        gs_exec_pulse(cu.m.s);
    }
    return r;
}

// each_process calls `move` for every entry of a client; it stops at an error.
static CUresult each_process(int client, CUresult (*move)(struct gs_gpu *g, uint32_t i)) {
    for (uint32_t g = 0; g < cu.m.s->machine.gpu_count; g++)
        for (uint32_t i = 0; i < GS_MAX_PROCESSES; i++) {
            const struct gs_process *p = &cu.m.s->gpu[g].v.process[i];
            if (p->used && p->client == (uint32_t)client + 1) CU_TRY(move(&cu.m.s->gpu[g], i));
        }
    return CUDA_SUCCESS;
}

static CUresult to_host(struct gs_gpu *g, uint32_t i) {
    struct gs_process *p = &g->v.process[i];
    p->parked += p->memory;
    p->memory = 0;
    return CUDA_SUCCESS;
}

static bool fits(struct gs_gpu *g, uint32_t i) {
    return gs_process_charge(g, i, (int64_t)g->v.process[i].parked) == NVML_SUCCESS;
}

static CUresult to_device(struct gs_gpu *g, uint32_t i) {
    struct gs_process *p = &g->v.process[i];
    // Full, unless a process is gone that nobody has missed yet.
    if (!fits(g, i) && !(gs_clients_reap(&cu.m) && fits(g, i))) return CUDA_ERROR_OUT_OF_MEMORY;
    p->parked = 0;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessCheckpoint(int pid, void *args) {
    CU_CHECKPOINT(pid);
    (void)args;
    if (c->checkpoint != CU_PROCESS_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
    each_process(client, to_host);
    c->checkpoint = CU_PROCESS_CHECKPOINTED;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessRestore(int pid, void *args) {
    CU_CHECKPOINT(pid);
    (void)args;
    if (c->checkpoint != CU_PROCESS_CHECKPOINTED) return CUDA_ERROR_ILLEGAL_STATE;
    CUresult r = each_process(client, to_device);
    if (r != CUDA_SUCCESS) each_process(client, to_host);
    else c->checkpoint = CU_PROCESS_LOCKED;
    return r;
}

CUresult cuCheckpointProcessUnlock(int pid, void *args) {
    CU_CHECKPOINT(pid);
    (void)args;
    if (c->checkpoint != CU_PROCESS_LOCKED) return CUDA_ERROR_ILLEGAL_STATE;
    c->checkpoint = CU_PROCESS_RUNNING;
    gs_exec_pulse(cu.m.s);
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetState(int pid, int *state) {
    CU_CHECKPOINT(pid);
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *state = (int)c->checkpoint;
    return CUDA_SUCCESS;
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int *tid) {
    CU_CHECKPOINT(pid);
    (void)c;
    if (!tid) return CUDA_ERROR_INVALID_VALUE;
    *tid = pid;
    return CUDA_SUCCESS;
}
