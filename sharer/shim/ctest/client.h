// SPDX-License-Identifier: Apache-2.0
//
// The programs under test: each verb is a small CUDA program that checks itself.
#ifndef CLIENT_H
#define CLIENT_H

#include <stdlib.h>

#include "../cuda_min.h"
#include "../../wire/wire.h"
#include "check.h"

// CALL looks the symbol up by dlsym, as programs do, and calls it.
void *look_up(const char *name);
#define CALL(name, ...) (((int (*)())look_up(#name))(__VA_ARGS__))
#define OK(name, ...)                                                                                                  \
    do {                                                                                                               \
        int result_ = CALL(name, __VA_ARGS__);                                                                         \
        CHECK(result_ == 0, "but %d", result_);                                                                        \
    } while (0)

// my_slot is this process's slot of the slice "a", mapped anew; my_page its page.
struct aipub_page *page_of(const char *slice);
struct aipub_slot *my_slot(void);

// used_bytes is what the simulated GPU says that this process holds.
uint64_t used_bytes(void);

CUcontext start(void); // init and a primary context
CUfunction kernel(const char *name);
int launch(CUfunction f, CUstream stream, uint64_t us);

void client_memory(void);
int client_take(const char *gib, const char *how);
void client_limits(void);
void client_launch(int argc, char **argv);
void client_capture(void);
void client_resolve(void);
void client_abi(const char *version);
void client_nulls(void);
void client_fork(void);
void client_bench(void);
void client_two(void);
void client_streams(void);
void client_try(void);
void client_twice(void);
void client_reclaim(const char *what);
void client_multi(void);
int client_lazy(const char *call);
int client_crowded(void);

#endif
