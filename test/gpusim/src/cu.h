// SPDX-License-Identifier: Apache-2.0
//
// The inside of the simulated CUDA driver: this process's devices, contexts,
// streams, events, code and memory. The machine's lock guards all of it, so
// calls of all processes of a machine exclude each other; waits release it.
#ifndef GPUSIM_CU_H
#define GPUSIM_CU_H

#include <stdbool.h>

#include "clients.h"
#include "cuda_calls.h"
#include "exec.h"
#include "models.h"
#include "process.h"

enum { CU_NAME_SIZE = 128 };

// Handles are addresses of objects that begin with their kind.
enum cu_kind {
    CU_KIND_CONTEXT = 0x43545831,
    CU_KIND_STREAM,
    CU_KIND_EVENT,
    CU_KIND_MODULE,
    CU_KIND_FUNCTION,
    CU_KIND_POOL,
    CU_KIND_ARRAY,
    CU_KIND_MIPMAP,
    CU_KIND_EXTERNAL,
    CU_KIND_GRAPH,
    CU_KIND_NODE,
    CU_KIND_EXEC,
    CU_KIND_GREEN,
    CU_KIND_LINK,
};

// cu_is: the handle is an object of this kind.
static inline bool cu_is(const void *handle, enum cu_kind kind) {
    return (uintptr_t)handle >= 4096 && *(const uint32_t *)handle == (uint32_t)kind;
}

struct cu_device {
    uint32_t gpu, gi, ci, place; // GS_NONE instances: the whole GPU
    char uuid[GS_UUID_SIZE];
    struct CUctx_st *primary;
    unsigned primary_refs, primary_flags;
    struct CUmemPoolHandle_st *default_pool, *pool, *graph_pool;
};

struct cu_slab;

struct CUctx_st {
    uint32_t kind;
    int device;
    uint32_t slot;    // in the machine's contexts
    uint32_t process; // in the GPU's process table
    unsigned flags;
    bool destroyed;
    uint64_t id, overhead;
    size_t limit[16];
    CUstream legacy;
    struct CUstream_st *streams;
    struct cu_slab *slabs;
    struct CUmod_st *modules;
    struct CUgreenCtx_st *green;
    struct CUctx_st *next;
};

struct cu_capture;

struct CUstream_st {
    uint32_t kind;
    uint32_t slot;
    CUcontext ctx;
    unsigned flags;
    int priority;
    uint64_t id, pushed; // commands submitted
    uint64_t owner;      // thread number of a per-thread default stream
    bool dying;          // destroyed, and still working
    struct cu_capture *capture;
    struct cu_nodes *deps; // what the next captured work depends on
    struct cu_host_call *calls, **calls_end; // queued host functions, in order
    struct CUstream_st *next;
};

struct CUevent_st {
    uint32_t kind;
    uint32_t slot;
    CUcontext ctx;
    unsigned flags;
    uint32_t stream; // slot of the stream of the last record,
    uint64_t count;  // and how many of its commands must be complete
    bool foreign; // opened from another process's handle
    struct cu_capture *capture;
    struct cu_nodes *nodes; // what a wait for the event depends on while capturing
};

struct CUfunc_st {
    uint32_t kind;
    char name[CU_NAME_SIZE];
    struct CUmod_st *module;
    uint64_t us;   // runs so long, unless
    int parameter; // this kernel parameter (an uint64) says it; -1: none
    unsigned block[3], shared;
    unsigned char param[4096]; // of the legacy launch calls
};

struct CUmod_st {
    uint32_t kind;
    struct CUmod_st *next;
    CUcontext ctx; // NULL in a library, which belongs to no context
    uint64_t bytes;
    int functions;
    struct CUfunc_st *function;
    bool library;
};

enum cu_memory { CU_MEM_DEVICE, CU_MEM_MANAGED, CU_MEM_HOST, CU_MEM_MAPPED, CU_MEM_POOL, CU_MEM_IPC, CU_MEM_RESERVED };

// One range of addresses, found by any address within.
struct cu_range {
    CUdeviceptr base;
    uint64_t size;    // as asked
    uint64_t charged; // device memory that goes away with it
    enum cu_memory memory;
    CUcontext ctx;
    struct cu_slab *slab;
    struct CUmemPoolHandle_st *pool;
    struct cu_physical *physical;
    unsigned flags;
    bool registered; // host memory of the caller
    bool resident;   // managed: on the device
    uint64_t id;
};

