// SPDX-License-Identifier: Apache-2.0
//
// The names of passed.h. A program that starts asks for hundreds of functions that
// are in it, so they are looked up in a table, which is made at the first question.
#include <stdatomic.h>
#include <string.h>

#include "lock.h"
#include "resolve.h"

static const char names[] =
#define PASS(name) #name "\0"
#include "passed.h"
#undef PASS
    ;

enum {
#define PASS(name) K_##name,
#include "passed.h"
#undef PASS
    KNOWN
};

enum { BUCKETS = 1024 };
_Static_assert(BUCKETS >= 2 * KNOWN, "the table must stay half empty");
_Static_assert(sizeof names < UINT16_MAX, "an offset is 16 bits, 0 is none");

static uint16_t table[BUCKETS]; // 1 + the offset in names
static atomic_bool made;
static struct lock lock;

static uint16_t *bucket_of(const char *name, size_t n) {
    uint32_t h = 0;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)name[i]) * UINT32_C(0x01000193);
    for (size_t i = (h ^ h >> 16) % BUCKETS;; i = (i + 1) % BUCKETS) {
        const char *there = table[i] ? names + table[i] - 1 : NULL;
        if (!there || (strncmp(there, name, n) == 0 && !there[n])) return &table[i];
    }
}

static void make(void) {
    lock_take(&lock);
    if (!atomic_load(&made))
        for (const char *name = names; *name; name += strlen(name) + 1)
            *bucket_of(name, strlen(name)) = (uint16_t)(name - names + 1);
    atomic_store_explicit(&made, true, memory_order_release);
    lock_give(&lock);
}

bool resolve_known(const char *symbol) {
    size_t n = strlen(symbol);
    if (!atomic_load_explicit(&made, memory_order_acquire)) make();
    if (n > 5 && (strcmp(symbol + n - 5, "_ptsz") == 0 || strcmp(symbol + n - 5, "_ptds") == 0)) n -= 5;
    if (n > 3 && symbol[n - 3] == '_' && symbol[n - 2] == 'v') n -= 3;
    return *bucket_of(symbol, n) != 0;
}
