// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "tests.h"

int failures;

static const struct test {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"attach", test_attach}, {"memory", test_memory}, {"resolve", test_resolve},
    {"abi", test_abi},       {"gate", test_gate},     {"overhead", test_overhead},
    {"short", test_short},
};

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    fake_machine();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
        int before = failures;
        tests[i].run();
        printf("%s %s\n", failures == before ? "ok" : "FAIL", tests[i].name);
    }
    return failures ? 1 : 0;
}
