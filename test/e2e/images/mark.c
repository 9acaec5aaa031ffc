// SPDX-License-Identifier: Apache-2.0
//
// A library that an image preloads for purposes of its own.
#include <stdlib.h>

__attribute__((constructor)) static void mark(void) { setenv("IMAGE_PRELOAD", "yes", 1); }
