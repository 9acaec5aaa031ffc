// SPDX-License-Identifier: Apache-2.0
//
// The test harness: checks that count, and a machine in a temporary directory.
#ifndef GPUSIM_CHECK_H
#define GPUSIM_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "machine.h"

extern int checks_passed, checks_failed;

#define CHECK(cond, ...)                                 \
    do {                                                 \
        if (cond) {                                      \
            checks_passed++;                             \
            break;                                       \
        }                                                \
        checks_failed++;                                 \
        printf("%s:%d: %s:", __FILE__, __LINE__, #cond); \
        printf(" " __VA_ARGS__);                         \
        putchar('\n');                                   \
    } while (0)

// make_machine creates a machine from a description in a new directory and
// sets GPUSIM_DIR to it; drop_machine removes it.
void make_machine(struct gs_machine *m, const char *description);
void drop_machine(struct gs_machine *m);

void test_describe(void);
void test_lock(void);
void test_rules(void);
void test_null(void);
void test_calls(void);
void test_cuda(void); // last: CUDA is set up once in a process

int ipc_child(int from); // the other process of test_cuda_ipc.c

#endif
