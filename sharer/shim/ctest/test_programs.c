// SPDX-License-Identifier: Apache-2.0
//
// Programs that need nothing but a slice.
#define _GNU_SOURCE
#include <stdlib.h>

#include "tests.h"

static struct fake f;

int client(uint32_t flags, uint64_t memory, const char *cuda, const char *const args[]) {
    char root[64];
    fake_root(root);
    fake_slice(&f, root, "a", flags, memory);
    int code = finish(run(root, cuda, args));
    fake_end(&f);
    return code;
}

static void two_slices(void) {
    static struct fake other;
    char root[64];
    fake_root(root);
    fake_slice(&f, root, "a", AIPUB_HAS_MEMORY, 600 * MIB);
    fake_slice(&other, root, "b", AIPUB_HAS_MEMORY, 600 * MIB);
    CHECK(finish(run(root, "", ARGS("twice"))) == 0);
    CHECK(f.page->slot[0].owner && other.page->slot[0].owner);
    fake_end(&f);
    fake_end(&other);
}

void test_memory(void) {
    CHECK(client(AIPUB_HAS_MEMORY, 8192 * MIB, "", ARGS("memory")) == 0);
    CHECK(client(AIPUB_HAS_MEMORY, 1024 * MIB, "", ARGS("limits")) == 0);
    CHECK(client(AIPUB_HAS_MEMORY, 8192 * MIB, "", ARGS("nulls")) == 0);
    CHECK(client(AIPUB_HAS_MEMORY, 8192 * MIB, "", ARGS("fork")) == 0);
    two_slices();
}

void test_resolve(void) {
    char preload[1024];
    snprintf(preload, sizeof preload, "%s:%s", getenv("SHIM_FILE"), getenv("NEXT"));
    setenv("SHIM", preload, 1);
    CHECK(client(0, 0, "", ARGS("resolve")) == 0);
    CHECK(client(0, 0, "12.4", ARGS("resolve")) == 0);
    setenv("SHIM", getenv("SHIM_FILE"), 1);
}

void test_abi(void) {
    static const char *const versions[] = {"11.4", "12.0", "12.4", "12.9", "13.0", "13.3"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        CHECK(client(0, 0, versions[i], ARGS("abi", versions[i])) == 0, "CUDA %s", versions[i]);
}

// Figures, not a bar: machines differ.
void test_overhead(void) {
    printf("without the library: ");
    setenv("SHIM", "", 1);
    CHECK(client(AIPUB_HAS_MEMORY, 8192 * MIB, "noop", ARGS("bench")) == 0);
    setenv("SHIM", getenv("SHIM_FILE"), 1);
    printf("with the library:    ");
    CHECK(client(AIPUB_HAS_MEMORY, 8192 * MIB, "noop", ARGS("bench")) == 0);
}
