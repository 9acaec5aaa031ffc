// SPDX-License-Identifier: Apache-2.0
//
// Writes of and waits for values in memory. Contents of device memory are not
// modelled: on it a write takes place without effect and a wait ends at once.
// In host and managed memory both are real.
#include <stdlib.h>

#include "cu.h"
#include "cu_capture.h"

struct op {
    void *address;
    uint64_t value;
    int size, compare;
};

static uint64_t load(const struct op *o) {
    return o->size == 8 ? __atomic_load_n((uint64_t *)o->address, __ATOMIC_ACQUIRE)
                        : __atomic_load_n((uint32_t *)o->address, __ATOMIC_ACQUIRE);
}

static bool satisfied(const void *user) {
    const struct op *o = user;
    enum { GEQ, EQ, AND, NOR };
    uint64_t v = load(o);
    switch (o->compare & 3) {
    case GEQ: return o->size == 8 ? (int64_t)(v - o->value) >= 0 : (int32_t)((uint32_t)v - (uint32_t)o->value) >= 0;
    case EQ: return v == o->value;
    case AND: return v & o->value;
    default: return ~(v | o->value) & (o->size == 8 ? UINT64_MAX : UINT32_MAX);
    }
}

static void write_value(void *user) {
    struct op *o = user;
    if (o->size == 8) __atomic_store_n((uint64_t *)o->address, o->value, __ATOMIC_RELEASE);
    else __atomic_store_n((uint32_t *)o->address, (uint32_t)o->value, __ATOMIC_RELEASE);
    free(o);
}

static CUresult submit(CUstream stream, CUdeviceptr address, uint64_t value, int size, bool wait, unsigned flags) {
    CU_CALL();
    CUstream s;
    CU_TRY(cu_stream(stream, &s));
    struct cu_range *r = cu_range_at(address);
    if (address % (unsigned)size || !r) return CUDA_ERROR_INVALID_VALUE;
    if (cu_capturing(s)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CU_TRY(cu_refuse_implicit(s));
    if (r->memory != CU_MEM_HOST && r->memory != CU_MEM_MANAGED)
        return cu_push(s, (struct gs_command){.kind = GS_CMD_MARK});
    struct op *o = malloc(sizeof *o);
    if (!o) return CUDA_ERROR_OUT_OF_MEMORY;
    *o = (struct op){(void *)(uintptr_t)address, value, size, (int)flags};
    CUresult result = wait ? cu_host_call_when(s, satisfied, free, o) : cu_host_call(s, write_value, NULL, o);
    if (result != CUDA_SUCCESS) free(o);
    return result;
}

#define VALUE_CALLS(suffix)                                                                                        \
    CUresult cuStreamWriteValue32##suffix(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) { \
        return submit(s, address, value, 4, false, flags);                                                         \
    }                                                                                                              \
    CUresult cuStreamWriteValue64##suffix(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) { \
        return submit(s, address, value, 8, false, flags);                                                         \
    }                                                                                                              \
    CUresult cuStreamWaitValue32##suffix(CUstream s, CUdeviceptr address, cuuint32_t value, unsigned int flags) {  \
        return submit(s, address, value, 4, true, flags);                                                          \
    }                                                                                                              \
    CUresult cuStreamWaitValue64##suffix(CUstream s, CUdeviceptr address, cuuint64_t value, unsigned int flags) {  \
        return submit(s, address, value, 8, true, flags);                                                          \
    }
VALUE_CALLS()
VALUE_CALLS(_v2)

static CUresult batch(CUstream stream, unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags) {
    enum { WAIT32 = 1, WRITE32 = 2, WAIT64 = 4, WRITE64 = 5 };
    if (flags || !ops || !count || count > 256) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        int op = ops[i].operation, size = op == WAIT64 || op == WRITE64 ? 8 : 4;
        if (op != WAIT32 && op != WRITE32 && op != WAIT64 && op != WRITE64) continue; // flushes and barriers
        uint64_t value = size == 8 ? ops[i].value : (uint32_t)ops[i].value;
        CU_TRY(submit(stream, ops[i].address, value, size, op == WAIT32 || op == WAIT64, ops[i].flags));
    }
    return CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags) {
    return batch(stream, count, ops, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,
                               unsigned int flags) {
    return batch(stream, count, ops, flags);
}
