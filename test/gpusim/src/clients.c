// SPDX-License-Identifier: Apache-2.0
#include "clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec.h"
#include "process.h"

enum { MAX_MACHINES = 1024 };

// The descriptors that must never be closed, one for each machine's file.
static struct {
    pthread_mutex_t lock;
    int count;
    struct {
        dev_t dev;
        ino_t ino;
        int fd;
    } file[MAX_MACHINES];
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find_opened(const struct stat *st) {
    for (int i = 0; i < opened.count; i++)
        if (opened.file[i].dev == st->st_dev && opened.file[i].ino == st->st_ino) return opened.file[i].fd;
    return -1;
}

static int open_new(const char *path) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &st)) return -1;
    (void)!fchmod(fd, 0666); // clients of other users; fails when the file is theirs
    if (opened.count == MAX_MACHINES) return fd;
    opened.file[opened.count].dev = st.st_dev;
    opened.file[opened.count].ino = st.st_ino;
    opened.file[opened.count++].fd = fd;
    return fd;
}

int gs_clients_open(const char *dir) {
    char path[PATH_MAX + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s/clients", dir);
    pthread_mutex_lock(&opened.lock);
    int fd = stat(path, &st) ? -1 : find_opened(&st);
    if (fd < 0) fd = open_new(path);
    pthread_mutex_unlock(&opened.lock);
    return fd;
}

static struct flock byte_lock(uint32_t client, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = client, .l_len = 1};
}

static uint64_t pid_namespace(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static bool is_self(const struct gs_client *c) {
    return c->pid == (uint32_t)getpid() && c->start_time == gs_process_start_time(c->pid) &&
           c->pid_namespace == pid_namespace();
}

uint32_t gs_client_pid(const struct gs_machine *m, uint32_t client) {
    const struct gs_client *c = &m->s->exec.client[client];
    struct flock l = byte_lock(client, F_WRLCK);
    if (fcntl(m->clients, F_GETLK, &l)) return c->pid;
    // One's own lock is no obstacle and is reported as free.
    if (l.l_type == F_UNLCK) return is_self(c) ? c->pid : 0;
    return l.l_pid > 0 ? (uint32_t)l.l_pid : c->pid; // 0: outside of our namespace
}

int gs_client_attach(struct gs_machine *m) {
    struct gs_exec *e = &m->s->exec;
    for (uint32_t i = 0; i < GS_MAX_CLIENTS; i++) {
        struct gs_client *c = &e->client[i];
        struct flock l = byte_lock(i, F_WRLCK);
        if (c->used || fcntl(m->clients, F_SETLK, &l)) continue;
        uint32_t pid = (uint32_t)getpid();
        *c = (struct gs_client){.pid = pid,
                                .start_time = gs_process_start_time(pid),
                                .pid_namespace = pid_namespace(),
                                .generation = ++e->generation};
        if (e->client_high <= i) e->client_high = i + 1;
        __atomic_store_n(&c->used, 1, __ATOMIC_RELEASE);
        return (int)i;
    }
    return -1;
}

static void drop_processes(struct gs_state *s, uint32_t client) {
    for (uint32_t g = 0; g < s->machine.gpu_count; g++)
        for (int i = 0; i < GS_MAX_PROCESSES; i++)
            if (s->gpu[g].v.process[i].used && s->gpu[g].v.process[i].client == client + 1)
                s->gpu[g].v.process[i].used = 0;
}

// The client's own entry goes last, so that a reaper killed here is followed
// by another that finishes the work.
static void drop_client(struct gs_machine *m, uint32_t client) {
    struct gs_exec *e = &m->s->exec;
    for (uint32_t i = 0; i < e->context_high; i++)
        if (e->context[i].used && e->context[i].client == client) gs_exec_context_free(m->s, i);
    for (uint32_t i = 0; i < e->event_high; i++)
        if (e->event[i].used && e->event[i].client == client) e->event[i].used = 0;
    drop_processes(m->s, client);
    e->client[client].used = 0;
}

void gs_client_detach(struct gs_machine *m, uint32_t client) {
    struct flock l = byte_lock(client, F_UNLCK);
    drop_client(m, client);
    fcntl(m->clients, F_SETLK, &l);
    gs_exec_pulse(m->s);
}

int gs_clients_reap(struct gs_machine *m) {
    struct gs_exec *e = &m->s->exec;
    int gone = 0;
    for (uint32_t i = 0; i < e->client_high; i++) {
        if (!e->client[i].used || gs_client_pid(m, i)) continue;
        drop_client(m, i);
        gone++;
    }
    if (gone) gs_exec_pulse(m->s);
    return gone;
}