// The process's view. One, because libcuda is one library per process.
struct cu_library {
    struct gs_machine m;
    uint64_t boot;
    bool ready;
    int client; // -1: not attached
    int devices;
    struct cu_device device[GS_MAX_GPUS];
    struct CUctx_st *contexts, *ended; // ended ones stay to be recognised
    void *ranges; // tsearch tree of struct cu_range
    uint64_t next_address, next_id;
};
extern struct cu_library cu;
extern __thread bool cu_per_thread;   // in a _ptds or _ptsz call
extern __thread bool cu_in_host_call; // in a function that a stream runs

// cu_enter takes the lock: NOT_INITIALIZED before cuInit and in a fork's child,
// DEINITIALIZED when the machine is gone.
CUresult cu_enter(void);
void cu_leave(const bool *entered);

#define CU_TRY(expr)                             \
    do {                                         \
        CUresult tried = (expr);                 \
        if (tried != CUDA_SUCCESS) return tried; \
    } while (0)

// CU_CALL holds the lock until the function returns.
#define CU_CALL()       \
    CU_TRY(cu_enter()); \
    const bool entered __attribute__((cleanup(cu_leave), unused)) = true

// CU_CONTEXT is CU_CALL with the thread's current context in `ctx`.
#define CU_CONTEXT() \
    CU_CALL();       \
    CUcontext ctx;   \
    CU_TRY(cu_current(&ctx))

uint64_t cu_id(void);
uint64_t cu_thread(void); // number of the calling thread

// devices
CUresult cu_find_devices(void);
struct cu_device *cu_device_at(CUdevice dev);
struct gs_gpu *cu_gpu(const struct cu_device *d);
const struct gs_model *cu_model(const struct cu_device *d);
uint64_t cu_room(const struct cu_device *d); // bytes that clients may hold

// contexts
CUresult cu_current(CUcontext *ctx);
CUresult cu_check_context(CUcontext ctx);
CUresult cu_context_create(int device, unsigned flags, CUcontext *out);
void cu_context_destroy(CUcontext ctx);
CUcontext cu_context_on(int device); // any, NULL if there is none
CUresult cu_charge(CUcontext ctx, int64_t bytes); // OUT_OF_MEMORY when the GPU is full

// memory
struct cu_range *cu_range_at(CUdeviceptr p);
struct cu_range *cu_range_new(CUdeviceptr base, uint64_t size, enum cu_memory memory, CUcontext ctx);
void cu_range_drop(struct cu_range *r);
CUdeviceptr cu_addresses(uint64_t size, uint64_t alignment);
void cu_addresses_free(CUdeviceptr base, uint64_t size);
void cu_pools_settle(void);    // at a synchronization: what is above the thresholds goes back
void cu_pools_end(int device); // with the last context on a device
CUresult cu_pool_free(struct cu_range *r); // of memory from a pool, whose work is done
uint64_t cu_bus_ns(uint64_t bytes);        // time that a copy over the bus takes
CUresult cu_allocate(CUcontext ctx, uint64_t size, struct cu_range **out);
void cu_release(struct cu_range *r);
void cu_release_context(CUcontext ctx); // all memory of a context that ends
uint64_t cu_round_up(uint64_t n, uint64_t unit);
enum { CU_GRANULE = 2 << 20, CU_SMALL = 1 << 20, CU_ALIGN = 512 };

// streams
CUresult cu_stream(CUstream handle, CUstream *out); // 0, legacy and per-thread resolved
CUresult cu_stream_create(CUcontext ctx, unsigned flags, int priority, CUstream *out);
CUresult cu_push(CUstream s, struct gs_command c); // waits while the queue is full
CUresult cu_wait(CUstream s, uint64_t count);
CUresult cu_drain(CUcontext ctx); // everything submitted in the context
void cu_streams_end(CUcontext ctx);
CUresult cu_host_call(CUstream s, CUhostFn fn, CUstreamCallback callback, void *user);
// cu_host_call_when runs it when `ready` says so, which is asked again and again.
CUresult cu_host_call_when(CUstream s, bool (*ready)(const void *user), CUhostFn fn, void *user);
void cu_host_calls_end(CUstream s);

// capture; all are no-ops for streams that do not capture
CUresult cu_refuse_capture(CUcontext ctx, CUstream s);  // calls that no capture allows; s NULL: the context's
bool cu_capturing(CUstream s);

// code
void cu_modules_end(CUcontext ctx);

#endif
