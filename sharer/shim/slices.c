// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "slices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book.h"
#include "context.h"
#include "gate.h"
#include "pools.h"
#include "resolve.h"
#include "slabs.h"
#include "sys.h"

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

static struct lock lock;
static _Atomic int state; // 0 not attached, 1 attached, 2 refused
static struct slice slices[MAX_SLICES];
static unsigned slice_count;
static struct device devices[MAX_DEVICES];
static _Atomic unsigned device_count;

static bool join(char *to, size_t size, const char *dir, const char *name) {
    size_t a = strlen(dir), b = strlen(name);
    if (a + b + 2 > size) return false;
    memcpy(to, dir, a);
    to[a] = '/';
    memcpy(to + a + 1, name, b + 1);
    return true;
}

// map maps a whole file that must have that size; a hole would be a SIGBUS later.
static void *map(const char *dir, const char *name, size_t size, int protection) {
    char path[160];
    if (!join(path, sizeof path, dir, name)) return NULL;
    int fd = open(path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) return NULL;
    void *p = MAP_FAILED;
    if (lseek(fd, 0, SEEK_END) >= (off_t)size) p = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static bool understood(const struct slice *s) {
    return s->grant->magic == AIPUB_GRANT_MAGIC && s->grant->layout == AIPUB_LAYOUT &&
           s->grant->size == sizeof *s->grant && s->page->magic == AIPUB_PAGE_MAGIC &&
           s->page->layout == AIPUB_LAYOUT && s->page->size == sizeof *s->page && s->page->slots == AIPUB_SLOTS &&
           s->page->slot_size == sizeof(struct aipub_slot);
}

static bool open_slice(struct slice *s, const char *dir) {
    if (!s->grant) s->grant = map(dir, AIPUB_GRANT_FILE, sizeof *s->grant, PROT_READ);
    if (!s->page) s->page = map(dir, AIPUB_PAGE_FILE, sizeof *s->page, PROT_READ | PROT_WRITE);
    if (!s->grant || !s->page) {
        sys_tell("cannot use the GPU: the slice's files cannot be read; restart the pod, and if that does not help "
                 "look at the aipub-node pod of this node: ",
                 dir);
        return false;
    }
    if (understood(s)) return join(s->path, sizeof s->path, dir, AIPUB_SOCKET_FILE) || (s->path[0] = 0, true);
    sys_tell("cannot use the GPU: the node's aipub has another version than the library in this container; restart "
             "the pod: ",
             dir);
    return false;
}

// empty clears everything that a slot says but whose it is.
static void empty(struct aipub_slot *slot) {
    uint64_t *word = (uint64_t *)slot;
    for (size_t i = 1; i < sizeof *slot / sizeof *word; i++) STORE(word[i], 0);
}

// forget_former empties what this process left in a slot before it called exec:
// its GPU memory went with the program. The slot itself is for the agent, who
// learns of it by the connection that exec closed.
static void forget_former(struct aipub_slot *slot) {
    STORE(slot->pending_bytes, 0);
    STORE(slot->committed_bytes, 0);
    STORE(slot->overhead_bytes, 0);
    STORE(slot->managed_bytes, 0);
    STORE(slot->waiting, 0);
    STORE(slot->inflight, 0);
    STORE(slot->busy_turn, 0);
}

static void describe(struct aipub_slot *slot, uint64_t start) {
    STORE(slot->start_time, start);
    elf_build_id(slot->build_id);
    STORE(slot->hooks, (uint32_t)H_nvmlDeviceGetMemoryInfo); // NVML's come last
    if (getenv("CUDA_INJECTION64_PATH")) OR(slot->problems, AIPUB_PROBLEM_TOOL);
}

static bool take_slot(struct slice *s) {
    uint64_t me = (uint64_t)getpid(), start = sys_start_time();
    for (uint32_t i = 0; i < AIPUB_SLOTS; i++) {
        struct aipub_slot *slot = &s->page->slot[i];
        uint64_t owner = LOAD(slot->owner);
        if (owner == me && start && LOAD(slot->start_time) == start) forget_former(slot);
        if (owner != 0 || !__atomic_compare_exchange_n(&slot->owner, &owner, me, false, __ATOMIC_SEQ_CST,
                                                       __ATOMIC_SEQ_CST))
            continue;
        AIPUB_STEP(1);
        empty(slot);
        uint32_t used = LOAD(s->page->used);
        while (used < i + 1 && !__atomic_compare_exchange_n(&s->page->used, &used, i + 1, false, __ATOMIC_SEQ_CST,
                                                            __ATOMIC_SEQ_CST)) {}
        AIPUB_STEP(2);
        s->index = i;
        s->slot = slot;
        describe(slot, start);
        AIPUB_STEP(3);
        return true;
    }
    sys_tell("cannot use the GPU: the slice has 512 GPU processes, which is the most that it can have: ", s->path);
    return false;
}

static const char *slices_dir(void) {
    if (access(AIPUB_SLICES_DIR, F_OK) == 0) return AIPUB_SLICES_DIR;
    return secure_getenv("AIPUB_SLICES_DIR");
}

static bool open_slices(void) {
    const char *dir = slices_dir();
    DIR *list = dir ? opendir(dir) : NULL;
    struct dirent *entry;
    char path[128];
    bool ok = true;
    slice_count = 0;
    while (ok && list && (entry = readdir(list))) {
        if (entry->d_name[0] == '.' || slice_count == MAX_SLICES) continue;
        struct slice *s = &slices[slice_count++];
        s->socket = -1;
        ok = join(path, sizeof path, dir, entry->d_name) && open_slice(s, path) && take_slot(s);
    }
    if (list) closedir(list);
    return ok;
}

static uint64_t patience; // the answer to the greeting is waited for until then
static atomic_bool accepted; // it was waited for

static bool greet(void) {
    patience = sys_now() + 100 * MILLISECOND;
    for (unsigned i = 0; i < slice_count; i++) agent_hello(&slices[i]);
    return true;
}

static bool welcomed(void) {
    for (unsigned i = 0; i < slice_count; i++) {
        if (agent_welcomed(&slices[i], patience)) continue;
        sys_tell("cannot use the GPU: the node's agent does not accept this process; restart the pod: ", slices[i].path);
        return false;
    }
    return true;
}

// In a child CUDA does not work until exec; its parent's slots are not its own.
static void after_fork(void) {
    lock = (struct lock){0};
    for (unsigned i = 0; i < slice_count; i++) {
        if (slices[i].socket >= 0) close(slices[i].socket);
        if (slices[i].grant) munmap((void *)slices[i].grant, sizeof *slices[i].grant);
        if (slices[i].page) munmap(slices[i].page, sizeof *slices[i].page);
        slices[i] = (struct slice){.socket = -1};
    }
    slice_count = 0;
    atomic_store(&device_count, 0);
    atomic_store(&state, 0);
    atomic_store(&accepted, false);
    context_after_fork();
    book_after_fork();
    slabs_after_fork();
    pools_after_fork();
    gate_after_fork();
}

int slices_attach(void) {
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == 0) {
        static atomic_flag watched = ATOMIC_FLAG_INIT;
        int error = errno;
        lock_take(&lock);
        if (atomic_load(&state) == 0) {
            if (!atomic_flag_test_and_set(&watched)) __register_atfork(NULL, NULL, after_fork, NULL);
            atomic_store_explicit(&state, open_slices() && greet() ? 1 : 2, memory_order_release);
        }
        now = atomic_load(&state);
        lock_give(&lock);
        errno = error;
    }
    return now == 1 ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

int slices_accepted(void) {
    if (slices_attach() != CUDA_SUCCESS) return CUDA_ERROR_SYSTEM_NOT_READY;
    if (atomic_load_explicit(&accepted, memory_order_acquire)) return CUDA_SUCCESS;
    int error = errno;
    lock_take(&lock);
    if (!atomic_load(&accepted) && !welcomed()) atomic_store(&state, 2);
    atomic_store_explicit(&accepted, true, memory_order_release);
    int now = atomic_load(&state);
    lock_give(&lock);
    errno = error;
    return now == 1 ? CUDA_SUCCESS : CUDA_ERROR_SYSTEM_NOT_READY;
}

static struct device *device_for(CUdevice id) {
    unsigned n = atomic_load(&device_count);
    for (unsigned i = 0; i < n; i++)
        if (devices[i].id == id) return &devices[i];
    if (n == MAX_DEVICES) return NULL;
    devices[n] = (struct device){.id = id};
    return &devices[n];
}

static void match_device(CUdevice id, const CUuuid *uuid) {
    struct device *d = device_for(id);
    for (unsigned i = 0; d && i < slice_count; i++)
        if (memcmp(uuid->bytes, slices[i].grant->gpu_uuid, 16) == 0) d->slices[d->count++] = &slices[i];
    if (!d || d->count == 0) return;
    int (*total)(size_t *, CUdevice) = (fn_cuDeviceTotalMem_v2)resolve_load(H_cuDeviceTotalMem_v2);
    size_t bytes = 0;
    if (total && total(&bytes, id) == CUDA_SUCCESS) d->total = bytes;
    atomic_fetch_add(&device_count, 1);
}

void slices_match(void) {
    int (*get_count)(int *) = DRIVER(cuDeviceGetCount, int *);
    int (*get)(CUdevice *, int) = DRIVER(cuDeviceGet, CUdevice *, int);
    int (*get_uuid)(CUuuid *, CUdevice) = DRIVER(cuDeviceGetUuid, CUuuid *, CUdevice);
    int (*get_version)(int *) = DRIVER(cuDriverGetVersion, int *);
    if (!get_uuid) get_uuid = resolve_symbol("cuDeviceGetUuid_v2");
    int n = 0, version = 0;
    lock_take(&lock);
    if (slice_count > 0 && atomic_load(&device_count) == 0 && get_count && get && get_uuid &&
        get_count(&n) == CUDA_SUCCESS) {
        CUdevice id;
        CUuuid uuid;
        for (int i = 0; i < n; i++)
            if (get(&id, i) == CUDA_SUCCESS && get_uuid(&uuid, id) == CUDA_SUCCESS) match_device(id, &uuid);
    }
    if (get_version) get_version(&version);
    for (unsigned i = 0; i < slice_count; i++) {
        STORE(slices[i].slot->driver_version, (uint32_t)version);
        STORE(slices[i].slot->found, resolve_found());
    }
    lock_give(&lock);
}

struct device *slices_devices(unsigned *count) {
    *count = atomic_load_explicit(&device_count, memory_order_acquire);
    return devices;
}

struct device *slices_device(CUdevice id) {
    unsigned n = atomic_load_explicit(&device_count, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (devices[i].id == id) return &devices[i];
    return NULL;
}

struct device *slices_current(void) {
    CUdevice id;
    if (atomic_load_explicit(&device_count, memory_order_acquire) == 0) return NULL;
    int (*get)(CUdevice *) = DRIVER(cuCtxGetDevice, CUdevice *);
    return get && get(&id) == CUDA_SUCCESS ? slices_device(id) : NULL;
}

bool slices_named(const char *gpu_name, struct device *d) {
    *d = (struct device){0};
    if (slices_attach() != CUDA_SUCCESS) return false;
    for (unsigned i = 0; i < slice_count; i++)
        if (strncmp(slices[i].grant->gpu_name, gpu_name, 64) == 0) d->slices[d->count++] = &slices[i];
    return d->count > 0;
}

void slices_unknown(void) {
    uint32_t n = resolve_unknown();
    for (unsigned i = 0; n && i < slice_count; i++)
        if (slices[i].slot) STORE(slices[i].slot->unknown, n);
}

void slices_problem(uint32_t bit) {
    for (unsigned i = 0; i < slice_count; i++)
        if (slices[i].slot) OR(slices[i].slot->problems, bit);
}
