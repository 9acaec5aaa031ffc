// SPDX-License-Identifier: Apache-2.0
//
// cuda-map VERSION prints the linker's version script of libcuda for a CUDA
// version like 12.4: what the list says that version has, and nothing else.
#include <stdio.h>
#include <stdlib.h>

#include "cuda_calls.h"

static void print(const char *symbol, int since, int until, int version) {
    if (since <= version && (!until || version < until)) printf("    %s;\n", symbol);
}

int main(int argc, char **argv) {
    int major, minor;
    if (argc != 2 || sscanf(argv[1], "%d.%d", &major, &minor) != 2) {
        fprintf(stderr, "usage: cuda-map MAJOR.MINOR\n");
        return 2;
    }
    int version = major * 1000 + minor * 10;
    puts("{\n  global:");
#define TWIN(twin, symbol, base, since, params, args) print(#twin, since < 7000 ? 7000 : since, 0, version);
#define X(symbol, base, since, until, twin, params, args) \
    print(#symbol, since, until, version);                \
    GS_TWIN_##twin(TWIN, symbol, base, since, params, args)
    CUDA_CALLS(X)
    puts("  local: *;\n};");
    return 0;
}
