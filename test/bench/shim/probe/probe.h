// SPDX-License-Identifier: Apache-2.0
//
// A small CUDA program that measures itself; each verb prints lines of numbers.
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../../sharer/shim/cuda_min.h"

#define MIB (UINT64_C(1) << 20)

uint64_t now_ns(void);

// look_up finds a function of the driver as programs do, or ends the program.
void *look_up(const char *name);
#define CALL(name, ...) (((int (*)())look_up(#name))(__VA_ARGS__))
// MUST ends the program when a call does not succeed.
#define MUST(name, ...) must(#name, CALL(name, __VA_ARGS__))
void must(const char *name, int result);

void start(void); // cuInit and a primary context
CUfunction kernel(const char *name);

void overrun(const char *way); // fills a slice by one of the ways to take memory
void storm(int processes, bool context); // many processes start at once, to cuInit or to a context
void execs(int times, const char *program); // programs that never call CUDA

#endif
