// SPDX-License-Identifier: Apache-2.0
//
// The symbols that programs find instead of the driver's. Each asks its rule,
// unless the driver itself is calling, and is as old or new as the driver: what
// the driver lacks is answered as missing.
#define _GNU_SOURCE
#include <errno.h>

#include "rules.h"

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

#define EXPORT(name, class, params, args, call)                                                                        \
    __attribute__((visibility("default"))) int name params {                                                           \
        fn_##name real = REAL(name);                                                                                   \
        if (UNLIKELY(!real)) return ABSENT_##class;                                                                    \
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
