// SPDX-License-Identifier: Apache-2.0
#include "cu_symbols.h"

#include <string.h>

struct symbol {
    const char *base;
    void (*address)(void);
    int since, until;
    bool per_thread;
};

#define SYMBOL_TWIN(twin, symbol, base, since, params, args) \
    {#base, (void (*)(void))twin, since < 7000 ? 7000 : since, 0, true},
#define X(symbol, base, since, until, twin, params, args) \
    {#base, (void (*)(void))symbol, since, until, false}, \
    GS_TWIN_##twin(SYMBOL_TWIN, symbol, base, since, params, args)
static const struct symbol symbols[] = {CUDA_CALLS(X)};
#undef X

static bool better(const struct symbol *s, const struct symbol *best, bool per_thread) {
    if (!best) return true;
    // A twin comes with its original, so of one form the wanted kind wins and a
    // newer form without a twin wins over an older one with.
    int a = s->since, b = best->since;
    if (per_thread && s->per_thread != best->per_thread) {
        a = a < 7000 ? 7000 : a;
        b = b < 7000 ? 7000 : b;
        if (a == b) return s->per_thread;
    }
    return a > b;
}

void *gs_cuda_symbol(const char *base, int version, int driver, bool per_thread, bool *exists) {
    const struct symbol *best = NULL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        const struct symbol *s = &symbols[i];
        if (strcmp(s->base, base) || s->since > driver || (s->until && s->until <= driver)) continue;
        *exists = true;
        if (s->since > version || (s->per_thread && !per_thread)) continue;
        if (better(s, best, per_thread)) best = s;
    }
    void *address = NULL;
    if (best) memcpy(&address, &best->address, sizeof address);
    return address;
}
