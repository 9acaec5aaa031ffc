// SPDX-License-Identifier: Apache-2.0
//
// Memory within a slice's guarantee that the driver does not have.
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "tests.h"

#define GIB (UINT64_C(1) << 30)

static struct fake f;
static char root[64];

// begin lays out a slice that guarantees so much and may have 300 GiB: the GPU has
// 140.
static void begin(uint64_t guaranteed, uint32_t flags) {
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_MEMORY | flags, 300 * GIB);
    f.grant->guaranteed_bytes = guaranteed;
}

static void is_told_and_gives_up(void) {
    struct aipub_msg m;
    begin(300 * GIB, 0);
    uint64_t before = now_ns();
    CHECK(finish(run(root, "", ARGS("take", "200", ""))) == 42);
    CHECK(now_ns() - before >= 1000 * MS, "it waits for the agent's answer");
    CHECK(fake_wait(&f, AIPUB_SHORT, 1, &m) && m.a == 200 * GIB, "a = %lu", (unsigned long)m.a);
    unsigned n = fake_heard(&f, AIPUB_SHORT);
    CHECK(n >= 3 && fake_wait(&f, AIPUB_SHORT, n, &m) && m.a == 0, "says it again, and at last that it is over: %u", n);
    fake_end(&f);
}

static void gets_what_is_given_back(void) {
    static struct fake other;
    char others[64];
    begin(300 * GIB, 0);
    fake_root(others);
    fake_slice(&other, others, "a", AIPUB_HAS_MEMORY, 300 * GIB);
    pid_t borrower = run(others, "", ARGS("take", "100", "hold"));
    for (int i = 0; i < 2000 && fake_held(&other) < 100 * GIB; i++) usleep(5000);
    CHECK(fake_held(&other) >= 100 * GIB);
    pid_t owner = run(root, "", ARGS("take", "90", ""));
    CHECK(fake_wait(&f, AIPUB_SHORT, 1, NULL));
    __atomic_store_n(&f.grant->coming_ns, now_ns() + 60000 * MS, __ATOMIC_SEQ_CST);
    CHECK(fake_wait(&f, AIPUB_SHORT, 4, NULL), "it goes on waiting, as the agent says that memory comes");
    kill(borrower, SIGTERM);
    CHECK(finish(owner) == 0, "and has it then");
    finish(borrower);
    fake_end(&f);
    fake_end(&other);
}

static void does_not_wait(const char *what, uint64_t guaranteed, const char *how, bool silent) {
    begin(guaranteed, 0);
    f.silent = silent;
    if (silent) f.grant->heartbeat_ns = 0;
    CHECK(finish(run(root, "", ARGS("take", "200", how))) == 42, "%s", what);
    CHECK(fake_heard(&f, AIPUB_SHORT) == 0, "%s", what);
    fake_end(&f);
}

// borrows takes so much of a slice that may borrow, of which 10 GiB are its own.
static int borrows(const char *gib, bool silent) {
    begin(10 * GIB, AIPUB_REVOCABLE);
    f.silent = silent;
    if (silent) f.grant->heartbeat_ns = 0;
    int result = finish(run(root, "", ARGS("take", gib, "")));
    fake_end(&f);
    return result;
}

void test_short(void) {
    is_told_and_gives_up();
    gets_what_is_given_back();
    does_not_wait("beyond the guarantee", 100 * GIB, "", false);
    does_not_wait("in a capture", 300 * GIB, "capture", false);
    does_not_wait("without an agent", 300 * GIB, "", true);
    CHECK(borrows("50", false) == 0, "the agent allows it");
    CHECK(borrows("50", true) == 42, "nobody is there who could take it back");
    CHECK(borrows("8", true) == 0, "its own is its own");
}
