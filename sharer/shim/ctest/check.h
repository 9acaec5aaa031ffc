// SPDX-License-Identifier: Apache-2.0
//
// What the tests and the programs under test check with: a line for each thing that
// is not as it should be, and how many there were.
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

extern int failures;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (condition) break;                                                                                          \
        failures++;                                                                                                    \
        printf("%s:%d: not %s", __FILE__, __LINE__, #condition);                                                       \
        printf(" " __VA_ARGS__);                                                                                       \
        putchar('\n');                                                                                                 \
    } while (0)

uint64_t now_ns(void); // of CLOCK_MONOTONIC; each program has its own

#endif
