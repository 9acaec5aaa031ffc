// SPDX-License-Identifier: Apache-2.0
//
// Opens the slices' files and takes a slot in each. Anything that is there and
// cannot be used is refused: to go on would be to go on without a limit.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf.h"
#include "resolve.h"
#include "slices.h"
#include "sys.h"

// join writes dir/name into to; false: it does not fit.
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

// open_dir opens the folder of slices and gives its path; -1: there is none, -2: it
// cannot be read.
static int open_dir(const char **path) {
    *path = AIPUB_SLICES_DIR;
    int fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && (*path = secure_getenv("AIPUB_SLICES_DIR")))
        fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) return fd;
    return errno == ENOENT || errno == ENOTDIR || !*path ? -1 : -2;
}

// What getdents64 writes.
struct entry64 {
    uint64_t ino;
    int64_t off;
    unsigned short size;
    unsigned char type;
    char name[];
};

static bool open_entry(struct slice *all, unsigned *count, const char *dir, const char *name) {
    char path[128];
    if (name[0] == '.' || *count == MAX_SLICES) return true;
    struct slice *s = &all[(*count)++];
    s->socket = -1;
    return join(path, sizeof path, dir, name) && open_slice(s, path) && take_slot(s);
}

bool slices_open(struct slice all[MAX_SLICES], unsigned *count) {
    _Alignas(struct entry64) char buffer[2048];
    const char *dir;
    int fd = open_dir(&dir);
    long n = 0;
    *count = 0;
    if (fd == -1) return true;
    bool ok = fd >= 0;
    while (ok && (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; ok && at < n;) {
            struct entry64 *e = (struct entry64 *)(buffer + at);
            ok = open_entry(all, count, dir, e->name);
            at += e->size;
        }
    if (fd < 0 || n < 0)
        sys_tell("cannot use the GPU: the folder of slices cannot be read; raise the limit of open files, or run as a "
                 "user that may read it: ",
                 dir);
    if (fd >= 0) close(fd);
    return ok && n >= 0;
}
