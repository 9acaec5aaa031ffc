// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

static struct fake f;

static void begin(char root[64]) {
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_COMPUTE, 0);
}

// Every kind of launch waits for a lease, wants it once, works, and gives it back
// when it is idle.
static void one_lease(const char *how, const char *cuda) {
    char root[64];
    struct aipub_msg m;
    begin(root);
    setenv("LINGER", "100", 1);
    pid_t pid = run(root, cuda, ARGS("launch", how, "20", "100"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, &m), "%s", how);
    struct aipub_slot *s = &f.page->slot[0];
    CHECK(s->waiting == 1 && s->busy_turn == 0 && s->busy_ns == 0, "%s: nothing runs without a lease", how);
    fake_lease(&f, 10000 * MS);
    CHECK(fake_wait(&f, AIPUB_DRAINED, 1, &m), "%s: idle, so it is given back", how);
    CHECK(m.turn == f.grant->turn && m.b == 0, "%s: turn %u", how, m.turn);
    CHECK(m.a >= 1500000 && m.a <= 60 * MS, "%s: 2 ms of work, counted %lu ns", how, (unsigned long)m.a);
    CHECK(s->busy_turn == 0 && s->waiting == 0 && s->inflight == 0, "%s", how);
    CHECK(s->busy_ns == m.a && s->launches == 20 && s->waits == 1, "%s: %lu launches", how, (unsigned long)s->launches);
    CHECK(finish(pid) == 0, "%s", how);
    CHECK(fake_heard(&f, AIPUB_WANT) == 1 && fake_heard(&f, AIPUB_DRAINED) == 1, "%s", how);
    fake_end(&f);
    unsetenv("LINGER");
}

