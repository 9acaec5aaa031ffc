// SPDX-License-Identifier: Apache-2.0
#ifndef TESTS_H
#define TESTS_H

#include "fake.h"

// client runs a verb to its end in a slice of its own and returns its exit code.
int client(uint32_t flags, uint64_t memory, const char *cuda, const char *const args[]);

#define ARGS(...) ((const char *const[]){"client", __VA_ARGS__, NULL})

void test_attach(void);
void test_memory(void);
void test_resolve(void);
void test_abi(void);
void test_gate(void);
void test_overhead(void);
void test_short(void);

#endif
