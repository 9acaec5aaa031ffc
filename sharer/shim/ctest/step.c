// SPDX-License-Identifier: Apache-2.0
//
// Linked into the library of the kill test: the process dies at its nth step.
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../sys.h"

void test_step(int n) {
    static _Atomic int steps;
    const char *at = getenv("AIPUB_KILL_AT");
    (void)n;
    if (at && atomic_fetch_add(&steps, 1) + 1 == atoi(at)) raise(SIGKILL);
}