// A recall in the middle: the process says when, drains, wants the next turn.
static void recall(void) {
    char root[64];
    struct aipub_msg closing, drained;
    uint64_t longest = 0;
    begin(root);
    pid_t pid = run(root, "", ARGS("launch", "plain", "400", "1000"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    for (unsigned round = 1; round <= 5; round++) {
        fake_lease(&f, 10000 * MS);
        uint32_t turn = f.grant->turn;
        usleep(20000);
        uint64_t recalled = now_ns();
        fake_lease(&f, 0);
        CHECK(fake_wait(&f, AIPUB_CLOSING, round, &closing) && closing.turn == turn);
        CHECK(fake_wait(&f, AIPUB_DRAINED, round, &drained) && drained.turn == turn);
        uint64_t took = fake_time(&f, AIPUB_DRAINED, round) - recalled;
        if (took > longest) longest = took;
        uint64_t busy = f.page->slot[0].busy_ns;
        CHECK(f.page->slot[0].busy_turn == 0 && f.page->slot[0].inflight == 0);
        usleep(20000);
        CHECK(f.page->slot[0].busy_ns == busy, "nothing ran without a lease");
        CHECK(fake_wait(&f, AIPUB_WANT, round + 1, NULL));
    }
    f.generous = true;
    fake_lease(&f, 10000 * MS);
    CHECK(finish(pid) == 0);
    fake_end(&f);
    printf("recall to drained, longest of 5: %lu us with kernels of 1000 us\n", (unsigned long)longest / 1000);
}

// A lease ends by itself at its time.
static void expiry(void) {
    char root[64];
    struct aipub_msg m;
    begin(root);
    pid_t pid = run(root, "", ARGS("launch", "plain", "50", "1000"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    fake_lease(&f, 10 * MS);
    CHECK(fake_wait(&f, AIPUB_DRAINED, 1, &m) && m.turn == 2);
    CHECK(fake_wait(&f, AIPUB_WANT, 2, NULL), "work is left");
    f.generous = true;
    fake_lease(&f, 10000 * MS);
    CHECK(finish(pid) == 0);
    fake_end(&f);
}

// A new turn with the lease as it was: work goes on, under the new turn.
static void renewal(void) {
    char root[64];
    begin(root);
    pid_t pid = run(root, "", ARGS("launch", "plain", "200", "1000"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    f.generous = true;
    fake_lease(&f, 10000 * MS);
    for (int i = 0; i < 10000 && f.page->slot[0].busy_ns < 20 * MS; i++) usleep(1000);
    unsigned before = fake_heard(&f, AIPUB_CLOSING);
    uint32_t turn = __atomic_add_fetch(&f.grant->turn, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 10000 && f.page->slot[0].busy_turn != turn; i++) usleep(1000);
    CHECK(f.page->slot[0].busy_turn == turn && fake_heard(&f, AIPUB_CLOSING) == before, "it did not stop for it");
    CHECK(finish(pid) == 0);
    fake_end(&f);
}

// While the agent is silent the slice has its part of every period.
static void timetable(void) {
    char root[64];
    begin(root);
    f.grant->stale_ns = 50 * MS;
    f.grant->period_ns = 20 * MS;
    f.grant->length_ns = 10 * MS;
    f.silent = true;
    CHECK(finish(run(root, "", ARGS("launch", "plain", "40", "1000"))) == 0);
    CHECK(f.page->slot[0].waits > 0, "it had to wait for its time");
    f.grant->length_ns = 0;
    pid_t pid = run(root, "", ARGS("launch", "plain", "1", "1000"));
    usleep(300000);
    CHECK(f.page->slot[1].waiting == 1 && f.page->slot[1].busy_ns == 0, "no time of its own, so it waits");
    kill(pid, SIGKILL);
    CHECK(finish(pid) == 128 + SIGKILL);
    fake_end(&f);
}

// The agent restarts: the process comes back by itself.
static void reconnect(void) {
    char root[64];
    struct fake again;
    begin(root);
    pid_t pid = run(root, "", ARGS("launch", "plain", "5", "1000"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    fake_restart(&f, &again);
    CHECK(fake_wait(&again, AIPUB_HELLO, 1, NULL), "it says who it is to the new agent");
    CHECK(fake_wait(&again, AIPUB_WANT, 1, NULL), "and what it wants");
    again.generous = true;
    fake_lease(&again, 10000 * MS);
    CHECK(finish(pid) == 0);
    fake_end(&again);
}

// A verb that checks itself, with a lease as soon as it wants one.
static void served(const char *verb) {
    char root[64];
    begin(root);
    pid_t pid = run(root, "", ARGS(verb));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    f.generous = true;
    fake_lease(&f, 10000 * MS);
    CHECK(finish(pid) == 0);
    fake_end(&f);
}

// A process that is killed under a lease leaves in its slot under which turn it
// worked; one that is stopped is held to it no differently.
static void killed(void) {
    char root[64];
    begin(root);
    pid_t pid = run(root, "", ARGS("launch", "plain", "4000", "1000"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    f.generous = true;
    fake_lease(&f, 10000 * MS);
    for (int i = 0; i < 10000 && f.page->slot[0].busy_ns < 20 * MS; i++) usleep(1000);
    kill(pid, SIGSTOP);
    usleep(20000);
    CHECK(f.page->slot[0].owner == (uint64_t)pid && f.page->slot[0].busy_turn != 0);
    kill(pid, SIGKILL);
    CHECK(finish(pid) == 128 + SIGKILL);
    CHECK(f.page->slot[0].owner == (uint64_t)pid && f.page->slot[0].busy_turn != 0, "for the agent to see");
    fake_end(&f);
}

// Killed at any step of attaching, allocating, opening and giving back, a process
// leaves its own slot behind and nothing else.
static void killed_everywhere(void) {
    char root[64], at[16];
    int code = 128 + SIGKILL, step = 0;
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_COMPUTE | AIPUB_HAS_MEMORY, 8192 * MIB);
    f.generous = true;
    setenv("SHIM", getenv("STEPS"), 1);
    setenv("LINGER", "30", 1);
    while (code == 128 + SIGKILL && step < 500) {
        snprintf(at, sizeof at, "%d", ++step);
        setenv("AIPUB_KILL_AT", at, 1);
        pid_t pid = run(root, "", ARGS("launch", "plain", "3", "100"));
        code = finish(pid);
        for (unsigned i = 0; i < AIPUB_SLOTS; i++) {
            struct aipub_slot *s = &f.page->slot[i];
            CHECK(s->owner == 0 || s->owner == (uint64_t)pid, "step %d", step);
            CHECK(s->owner || s->committed_bytes + s->pending_bytes + s->overhead_bytes + s->busy_turn == 0, "step %d", step);
            memset(s, 0, sizeof *s);
        }
    }
    CHECK(code == 0 && step > 10, "code %d after %d steps", code, step);
    printf("killed at each of %d steps\n", step - 1);
    unsetenv("AIPUB_KILL_AT");
    unsetenv("LINGER");
    setenv("SHIM", getenv("SHIM_FILE"), 1);
    fake_end(&f);
}

// A profiler opens no gate, and the agent is told of it.
static void profiled(void) {
    char root[64];
    begin(root);
    setenv("CUDA_INJECTION64_PATH", "/some/profiler.so", 1);
    pid_t pid = run(root, "", ARGS("launch", "plain", "5", "100"));
    unsetenv("CUDA_INJECTION64_PATH");
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    CHECK(f.page->slot[0].problems & AIPUB_PROBLEM_TOOL);
    CHECK(f.page->slot[0].waiting == 1 && f.page->slot[0].busy_ns == 0, "nothing runs without a lease");
    fake_lease(&f, 10000 * MS);
    CHECK(finish(pid) == 0);
    CHECK(f.page->slot[0].waits == 1);
    fake_end(&f);
}

// What pools hold in reserve, and managed memory, go when the agent asks.
static void reclaimed(const char *what, uint32_t ask) {
    char root[64];
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_MEMORY, 8192 * MIB);
    pid_t pid = run(root, "", ARGS("reclaim", what));
    for (int i = 0; i < 10000 && f.page->slot[0].host_bytes != 1; i++) usleep(1000);
    CHECK(f.page->slot[0].host_bytes == 1, "it has something to give");
    __atomic_store_n(&f.grant->reclaim, ask, __ATOMIC_SEQ_CST);
    CHECK(finish(pid) == 0, "%s", what);
    fake_end(&f);
}

// A launch on two GPUs waits for both, the lower number first, and keeps the lease
// of the one while it waits for the other.
static void several(void) {
    static struct fake other;
    char root[64];
    struct aipub_msg m;
    begin(root);
    fake_slice(&other, root, "b", AIPUB_HAS_COMPUTE, 0);
    other.grant->gpu_uuid[0] = 0x10;
    pid_t pid = run(root, "12.9", ARGS("multi"));
    CHECK(fake_wait(&f, AIPUB_WANT, 1, NULL));
    usleep(20000);
    CHECK(fake_heard(&other, AIPUB_WANT) == 0, "it waits for the first before it wants the second");
    fake_lease(&f, 10000 * MS);
    CHECK(fake_wait(&other, AIPUB_WANT, 1, NULL));
    fake_lease(&f, 0);
    usleep(20000);
    CHECK(fake_heard(&f, AIPUB_DRAINED) == 0 && f.page->slot[0].busy_turn == 2, "it has the first still");
    CHECK(f.page->slot[0].busy_ns == 0 && other.page->slot[0].busy_ns == 0, "nothing runs without both");
    f.generous = other.generous = true;
    fake_lease(&other, 10000 * MS);
    CHECK(fake_wait(&f, AIPUB_DRAINED, 1, &m) && m.turn == 2, "and gives it back after the launch");
    CHECK(finish(pid) == 0);
    uint64_t first = f.page->slot[0].launches, second = other.page->slot[0].launches;
    CHECK(first == 5 && second == 7, "%lu and %lu, with one that is refused", (unsigned long)first, (unsigned long)second);
    fake_end(&f);
    fake_end(&other);
}

void test_gate(void) {
    static const char *const kinds[] = {"plain", "ex", "coop", "graph", "ptsz", "legacy", "legacy-grid", "legacy-async"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) one_lease(kinds[i], "");
    one_lease("multi", "12.9"); // CUDA 13 has it no longer
    recall();
    expiry();
    renewal();
    timetable();
    reconnect();
    served("capture");
    served("two");
    served("streams");
    killed();
    if (!getenv("LINKED")) killed_everywhere(); // another library has the steps
    profiled();
    several();
    reclaimed("trim", AIPUB_RECLAIM_TRIM);
    reclaimed("demote", AIPUB_RECLAIM_DEMOTE);
}
