// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "probe.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    uint64_t own, since_start; // ns that the calls took, and from the common start to their end
    int result;
};

struct shared {
    uint64_t began;
    struct run run[1024];
};

// child has its driver open and waits until the gate is closed at the other end.
static void child(struct shared *s, int i, int gate, bool context) {
    char byte;
    CUcontext made;
    int (*init)() = look_up("cuInit"), (*retain)() = look_up("cuDevicePrimaryCtxRetain");
    if (read(gate, &byte, 1) != 0) _exit(1);
    uint64_t begin = now_ns();
    s->run[i].result = init(0);
    if (context && s->run[i].result == 0) s->run[i].result = retain(&made, 0);
    uint64_t end = now_ns();
    s->run[i].own = end - begin;
    s->run[i].since_start = end - s->began;
    pause(); // alive, so that its slot stays taken
}

void storm(int processes, bool context) {
    int gate[2];
    pid_t pids[1024];
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (processes > 1024 || s == MAP_FAILED || pipe(gate) != 0) exit(1);
    for (int i = 0; i < processes; i++) {
        if ((pids[i] = fork()) != 0) continue;
        close(gate[1]);
        child(s, i, gate[0], context);
    }
    usleep(1000000); // until all wait at the gate; those that do not measure the same
    s->began = now_ns();
    close(gate[1]);
    for (int i = 0; i < processes; i++)
        while (*(volatile uint64_t *)&s->run[i].since_start == 0) usleep(1000);
    for (int i = 0; i < processes; i++) {
        if (kill(pids[i], 9) != 0) exit(1);
        waitpid(pids[i], NULL, 0);
        must("start", s->run[i].result);
        printf("%lu %lu\n", (unsigned long)s->run[i].own, (unsigned long)s->run[i].since_start);
    }
}

// execs starts a program many times, one after the other, and prints how long each
// took from its start to its end in ns.
void execs(int times, const char *program) {
    extern char **environ;
    char *const args[] = {(char *)program, NULL};
    for (int i = 0; i < times; i++) {
        pid_t pid;
        int status;
        uint64_t begin = now_ns();
        if (posix_spawn(&pid, program, NULL, NULL, args, environ) != 0 || waitpid(pid, &status, 0) != pid || status) exit(1);
        printf("%lu\n", (unsigned long)(now_ns() - begin));
    }
}
