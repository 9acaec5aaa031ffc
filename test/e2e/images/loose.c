// SPDX-License-Identifier: Apache-2.0
//
// A static program, which no preloaded library reaches. It waits; the test tells
// the simulated driver that it uses a GPU.
#include <stdio.h>
#include <unistd.h>

int main(void) {
    puts("loose");
    fflush(stdout);
    for (;;) pause();
}
