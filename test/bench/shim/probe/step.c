// SPDX-License-Identifier: Apache-2.0
//
// Linked into a copy of the preloaded library that was built with AIPUB_TEST: it
// kills its process at the step whose number is in KILL_AT, counted from 1 over the
// process' life, and writes when that was into the file KILL_LOG.
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void test_step(int n);

static void note(int n) {
    const char *path = getenv("KILL_LOG");
    struct timespec t;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t words[2] = {(int64_t)t.tv_sec * 1000000000 + t.tv_nsec, n};
    if (fd < 0 || write(fd, words, sizeof words) != sizeof words) _exit(99);
}

void test_step(int n) {
    static _Atomic long steps;
    const char *at = getenv("KILL_AT");
    if (atomic_fetch_add(&steps, 1) + 1 != (at ? atol(at) : 0)) return;
    note(n);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}
