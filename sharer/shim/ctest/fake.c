// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void *make(const char *dir, const char *name, size_t size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) die(path);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) die(path);
    close(fd);
    return p;
}

void fake_root(char root[64]) {
    strcpy(root, "/tmp/aipub-shim-XXXXXX");
    if (!mkdtemp(root)) die(root);
}

static void fill(struct fake *f, uint32_t flags, uint64_t memory) {
    *f->grant = (struct aipub_grant){.magic = AIPUB_GRANT_MAGIC,
                                     .layout = AIPUB_LAYOUT,
                                     .size = sizeof *f->grant,
                                     .slice = "test",
                                     .gpu_name = GPU_NAME,
                                     .flags = flags,
                                     .guarantee_permille = 500,
                                     .max_permille = 1000,
                                     .memory_bytes = memory,
                                     .guaranteed_bytes = memory,
                                     .context_bytes = 400 * MIB,
                                     .window_ns = 2 * MS,
                                     .linger_ns = 5 * MS,
                                     .stale_ns = 1000 * MS,
                                     .turn = 1,
                                     .heartbeat_ns = now_ns()};
    for (int i = 0; i < 16; i++) f->grant->gpu_uuid[i] = (uint8_t)i;
    f->page->magic = AIPUB_PAGE_MAGIC;
    f->page->layout = AIPUB_LAYOUT;
    f->page->size = sizeof *f->page;
    f->page->slots = AIPUB_SLOTS;
    f->page->slot_size = sizeof(struct aipub_slot);
}

static void hear(struct fake *f, int fd, const struct aipub_msg *m) {
    pthread_mutex_lock(&f->lock);
    f->heard_at[f->count % HEARD] = now_ns();
    f->heard[f->count++ % HEARD] = *m;
    pthread_mutex_unlock(&f->lock);
    struct aipub_msg answer = {.type = f->answer, .slot = m->slot, .layout = AIPUB_LAYOUT, .a = AIPUB_REFUSED_LAYOUT};
    if (m->type == AIPUB_HELLO && f->answer) send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    if (m->type == AIPUB_WANT && f->generous) fake_lease(f, 10000 * MS);
}

static void *listen_for(void *arg) {
    struct fake *f = arg;
    struct pollfd fds[600] = {{.fd = f->listener, .events = POLLIN}};
    nfds_t n = 1;
    while (!f->over) {
        if (!f->silent) __atomic_store_n(&f->grant->heartbeat_ns, now_ns(), __ATOMIC_SEQ_CST);
        if (poll(fds, n, 5) <= 0) continue;
        for (nfds_t i = 1; i < n; i++) {
            struct aipub_msg m;
            if (!fds[i].revents) continue;
            if (recv(fds[i].fd, &m, sizeof m, MSG_DONTWAIT) == sizeof m) {
                hear(f, fds[i].fd, &m);
                continue;
            }
            close(fds[i].fd);
            fds[i--] = fds[--n];
        }
        int fd = fds[0].revents ? accept(f->listener, NULL, NULL) : -1;
        if (fd >= 0 && n < 600) fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    for (nfds_t i = 1; i < n; i++) close(fds[i].fd);
    return NULL;
}

static void listen_at(struct fake *f) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%.80s/%s", f->dir, AIPUB_SOCKET_FILE);
    unlink(at.sun_path);
    f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(f->listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(f->listener, 512) != 0) die(at.sun_path);
    pthread_create(&f->thread, NULL, listen_for, f);
}

void fake_end(struct fake *f) {
    static const char *const files[] = {AIPUB_GRANT_FILE, AIPUB_PAGE_FILE, AIPUB_SOCKET_FILE};
    char path[256];
    f->over = true;
    pthread_join(f->thread, NULL);
    close(f->listener);
    munmap(f->grant, sizeof *f->grant);
    munmap(f->page, sizeof *f->page);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", f->dir, files[i]);
        unlink(path);
    }
    rmdir(f->dir);
    rmdir(f->root); // with the last slice
}

void fake_slice(struct fake *f, const char *root, const char *name, uint32_t flags, uint64_t memory) {
    *f = (struct fake){.answer = AIPUB_WELCOME, .lock = PTHREAD_MUTEX_INITIALIZER};
    strcpy(f->root, root);
    snprintf(f->dir, sizeof f->dir, "%s/%s", root, name);
    if (mkdir(f->dir, 0700) != 0) die(f->dir);
    f->grant = make(f->dir, AIPUB_GRANT_FILE, sizeof *f->grant);
    f->page = make(f->dir, AIPUB_PAGE_FILE, sizeof *f->page);
    fill(f, flags, memory);
    listen_at(f);
}

