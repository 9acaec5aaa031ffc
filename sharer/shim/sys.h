// SPDX-License-Identifier: Apache-2.0
//
// What the library asks of the kernel and of the C library, in versions of both
// that are old enough.
#ifndef AIPUB_SYS_H
#define AIPUB_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
#define MICROSECOND UINT64_C(1000)

// AIPUB_STEP is where a test kills the process: between any two stores of a
// protocol that others see. It is nothing in the library that is shipped.
#ifdef AIPUB_TEST
void test_step(int n);
#define AIPUB_STEP(n) test_step(n)
#else
#define AIPUB_STEP(n) ((void)0)
#endif

// sys_now returns nanoseconds of CLOCK_MONOTONIC.
uint64_t sys_now(void);

// sys_sleep sleeps for ns nanoseconds, or less when a signal comes.
void sys_sleep(uint64_t ns);

// sys_futex_wait sleeps while *word is seen, at most ns nanoseconds. The word
// may lie in a read-only mapping that is shared with other processes.
void sys_futex_wait(const void *word, uint32_t seen, uint64_t ns);

// sys_futex_wake wakes everybody who sleeps on word.
void sys_futex_wake(const void *word);

// sys_zeroed returns pages of zeros that are never given back, NULL: none.
void *sys_zeroed(size_t size);

// sys_start_time returns field 22 of /proc/self/stat, 0 when it cannot be read.
uint64_t sys_start_time(void);

// sys_tell writes one line, once in the life of the process: "aipub: " and what
// is wrong and what to do about it.
void sys_tell(const char *what, const char *where);

// sys_thread starts a detached thread that no signal of the program reaches.
bool sys_thread(void *(*run)(void *), void *arg);

#endif
