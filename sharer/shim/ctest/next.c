// SPDX-License-Identifier: Apache-2.0
//
// A library that asks what comes after itself, as wrappers of malloc do. It
// defines the symbol: given its own, it would call itself for ever.
#define _GNU_SOURCE
#include <dlfcn.h>

int shim_test_marker(void) {
    return 1;
}

void *next_of(const char *name) {
    return dlsym(RTLD_NEXT, name);
}