void fake_restart(struct fake *old, struct fake *f) {
    old->over = true;
    pthread_join(old->thread, NULL);
    close(old->listener);
    *f = (struct fake){.answer = AIPUB_WELCOME, .lock = PTHREAD_MUTEX_INITIALIZER, .grant = old->grant, .page = old->page};
    strcpy(f->root, old->root);
    strcpy(f->dir, old->dir);
    listen_at(f);
}

void fake_lease(struct fake *f, uint64_t ns) {
    __atomic_store_n(&f->grant->until_ns, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&f->grant->turn, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&f->grant->lease_kind, ns ? AIPUB_LEASE_OWN : AIPUB_LEASE_NONE, __ATOMIC_SEQ_CST);
    if (ns) __atomic_store_n(&f->grant->until_ns, now_ns() + ns, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &f->grant->turn, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

unsigned fake_heard(struct fake *f, uint32_t type) {
    unsigned n = 0;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; i < f->count && i < HEARD; i++) n += f->heard[i].type == type;
    pthread_mutex_unlock(&f->lock);
    return n;
}

uint64_t fake_time(struct fake *f, uint32_t type, unsigned n) {
    uint64_t at = 0;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; at == 0 && i < f->count && i < HEARD; i++)
        if (f->heard[i].type == type && --n == 0) at = f->heard_at[i];
    pthread_mutex_unlock(&f->lock);
    return at;
}

bool fake_wait(struct fake *f, uint32_t type, unsigned n, struct aipub_msg *m) {
    for (uint64_t until = now_ns() + 10000 * MS; now_ns() < until; usleep(1000)) {
        unsigned seen = 0;
        bool found = false;
        pthread_mutex_lock(&f->lock);
        for (unsigned i = 0; !found && i < f->count && i < HEARD; i++) {
            found = f->heard[i].type == type && ++seen == n;
            if (found && m) *m = f->heard[i];
        }
        pthread_mutex_unlock(&f->lock);
        if (found) return true;
    }
    return false;
}

uint64_t fake_held(const struct fake *f) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < AIPUB_SLOTS; i++) {
        const struct aipub_slot *s = &f->page->slot[i];
        sum += s->committed_bytes + s->pending_bytes + s->overhead_bytes;
    }
    return sum;
}

static void remove_machine(void) {
    static char dir[128];
    char path[160];
    if (!getenv("GPUSIM_DIR") || dir[0]) return;
    snprintf(dir, sizeof dir, "%s", getenv("GPUSIM_DIR"));
    static const char *const files[] = {"state", "boot_id", "clients", "description", "machine.conf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}

void fake_hide(void) {
    if (access("/run/aipub", F_OK) != 0 || unshare(CLONE_NEWNS) != 0) return;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/run/aipub", "tmpfs", 0, NULL) != 0)
        die("hide /run/aipub");
}

void fake_machine(void) {
    fake_hide();
    static char dir[] = "/tmp/aipub-gpusim-XXXXXX";
    char path[128], command[512];
    if (!mkdtemp(dir)) die(dir);
    snprintf(path, sizeof path, "%s/machine.conf", dir);
    FILE *out = fopen(path, "w");
    if (!out) die(path);
    fprintf(out, "[machine]\nname = shim\n[gpu]\nmodel = H200-141\ncount = 2\nuuid = %s, %s\n", GPU_NAME, OTHER_GPU_NAME);
    fclose(out);
    setenv("GPUSIM_DIR", dir, 1);
    snprintf(command, sizeof command, "%s/gpusim init %s >/dev/null", getenv("GPUSIM_BUILD"), path);
    if (system(command) != 0) die("gpusim init");
    atexit(remove_machine);
}

pid_t run(const char *root, const char *cuda, const char *const args[]) {
    char libraries[512];
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) return pid;
    const char *build = getenv("GPUSIM_BUILD"), *v = cuda && *cuda ? cuda : "";
    bool plain = !*v || strcmp(v, "noop") == 0;
    snprintf(libraries, sizeof libraries, "%s/%s%s:%s", build, plain ? "" : "cuda-", v, build);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    setenv("LD_PRELOAD", getenv("SHIM"), 1);
    if (root) setenv("AIPUB_SLICES_DIR", root, 1);
    else unsetenv("AIPUB_SLICES_DIR");
    execv(getenv("CLIENT"), (char *const *)args);
    _exit(127);
}

int finish(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
