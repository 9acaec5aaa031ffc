// SPDX-License-Identifier: Apache-2.0
//
// Which real function stands behind each hook, and which hook in front of each
// real function. Whoever asks for a driver function, by dlsym, dlvsym or
// cuGetProcAddress, is answered by the real resolver first; the answer is then
// looked up here by its address. So version, calling convention and stream kind
// are always the ones that the caller asked for, and what is unknown stays the
// driver's own.
#ifndef AIPUB_RESOLVE_H
#define AIPUB_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda_min.h"
#include "sys.h"

enum hook {
#define HOOK(name, rule, class, params, args) H_##name,
#define TWIN(name, suffix, rule, class, params, args) H_##name, H_##name##_##suffix,
#include "hooks.h"
#undef HOOK
#undef TWIN
    HOOKS
};

// The type of each hooked function, fn_<symbol>.
#define HOOK(name, rule, class, params, args) typedef int(*fn_##name) params;
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    HOOK(name, rule, class, params, args) HOOK(name##_##suffix, rule, class, params, args)
#include "hooks.h"
#undef HOOK
#undef TWIN

// What each hook calls, NULL before it was called for the first time: until then a
// call goes the long way, on which the slices are attached (exports.c).
extern void *resolve_real[HOOKS];

// Nonzero while the thread is inside the driver on behalf of a hook: what the
// driver calls or looks up itself is its own business.
extern _Thread_local int resolve_depth __attribute__((tls_model("initial-exec")));

// resolve_load returns the driver's function behind a hook, NULL when this driver
// has none. It loads the hook's library when nobody has yet.
void *resolve_load(enum hook hook);

// REAL is that function with its type.
#define REAL(name) ((fn_##name)resolve_load(H_##name))

// resolve_symbol returns the real address of a driver symbol that has no hook.
void *resolve_symbol(const char *name);

// DRIVER is such a function with its parameters' types, looked up once.
#define DRIVER(name, ...)                                                                                              \
    ({                                                                                                                 \
        static _Atomic(void *) known;                                                                                  \
        void *found = atomic_load_explicit(&known, memory_order_relaxed);                                              \
        if (UNLIKELY(!found)) atomic_store(&known, found = resolve_symbol(#name));                                     \
        (int (*)(__VA_ARGS__))found;                                                                                   \
    })

// resolve_route returns the hook in front of a real address, or the address.
void *resolve_route(void *real);

// resolve_proc routes what cuGetProcAddress found, and counts what is unknown.
void resolve_proc(const char *name, void **function);

// resolve_known says whether passed.h has the symbol, in whatever form it is asked
// for.
bool resolve_known(const char *symbol);

// resolve_found returns how many of the CUDA hooks this driver has.
uint32_t resolve_found(void);

// resolve_unknown returns how often an unknown driver symbol was asked for.
uint32_t resolve_unknown(void);

// resolve_after_fork makes every hook's next call a first one.
void resolve_after_fork(void);

#endif
