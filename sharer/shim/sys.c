// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "elf.h"
#include "lock.h"

uint64_t sys_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static struct timespec duration(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

void sys_sleep(uint64_t ns) {
    struct timespec t = duration(ns);
    syscall(SYS_nanosleep, &t, NULL);
}

void sys_futex_wait(const void *word, uint32_t seen, uint64_t ns) {
    struct timespec t = duration(ns);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

void sys_futex_wake(const void *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void lock_sleep(struct lock *l) {
    int error = errno;
    while (atomic_exchange(&l->word, 2) != 0) syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    errno = error;
}

void lock_wake(struct lock *l) {
    int error = errno;
    syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = error;
}

void *sys_zeroed(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

uint64_t sys_start_time(void) {
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = 0;
    const char *at = strrchr(text, ')'); // the name may hold spaces; field 3 follows
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    uint64_t value = 0;
    for (; at && *at >= '0' && *at <= '9'; at++) value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

void sys_tell(const char *what, const char *where) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char line[512] = "aipub: ";
    if (atomic_flag_test_and_set(&told)) return;
    strncat(line, what, 300);
    strncat(line, where, 180);
    strcat(line, "\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0) return;
}

bool sys_thread(void *(*run)(void *), void *arg) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = elf_libc("pthread_create");
    int (*detach)(pthread_t) = elf_libc("pthread_detach");
    if (!create || !detach) return false;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); // of the calling thread, as Linux has it
    pthread_t thread;
    bool ok = create(&thread, NULL, run, arg) == 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (ok) detach(thread);
    return ok;
}
