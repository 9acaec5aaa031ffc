// SPDX-License-Identifier: Apache-2.0
//
// The symbols that programs find instead of the driver's. Each asks its rule,
// unless the driver itself is calling, and is as old or new as the driver: what
// the driver lacks is answered as missing.
#define _GNU_SOURCE
#include "rules.h"
#include "slices.h"

enum {
    ABSENT_RESOLVE = CUDA_ERROR_NOT_FOUND,
    ABSENT_INIT = CUDA_ERROR_NO_DEVICE,
    ABSENT_CONTEXT = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_ALLOC = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_FREE = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_CODE = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_LAUNCH = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_GRAPH = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_CAPTURE = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_STREAM = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_COPY = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_INFO = CUDA_ERROR_NOT_SUPPORTED,
    ABSENT_NVML = NVML_ERROR_FUNCTION_NOT_FOUND,
};

// What must be so before a hook of the class is called for the first time.
enum need {
    NOTHING,
    SLICES,   // the slices are attached and their GPUs known
    ACCEPTED, // and the agent has answered, or has not in time

    NEEDS_RESOLVE = NOTHING,
    NEEDS_INIT = NOTHING,
    NEEDS_CONTEXT = NOTHING, // each rule asks, every time
    NEEDS_ALLOC = ACCEPTED,
    NEEDS_FREE = NOTHING,
    NEEDS_CODE = ACCEPTED,
    NEEDS_LAUNCH = ACCEPTED,
    NEEDS_GRAPH = ACCEPTED,
    NEEDS_CAPTURE = ACCEPTED,
    NEEDS_STREAM = NOTHING,
    NEEDS_COPY = ACCEPTED,
    NEEDS_INFO = SLICES,
    NEEDS_NVML = NOTHING,
};

struct way {
    void *real;
    int error; // when there is none
};

// first is a hook's way to the driver as long as resolve_real lacks its function. It
// stays the way while the slices cannot be used, or the driver was not initialised.
// What the driver calls itself needs nothing.
static __attribute__((noinline, cold)) struct way first(enum hook hook, enum need need, int absent) {
    int result = CUDA_SUCCESS;
    if (need != NOTHING && !resolve_depth) {
        resolve_depth++;
        result = need == ACCEPTED ? slices_accepted() : slices_known();
        resolve_depth--;
    }
    struct way w = {result == CUDA_SUCCESS ? resolve_load(hook) : NULL, result == CUDA_SUCCESS ? absent : result};
    if (w.real && (need == NOTHING || (!resolve_depth && slices_matched())))
        __atomic_store_n(&resolve_real[hook], w.real, __ATOMIC_RELEASE);
    return w;
}

#define EXPORT(name, class, params, args, call)                                                                        \
    __attribute__((visibility("default"))) int name params {                                                           \
        fn_##name real = (fn_##name)__atomic_load_n(&resolve_real[H_##name], __ATOMIC_ACQUIRE);                        \
        if (UNLIKELY(!real)) {                                                                                         \
            struct way w = first(H_##name, NEEDS_##class, ABSENT_##class);                                             \
            if (!w.real) return w.error;                                                                               \
            real = (fn_##name)w.real;                                                                                  \
        }                                                                                                              \
        if (UNLIKELY(resolve_depth)) return real args;                                                                 \
        resolve_depth++;                                                                                               \
        int result = call;                                                                                             \
        resolve_depth--;                                                                                               \
        return result;                                                                                                 \
    }

#define HOOK(name, rule, class, params, args) EXPORT(name, class, params, args, on_##rule(real, UNPACK args))
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    EXPORT(name, class, params, args, on_##rule(real, false, UNPACK args))                                             \
    EXPORT(name##_##suffix, class, params, args, on_##rule(real, true, UNPACK args))
#include "hooks.h"
