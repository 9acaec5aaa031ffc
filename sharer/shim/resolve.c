// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "elf.h"
#include "lock.h"

#define HOOK(name, rule, class, params, args) int name params;
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    HOOK(name, rule, class, params, args) HOOK(name##_##suffix, rule, class, params, args)
#include "hooks.h"
#undef HOOK
#undef TWIN

enum { CUDA, NVML, LIBRARIES };

// The names stand in one string, one after the other, and the hooks' addresses are
// stored by code: a table of pointers would be filled in by the loader in every
// program, also in those that never call CUDA.
static const char names[] =
#define HOOK(name, rule, class, params, args) #name "\0"
#define TWIN(name, suffix, rule, class, params, args) #name "\0" #name "_" #suffix "\0"
#include "hooks.h"
#undef HOOK
#undef TWIN
    ;

static void *hooks[HOOKS]; // once a library is open
static void *reals[HOOKS]; // what the drivers have
void *resolve_real[HOOKS];
_Thread_local int resolve_depth;

static void store_hooks(void) {
#define HOOK(name, rule, class, params, args) hooks[H_##name] = (void *)(uintptr_t)name;
#define TWIN(name, suffix, rule, class, params, args)                                                                  \
    HOOK(name, rule, class, params, args) HOOK(name##_##suffix, rule, class, params, args)
#include "hooks.h"
#undef HOOK
#undef TWIN
}

typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef void *(*dlvsym_fn)(void *handle, const char *name, const char *version);
typedef void *(*dlopen_fn)(const char *file, int mode);

static struct lock lock;
static _Atomic(void *) opened[LIBRARIES];
static const char sonames[LIBRARIES][24] = {"libcuda.so.1", "libnvidia-ml.so.1"};
static _Atomic(dlsym_fn) real_dlsym;
static _Atomic(dlvsym_fn) real_dlvsym;
static _Atomic uint32_t unknown;

// The hooks by the addresses of what they stand for.
enum { BUCKETS = 512 };
_Static_assert(BUCKETS >= 2 * HOOKS, "the table must stay half empty");
static _Atomic uint16_t table[BUCKETS]; // 1 + the hook, 0 none

static _Atomic uint16_t *bucket_of(const void *real) {
    size_t i = (size_t)(((uintptr_t)real >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 55);
    for (;; i = (i + 1) % BUCKETS) {
        uint16_t there = atomic_load_explicit(&table[i], memory_order_acquire);
        if (!there || reals[there - 1] == real) return &table[i];
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

// enter is called once for each hook; of two names for one address the first
// serves both.
static void enter(int i, void *real) {
    _Atomic uint16_t *b = bucket_of(real);
    reals[i] = real;
    if (atomic_load_explicit(b, memory_order_relaxed)) return;
    atomic_store_explicit(b, (uint16_t)(i + 1), memory_order_release);
}

static int library_of(const char *name) {
    return name[0] == 'n' ? NVML : CUDA;
}

// fill enters what the library has of the hooks' names. What its own table lacks,
// or gives in a way of its own, is asked of dlsym.
static void fill(int library, void *handle, dlsym_fn sym) {
    struct elf object;
    bool readable = elf_of(handle, &object);
    const char *name = names;
    store_hooks();
    for (int i = 0; i < HOOKS; i++, name += strlen(name) + 1) {
        if (library_of(name) != library) continue;
        void *real = readable ? elf_find(&object, name) : NULL;
        if (!real) real = sym(handle, name);
        if (real && real != hooks[i]) enter(i, real);
    }
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
        fill(library, handle, sym);
        atomic_store_explicit(&opened[library], handle, memory_order_release);
    }
    lock_give(&lock);
    resolve_depth--;
    errno = error;
    return handle;
}

void *resolve_load(enum hook hook) {
    return open_library(hook < H_nvmlDeviceGetMemoryInfo ? CUDA : NVML, true) ? reals[hook] : NULL;
}

void *resolve_symbol(const char *name) {
    void *handle = open_library(library_of(name), true);
    return handle ? find_dlsym()(handle, name) : NULL;
}

void *resolve_route(void *real) {
    uint16_t there = atomic_load_explicit(bucket_of(real), memory_order_acquire);
    return there ? hooks[there - 1] : real;
}

void resolve_proc(const char *name, void **function) {
    if (!function || !*function || !open_library(CUDA, false)) return;
    void *hook = resolve_route(*function);
    if (hook == *function && !resolve_known(name)) atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
    *function = hook;
}

uint32_t resolve_found(void) {
    uint32_t n = 0;
    for (int i = 0; i < H_nvmlDeviceGetMemoryInfo; i++) n += reals[i] != NULL;
    return n;
}

uint32_t resolve_unknown(void) {
    return atomic_load_explicit(&unknown, memory_order_relaxed);
}

void resolve_after_fork(void) {
    memset(resolve_real, 0, sizeof resolve_real);
}

static bool is_driver_name(const char *name) {
    if (!name) return false;
    if (name[0] == 'c' && name[1] == 'u') return name[2] >= 'A' && name[2] <= 'Z';
    return strncmp(name, "nvml", 4) == 0;
}

static bool is_hook(const void *p) {
    lock_take(&lock);
    store_hooks();
    lock_give(&lock);
    for (int i = 0; i < HOOKS; i++)
        if (hooks[i] == p) return true;
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
