// SPDX-License-Identifier: Apache-2.0
//
// The ledger's protocol alone, under sanitizers, with a driver that is nothing but
// one GPU's number: many processes race, die at every step, are stopped, and have
// a neighbour that writes nonsense into the page.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ledger.h"
#include "../resolve.h"
#include "fake.h"

enum { PROCESSES = 64, LIMIT_MIB = 1000 };

int failures;
static struct fake f;
static struct shared {
    _Atomic uint64_t real, most; // bytes that the GPU would hold
    _Atomic uint64_t granted, steps, stop, ready;
} * shared;

static _Atomic uint64_t kill_at;

void test_step(int n) {
    (void)n;
    uint64_t step = atomic_fetch_add(&shared->steps, 1) + 1;
    if (step == kill_at) raise(SIGKILL);
}

// The driver.
void *resolve_real[HOOKS];
_Thread_local int resolve_depth;

static int get_count(int *n) {
    *n = 1;
    return 0;
}

static int get(CUdevice *d, int i) {
    *d = i;
    return 0;
}

static int get_uuid(CUuuid *id, CUdevice d) {
    for (int i = 0; i < 16; i++) id->bytes[i] = (char)(i + d);
    return 0;
}

static int get_total(size_t *bytes, CUdevice d) {
    *bytes = (size_t)d + 100000 * MIB;
    return 0;
}

void *resolve_symbol(const char *name) {
    if (strcmp(name, "cuDeviceGetCount") == 0) return (void *)(uintptr_t)get_count;
    if (strcmp(name, "cuDeviceGet") == 0) return (void *)(uintptr_t)get;
    if (strcmp(name, "cuDeviceGetUuid") == 0) return (void *)(uintptr_t)get_uuid;
    return NULL;
}

void *resolve_load(enum hook hook) {
    return hook == H_cuDeviceTotalMem_v2 ? (void *)(uintptr_t)get_total : NULL;
}

void resolve_after_fork(void) {}

uint32_t resolve_found(void) {
    return 0;
}

uint32_t resolve_unknown(void) {
    return 0;
}

// attach is what a first call does; it returns the GPU.
static struct device *attach(void) {
    return slices_known() == CUDA_SUCCESS ? slices_device(0) : NULL;
}

static bool take(struct device *d, uint64_t bytes, struct charge *c) {
    if (!ledger_reserve(d, bytes, c)) return false;
    uint64_t real = atomic_fetch_add(&shared->real, bytes) + bytes, most = shared->most;
    while (real > most && !atomic_compare_exchange_weak(&shared->most, &most, real)) {}
    atomic_fetch_add(&shared->granted, 1);
    ledger_commit(c, bytes, ACCOUNT_MEMORY);
    c->bytes = bytes;
    return true;
}

static void give(struct charge *c) {
    atomic_fetch_sub(&shared->real, c->bytes);
    ledger_release(c->slice, c->bytes, ACCOUNT_MEMORY);
    c->bytes = 0;
}

static void begin(void) {
    char root[64];
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_MEMORY, LIMIT_MIB * MIB);
    f.answer = 0; // init does not wait for it: nobody listens
    memset(shared, 0, sizeof *shared);
    setenv("AIPUB_SLICES_DIR", root, 1);
}

// bury does what the agent does when a process is dead.
static void bury(pid_t pid) {
    for (unsigned i = 0; i < AIPUB_SLOTS; i++)
        if (f.page->slot[i].owner == (uint64_t)pid) memset(&f.page->slot[i], 0, sizeof f.page->slot[i]);
}

// racer takes and gives at random; it lets the others run in between, and begins
// when all are there.
static void racer(unsigned seed, long rounds, unsigned racers) {
    struct charge held[8] = {0};
    struct device *d = attach();
    if (!d) _exit(3);
    for (atomic_fetch_add(&shared->ready, 1); shared->ready < racers;) sched_yield();
    for (long i = 0; i < rounds && !shared->stop; i++) {
        struct charge *c = &held[rand_r(&seed) % 8];
        if (rand_r(&seed) % 4 == 0) sched_yield();
        if (c->bytes) give(c);
        else take(d, (uint64_t)(rand_r(&seed) % 64 + 1) * MIB, c);
    }
    for (int i = 0; i < 8; i++)
        if (held[i].bytes) give(&held[i]);
    _exit(0);
}

