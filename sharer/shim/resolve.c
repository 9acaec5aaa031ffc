// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "lock.h"

#define HOOK(name, rule, class, params, args) int name params;
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    HOOK(name, rule, class, params, args) HOOK(name##_##suffix, rule, class, params, args)
#include "hooks.h"
#undef HOOK
#undef TWIN

enum { CUDA, NVML, LIBRARIES };

static const struct row {
    const char *name;
    void *hook;
} rows[HOOKS] = {
#define HOOK(name, rule, class, params, args) {#name, (void *)(uintptr_t)name},
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    HOOK(name, rule, class, params, args) HOOK(name##_##suffix, rule, class, params, args)
#include "hooks.h"
#undef HOOK
#undef TWIN
};

static const char *const passed[] = {
#define PASS(name) #name,
#include "passed.h"
#undef PASS
};

void *resolve_real[HOOKS];
_Thread_local int resolve_depth;

typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef void *(*dlvsym_fn)(void *handle, const char *name, const char *version);
typedef void *(*dlopen_fn)(const char *file, int mode);

static struct lock lock;
static _Atomic(void *) opened[LIBRARIES];
static const char *const sonames[LIBRARIES] = {"libcuda.so.1", "libnvidia-ml.so.1"};
static _Atomic(dlsym_fn) real_dlsym;
static _Atomic(dlvsym_fn) real_dlvsym;
static _Atomic uint32_t unknown;

enum { BUCKETS = 1024 };
_Static_assert(BUCKETS >= 2 * HOOKS, "the table must stay half empty");
static struct bucket {
    _Atomic(void *) real;
    void *hook;
} table[BUCKETS];

static struct bucket *bucket_of(void *real) {
    size_t i = (size_t)(((uintptr_t)real >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54);
    for (;; i = (i + 1) % BUCKETS) {
        void *there = atomic_load_explicit(&table[i].real, memory_order_acquire);
        if (!there || there == real) return &table[i];
    }
}

static dlsym_fn find_dlsym(void) {
    dlsym_fn f = atomic_load_explicit(&real_dlsym, memory_order_acquire);
    if (LIKELY(f)) return f;
    f = (dlsym_fn)elf_libc("dlsym");
    atomic_store_explicit(&real_dlvsym, (dlvsym_fn)elf_libc("dlvsym"), memory_order_release);
    atomic_store_explicit(&real_dlsym, f, memory_order_release);
    return f;
}

static void enter(int i, void *real) {
    struct bucket *b = bucket_of(real);
    resolve_real[i] = real;
    if (atomic_load_explicit(&b->real, memory_order_relaxed)) return; // an alias: the first row serves both
    b->hook = rows[i].hook;
    atomic_store_explicit(&b->real, real, memory_order_release);
}

static int library_of(const char *name) {
    return name[0] == 'n' ? NVML : CUDA;
}

// open_library fills the tables from the library once. Unless load, it does so
// only when somebody else has loaded it. The driver's initialisers may look
// symbols up: the depth guard keeps them out of the lock.
static void *open_library(int library, bool load) {
    void *handle = atomic_load_explicit(&opened[library], memory_order_acquire);
    dlopen_fn dlopen_real = (dlopen_fn)(handle ? NULL : elf_libc("dlopen"));
    dlsym_fn sym = find_dlsym();
    if (handle || !dlopen_real || !sym) return handle;
    int error = errno;
    resolve_depth++;
    handle = dlopen_real(sonames[library], RTLD_LAZY | RTLD_NOLOAD);
    if (!handle && load) handle = dlopen_real(sonames[library], RTLD_LAZY);
    lock_take(&lock);
    if (handle && !atomic_load(&opened[library])) {
        for (int i = 0; i < HOOKS; i++) {
            void *real = library_of(rows[i].name) == library ? sym(handle, rows[i].name) : NULL;
            if (real && real != rows[i].hook) enter(i, real);
        }
        atomic_store_explicit(&opened[library], handle, memory_order_release);
    }
    lock_give(&lock);
    resolve_depth--;
    errno = error;
    return handle;
}

void *resolve_load(enum hook hook) {
    if (LIKELY(resolve_real[hook])) return resolve_real[hook];
    open_library(library_of(rows[hook].name), true);
    return resolve_real[hook];
}

void *resolve_symbol(const char *name) {
    void *handle = open_library(library_of(name), true);
    return handle ? find_dlsym()(handle, name) : NULL;
}

void *resolve_route(void *real) {
    struct bucket *b = bucket_of(real);
    return atomic_load_explicit(&b->real, memory_order_relaxed) ? b->hook : real;
}

// is_known says whether passed.h has the symbol, in whatever form it is asked for.
static bool is_known(const char *symbol) {
    char name[96] = "";
    strncat(name, symbol, sizeof name - 1);
    size_t n = strlen(name);
    if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0)) name[n -= 5] = 0;
    if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v') name[n - 3] = 0;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (strcmp(passed[i], name) == 0) return true;
    return false;
}

void resolve_proc(const char *name, void **function) {
    if (!function || !*function || !open_library(CUDA, false)) return;
    void *hook = resolve_route(*function);
    if (hook == *function && !is_known(name)) atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
    *function = hook;
}

uint32_t resolve_found(void) {
    uint32_t n = 0;
    for (int i = 0; i < HOOKS; i++) n += resolve_real[i] && library_of(rows[i].name) == CUDA;
    return n;
}

uint32_t resolve_unknown(void) {
    return atomic_load_explicit(&unknown, memory_order_relaxed);
}

static bool is_driver_name(const char *name) {
    if (!name) return false;
    if (name[0] == 'c' && name[1] == 'u') return name[2] >= 'A' && name[2] <= 'Z';
    return strncmp(name, "nvml", 4) == 0;
}

static bool is_hook(const void *p) {
    for (int i = 0; i < HOOKS; i++)
        if (rows[i].hook == p) return true;
    return false;
}

// found routes the real resolver's answer. A search of everything (RTLD_DEFAULT)
// may find the hook itself: it exists only as far as the driver does.
static void *found(void *p, const char *name) {
    if (!p || !open_library(library_of(name), false)) return is_hook(p) ? NULL : p;
    return resolve_route(p);
}

// after answers RTLD_NEXT for a driver's symbol. The real dlsym would search after
// this library and not after the caller, who could be given itself for ever.
static void *after(const char *name) {
    void *handle = open_library(library_of(name), false);
    void *p = handle ? find_dlsym()(handle, name) : NULL;
    return p ? resolve_route(p) : NULL;
}

// Any other name is a tail call, so that the real dlsym sees the caller's address
// on the stack and finds what is next after the caller. -O2 is what makes it one.
__attribute__((visibility("default"), optimize("O2"))) void *dlsym(void *handle, const char *name) {
    dlsym_fn real = find_dlsym();
    if (!real) return NULL;
    if (!is_driver_name(name) || resolve_depth) return real(handle, name);
    void *p = handle == RTLD_NEXT ? after(name) : NULL;
    return p ? p : found(real(handle, name), name);
}

__attribute__((visibility("default"), optimize("O2"))) void *dlvsym(void *handle, const char *name,
                                                                    const char *version) {
    dlvsym_fn real = find_dlsym() ? atomic_load_explicit(&real_dlvsym, memory_order_acquire) : NULL;
    if (!real) return NULL;
    if (!is_driver_name(name) || resolve_depth) return real(handle, name, version);
    return found(real(handle, name, version), name);
}
