// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clients.h"
#include "lifecycle.h"

const char *gs_default_dir(void) {
    const char *dir = getenv("GPUSIM_DIR");
    return dir && *dir ? dir : "/run/gpusim";
}

static enum gs_open_result refuse(int fd, enum gs_open_result r, char *why, size_t size, const char *path,
                                  const char *text) {
    snprintf(why, size, "%s: %s", path, text);
    if (fd >= 0) close(fd);
    return r;
}

static enum gs_open_result check_header(int fd, const char *path, char *why, size_t size) {
    struct stat st;
    struct {
        char magic[8];
        uint32_t version, size;
    } head;
    if (fstat(fd, &st) || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, GS_MAGIC, sizeof head.magic))
        return refuse(-1, GS_OPEN_FOREIGN, why, size, path, "is not a gpusim state file");
    if (head.version != GS_STATE_VERSION || head.size != sizeof(struct gs_state) ||
        st.st_size != (off_t)sizeof(struct gs_state)) {
        snprintf(why, size, "%s: has layout version %u of %u bytes, this build wants version %d of %zu bytes", path,
                 head.version, head.size, GS_STATE_VERSION, sizeof(struct gs_state));
        return GS_OPEN_FOREIGN;
    }
    return GS_OPEN_OK;
}

enum gs_open_result gs_machine_open(struct gs_machine *m, const char *dir, char *why, size_t size) {
    char path[PATH_MAX + 8];
    snprintf(m->dir, sizeof m->dir, "%s", dir);
    snprintf(path, sizeof path, "%s/state", m->dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return refuse(-1, GS_OPEN_ABSENT, why, size, path, strerror(errno));
    enum gs_open_result r = check_header(fd, path, why, size);
    if (r != GS_OPEN_OK) {
        close(fd);
        return r;
    }
    void *map = mmap(NULL, sizeof(struct gs_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return refuse(fd, GS_OPEN_ABSENT, why, size, path, strerror(errno));
    close(fd);
    m->s = map;
    m->clients = gs_clients_open(dir);
    return GS_OPEN_OK;
}

void gs_machine_close(struct gs_machine *m) {
    if (m->s) munmap(m->s, sizeof *m->s);
    m->s = NULL;
}

static void init_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &a);
    pthread_mutexattr_destroy(&a);
}

static int make_dirs(char *path) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        int r = mkdir(path, 0755);
        *p = '/';
        if (r && errno != EEXIST) return -1;
    }
    return mkdir(path, 0755) && errno != EEXIST ? -1 : 0;
}

static void retire_old(const char *dir) {
    struct gs_machine old = {0};
    char why[PATH_MAX + 200];
    if (gs_machine_open(&old, dir, why, sizeof why) != GS_OPEN_OK) return;
    gs_lock(&old);
    old.s->retired = 1;
    gs_pulse(old.s);
    gs_unlock(&old);
    gs_machine_close(&old);
}

// write_state fills a temporary file with a powered-off machine and renames it.
static int write_state(const char *dir, const struct gs_machine_spec *machine, const struct gs_gpu_spec *gpus) {
    char tmp[PATH_MAX + 32], path[PATH_MAX + 8];
    snprintf(tmp, sizeof tmp, "%s/state.%d", dir, (int)getpid());
    snprintf(path, sizeof path, "%s/state", dir);
    int fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    if (fchmod(fd, 0666) || ftruncate(fd, sizeof(struct gs_state))) {
        close(fd);
        return -1;
    }
    struct gs_state *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s == MAP_FAILED) return -1;
    s->version = GS_STATE_VERSION;
    s->size = sizeof *s;
    init_lock(&s->lock);
    s->machine = *machine;
    for (uint32_t i = 0; i < machine->gpu_count; i++) s->gpu[i].spec = gpus[i];
    memcpy(s->magic, GS_MAGIC, sizeof s->magic);
    munmap(s, sizeof *s);
    return rename(tmp, path);
}

int gs_machine_create(struct gs_machine *m, const char *dir, const struct gs_machine_spec *machine,
                      const struct gs_gpu_spec *gpus, char *why, size_t size) {
    char buf[PATH_MAX];
    snprintf(buf, sizeof buf, "%s", dir);
    if (make_dirs(buf)) return snprintf(why, size, "make %s: %s", dir, strerror(errno)), -1;
    retire_old(dir);
    if (write_state(dir, machine, gpus)) return snprintf(why, size, "write %s/state: %s", dir, strerror(errno)), -1;
    if (gs_machine_open(m, dir, why, size) != GS_OPEN_OK) return -1;
    gs_lock(m);
    gs_power_on(m);
    gs_unlock(m);
    return 0;
}

void gs_lock(struct gs_machine *m) {
    if (pthread_mutex_lock(&m->s->lock) == EOWNERDEAD) pthread_mutex_consistent(&m->s->lock);
}

void gs_unlock(struct gs_machine *m) {
    pthread_mutex_unlock(&m->s->lock);
}

void gs_pulse(struct gs_state *s) {
    __atomic_add_fetch(&s->pulse, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->pulse, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gs_wait(struct gs_state *s, uint32_t seen, const struct timespec *deadline) {
    // BITSET because only it takes an absolute CLOCK_MONOTONIC time.
    syscall(SYS_futex, &s->pulse, FUTEX_WAIT_BITSET, seen, deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

void gs_new_uuid(char out[GS_UUID_SIZE], const char *prefix) {
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) abort(); // never short for 16 bytes
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    snprintf(out, GS_UUID_SIZE, "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix, b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}
