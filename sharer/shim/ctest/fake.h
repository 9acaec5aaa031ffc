// SPDX-License-Identifier: Apache-2.0
//
// A node agent for tests: it lays out slices, hears what processes say, and gives
// and takes leases when the test says so. And a simulated machine with two GPUs.
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../../wire/wire.h"
#include "check.h"

#define MS UINT64_C(1000000)
#define GPU_NAME "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
#define OTHER_GPU_NAME "GPU-10010203-0405-0607-0809-0a0b0c0d0e0f"

enum { HEARD = 4096 };

struct fake {
    char root[64];  // the folder of slices
    char dir[128];  // this slice's
    struct aipub_grant *grant;
    struct aipub_page *page;
    int listener;
    uint32_t answer; // AIPUB_WELCOME or AIPUB_REFUSED; 0: none
    pthread_t thread;
    pthread_mutex_t lock;
    struct aipub_msg heard[HEARD];
    uint64_t heard_at[HEARD];
    unsigned count;
    _Atomic bool over;
    _Atomic bool silent;   // no heartbeat
    _Atomic bool generous; // whoever wants a lease gets one
};

// fake_root makes a folder for slices.
void fake_root(char root[64]);

// fake_slice lays out a slice of the simulated GPU and listens.
void fake_slice(struct fake *f, const char *root, const char *name, uint32_t flags, uint64_t memory);

// fake_end stops listening and removes the slice.
void fake_end(struct fake *f);

// fake_restart ends the agent and starts another one on the same slice.
void fake_restart(struct fake *old, struct fake *f);

// fake_lease changes the lease: until so many ns from now, 0: none.
void fake_lease(struct fake *f, uint64_t ns);

// fake_wait waits until the nth message of the type was heard, n from 1; false:
// it was not within ten seconds.
bool fake_wait(struct fake *f, uint32_t type, unsigned n, struct aipub_msg *m);
// fake_time returns when the nth message of the type was heard, 0: it was not.
uint64_t fake_time(struct fake *f, uint32_t type, unsigned n);

// fake_heard returns how many messages of the type were heard.
unsigned fake_heard(struct fake *f, uint32_t type);

// fake_held sums a slice's ledger.
uint64_t fake_held(const struct fake *f);

// fake_hide covers what a real agent on this machine has in /run/aipub, in a mount
// namespace of this process: AIPUB_SLICES_DIR counts only where there is nothing.
void fake_hide(void);

// fake_machine makes a simulated machine with two GPUs and sets GPUSIM_DIR.
void fake_machine(void);

// run starts client with arguments, the library preloaded and CUDA of that
// version, "" for the newest, "noop" for the one that does nothing.
pid_t run(const char *root, const char *cuda, const char *const args[]);

// finish waits for it and returns its exit code, or 128 + the signal.
int finish(pid_t pid);

#endif
