// SPDX-License-Identifier: Apache-2.0
//
// The lock outlives its holders, and a wait neither misses an event nor ends
// early. Each part would hang without the property; the alarm turns that into
// a failure.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "events.h"

static const char two[] = "[gpu]\nmodel = T4\ncount = 2\n";

// die_holding forks a child that takes the lock and is killed with it.
static void die_holding(struct gs_machine *m) {
    pid_t child = fork();
    if (!child) {
        gs_lock(m);
        m->s->generation += 1000;
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void *try_lock(void *machine) {
    struct gs_machine *m = machine;
    return (void *)(intptr_t)pthread_mutex_trylock(&m->s->lock);
}

// held_by_us: a lock that was handed on still excludes others.
static int held_by_us(struct gs_machine *m) {
    pthread_t other;
    void *result;
    pthread_create(&other, NULL, try_lock, m);
    pthread_join(other, &result);
    return (intptr_t)result == EBUSY;
}

static void killed_holder(void) {
    struct gs_machine m = {0};
    make_machine(&m, two);
    for (int i = 0; i < 3; i++) { // the lock must be usable again and again
        die_holding(&m);
        gs_lock(&m);
        CHECK(m.s->generation == 1000u * (i + 1) && held_by_us(&m));
        gs_unlock(&m);
    }
    drop_machine(&m);
}

static void *take(void *machine) {
    gs_lock(machine);
    gs_unlock(machine);
    return NULL;
}

// A waiter that already sleeps on the lock is woken by its holder's death.
static void killed_holder_with_waiter(void) {
    struct gs_machine m = {0};
    make_machine(&m, two);
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (!child) {
        gs_lock(&m);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        alarm(60); // a failed parent must not leave it behind
        pause();
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    pthread_t waiter;
    pthread_create(&waiter, NULL, take, &m);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    pthread_join(waiter, NULL);
    close(ready[0]);
    close(ready[1]);
    drop_machine(&m);
}

// Two processes add 20000 each under the lock: no addition is lost.
static void exclusion(void) {
    struct gs_machine m = {0};
    make_machine(&m, two);
    pid_t child[2];
    for (int c = 0; c < 2; c++) {
        if ((child[c] = fork())) continue;
        for (int i = 0; i < 20000; i++) {
            gs_lock(&m);
            m.s->gpu[0].v.util_gpu++;
            gs_unlock(&m);
        }
        _exit(0);
    }
    for (int c = 0; c < 2; c++) waitpid(child[c], NULL, 0);
    CHECK(m.s->gpu[0].v.util_gpu == 40000, "%u", m.s->gpu[0].v.util_gpu);
    drop_machine(&m);
}

static void *post_one(void *machine) {
    struct gs_machine *m = machine;
    gs_lock(m);
    gs_post(m->s, 1, NVML_EVENT_XID, 48, GS_NONE, GS_NONE);
    gs_unlock(m);
    return NULL;
}

// A post between the look and the sleep must end the sleep.
static void no_lost_wakeup(void) {
    struct gs_machine m = {0};
    make_machine(&m, two);
    struct timespec far;
    clock_gettime(CLOCK_MONOTONIC, &far);
    far.tv_sec += 3600;
    uint32_t seen = m.s->pulse;
    post_one(&m);
    gs_wait(m.s, seen, &far); // returns at once
    seen = m.s->pulse;
    pthread_t poster;
    pthread_create(&poster, NULL, post_one, &m);
    while (__atomic_load_n(&m.s->pulse, __ATOMIC_SEQ_CST) == seen) gs_wait(m.s, seen, &far);
    pthread_join(poster, NULL);
    CHECK(m.s->event_next == 2);
    drop_machine(&m);
}

// A reader that fell more than a ring behind continues with what is left.
static void overrun(void) {
    struct gs_machine m = {0};
    make_machine(&m, two);
    struct gs_interest want = {.types = {[0] = NVML_EVENT_XID}};
    struct gs_event e;
    uint64_t cursor = 0;
    for (unsigned i = 0; i < GS_EVENT_RING + 10; i++) gs_post(m.s, 0, NVML_EVENT_XID, i, GS_NONE, GS_NONE);
    CHECK(gs_next(m.s, &cursor, &want, &e) && e.data == 10, "%llu", (unsigned long long)e.data);
    drop_machine(&m);
}

// A file of another layout is refused, not mapped.
static void foreign(void) {
    struct gs_machine m = {0}, n = {0};
    char why[PATH_MAX + 200];
    make_machine(&m, two);
    m.s->version++;
    CHECK(gs_machine_open(&n, m.dir, why, sizeof why) == GS_OPEN_FOREIGN && strstr(why, "this build wants version"),
          "%s", why);
    m.s->version--;
    CHECK(truncate(strcat(strcpy(why, m.dir), "/state"), sizeof(struct gs_state) - 1) == 0);
    CHECK(gs_machine_open(&n, m.dir, why, sizeof why) == GS_OPEN_FOREIGN, "%s", why);
    CHECK(gs_machine_open(&n, "/nonexistent", why, sizeof why) == GS_OPEN_ABSENT, "%s", why);
    drop_machine(&m);
}

void test_lock(void) {
    alarm(60);
    killed_holder();
    killed_holder_with_waiter();
    exclusion();
    no_lost_wakeup();
    overrun();
    foreign();
    alarm(0);
}