static void race(void) {
    const char *wanted = getenv("RACES");
    long total = wanted ? atol(wanted) : 64000;
    pid_t pids[PROCESSES];
    begin();
    f.answer = AIPUB_WELCOME;
    for (unsigned i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) racer(i + 1, total / PROCESSES, PROCESSES);
    for (unsigned i = 0; i < PROCESSES; i++) CHECK(finish(pids[i]) == 0);
    uint64_t most = shared->most;
    CHECK(most <= LIMIT_MIB * MIB, "%lu bytes over", (unsigned long)(most - LIMIT_MIB * MIB));
    CHECK(most > (LIMIT_MIB - 64) * MIB, "the limit was reached, or this tests nothing");
    CHECK(shared->granted > 0 && fake_held(&f) == 0, "%lu bytes left", (unsigned long)fake_held(&f));
    printf("memory_overrun_bytes %ld in %ld racing calls of %d processes, %lu granted, peak %lu of %d MiB\n",
           most > LIMIT_MIB * MIB ? (long)(most - LIMIT_MIB * MIB) : 0, total, PROCESSES,
           (unsigned long)shared->granted, (unsigned long)(most / MIB), LIMIT_MIB);
    fake_end(&f);
}

static void scenario(void) {
    struct charge a, b;
    struct device *d = attach();
    if (!d || !take(d, 100 * MIB, &a) || take(d, 2000 * MIB, &b) || !take(d, 50 * MIB, &b)) _exit(3);
    give(&a);
    if (!ledger_reserve(d, 10 * MIB, &a)) _exit(4);
    ledger_cancel(&a);
    give(&b);
    _exit(0);
}

// Killed at any step, a process leaves its own slot and nothing else: the agent
// clears it, and all of the slice can be had again.
static void kill_everywhere(void) {
    begin();
    f.answer = AIPUB_WELCOME;
    pid_t pid = fork();
    if (pid == 0) scenario();
    CHECK(finish(pid) == 0);
    bury(pid);
    uint64_t steps = shared->steps;
    CHECK(steps > 20, "%lu steps", (unsigned long)steps);
    for (uint64_t at = 1; at <= steps; at++) {
        shared->steps = 0;
        kill_at = at;
        if ((pid = fork()) == 0) scenario();
        kill_at = 0;
        CHECK(finish(pid) == 128 + SIGKILL, "step %lu", (unsigned long)at);
        for (unsigned i = 0; i < AIPUB_SLOTS; i++) {
            struct aipub_slot *s = &f.page->slot[i];
            CHECK(s->owner == (uint64_t)pid || (s->owner == 0 && s->committed_bytes + s->pending_bytes == 0));
        }
        bury(pid);
        CHECK(fake_held(&f) == 0, "step %lu", (unsigned long)at);
        shared->real = 0;
    }
    printf("killed at each of %lu steps\n", (unsigned long)steps);
    fake_end(&f);
}

// A stopped process keeps what it announced; others get what is left, and wait a
// second and no longer for the rest.
static void stopped(void) {
    begin();
    f.answer = AIPUB_WELCOME;
    pid_t pid = fork();
    if (pid == 0) {
        struct charge c;
        if (!ledger_reserve(attach(), 600 * MIB, &c)) _exit(3);
        raise(SIGSTOP);
        ledger_cancel(&c);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    pid_t other = fork();
    if (other == 0) {
        struct charge c, e;
        struct device *d = attach();
        bool small = ledger_reserve(d, 300 * MIB, &c), large = ledger_reserve(d, 500 * MIB, &e);
        kill(pid, SIGCONT);
        while (small && !large && !ledger_reserve(d, 500 * MIB, &e)) {}
        _exit(small && !large ? 0 : 1);
    }
    CHECK(finish(other) == 0);
    CHECK(finish(pid) == 0);
    fake_end(&f);
}

// Whatever a neighbour writes into the page: no crash, no hang.
static void scribbled(void) {
    pid_t pids[8];
    begin();
    for (unsigned i = 0; i < 8; i++)
        if ((pids[i] = fork()) == 0) racer(i + 1, 100000, 1);
    unsigned seed = 7;
    for (uint64_t until = now_ns() + 1500 * MS; now_ns() < until;)
        for (int i = 0; i < 1000; i++)
            ((uint8_t *)f.page)[rand_r(&seed) % sizeof *f.page] = (uint8_t)rand_r(&seed);
    shared->stop = 1;
    for (unsigned i = 0; i < 8; i++) {
        int code = finish(pids[i]);
        CHECK(code == 0 || code == 3, "racer %u: %d", i, code);
    }
    fake_end(&f);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fake_hide();
    race();
    kill_everywhere();
    stopped();
    scribbled();
    printf("%s ledger\n", failures ? "FAIL" : "ok");
    return failures ? 1 : 0;
}
