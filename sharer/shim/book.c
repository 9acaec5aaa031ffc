// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "book.h"

#include <stdlib.h>

#include "slabs.h"

enum { SHELVES = 1 << 14 };

static struct lock lock;
static struct entry *shelves[SHELVES];

static struct entry **shelf_of(enum kind kind, uint64_t key) {
    uint64_t h = (key ^ (uint64_t)kind << 56) * UINT64_C(0x9e3779b97f4a7c15);
    return &shelves[h >> 50];
}

void book_add(const struct entry *e) {
    struct entry *copy = malloc(sizeof *copy);
    if (!copy) return;
    *copy = *e;
    lock_take(&lock);
    struct entry **shelf = shelf_of(e->kind, e->key);
    copy->next = *shelf;
    *shelf = copy;
    lock_give(&lock);
}

static struct entry **find(enum kind kind, uint64_t key) {
    struct entry **at = shelf_of(kind, key);
    while (*at && ((*at)->kind != kind || (*at)->key != key)) at = &(*at)->next;
    return at;
}

// unlink removes *at and gives it to the caller in *e. The lock is held.
static void unlink_entry(struct entry **at, struct entry *e) {
    struct entry *gone = *at;
    *at = gone->next;
    *e = *gone;
    free(gone);
}

bool book_take(enum kind kind, uint64_t key, struct entry *e) {
    lock_take(&lock);
    struct entry **at = find(kind, key);
    bool found = *at != NULL;
    if (found) unlink_entry(at, e);
    lock_give(&lock);
    return found;
}

uint64_t book_bytes(enum kind kind, uint64_t key) {
    lock_take(&lock);
    struct entry *e = *find(kind, key);
    uint64_t bytes = e ? e->bytes : 0;
    lock_give(&lock);
    return bytes;
}

void book_retain(uint64_t key) {
    lock_take(&lock);
    struct entry **at = find(KIND_PHYSICAL, key);
    if (*at) (*at)->references++;
    lock_give(&lock);
}

bool book_drop(uint64_t key, struct entry *e) {
    lock_take(&lock);
    struct entry **at = find(KIND_PHYSICAL, key);
    bool last = *at && --(*at)->references == 0;
    if (last) unlink_entry(at, e);
    lock_give(&lock);
    return last;
}

static bool take_first(bool (*matches)(const struct entry *, const void *), const void *what, struct entry *e) {
    bool found = false;
    lock_take(&lock);
    for (size_t i = 0; !found && i < SHELVES; i++) {
        struct entry **at = &shelves[i];
        while (*at && !matches(*at, what)) at = &(*at)->next;
        found = *at != NULL;
        if (found) unlink_entry(at, e);
    }
    lock_give(&lock);
    return found;
}

struct range {
    uint64_t from, bytes;
};

static bool is_mapping_within(const struct entry *e, const void *what) {
    const struct range *r = what;
    return e->kind == KIND_MAPPING && e->key - r->from < r->bytes;
}

bool book_take_mapping(uint64_t from, uint64_t bytes, struct entry *e) {
    return take_first(is_mapping_within, &(struct range){from, bytes}, e);
}

static bool is_of_context(const struct entry *e, const void *context) {
    return e->context && e->context == context;
}

bool book_take_context(CUcontext context, struct entry *e) {
    return take_first(is_of_context, context, e);
}

void book_managed(void (*with)(const struct entry *e, void *arg), void *arg) {
    lock_take(&lock);
    for (size_t i = 0; i < SHELVES; i++)
        for (struct entry *e = shelves[i]; e; e = e->next)
            if (e->kind == KIND_MEMORY && e->account == ACCOUNT_MANAGED) with(e, arg);
    lock_give(&lock);
}

void book_settle(const struct entry *e) {
    if (e->kind == KIND_HOST) ledger_host(e->device, -(int64_t)e->bytes);
    else if (e->slab) slabs_give(e->slab);
    else ledger_release(e->held.slice, e->held.bytes, e->account);
}

void book_after_fork(void) {
    lock = (struct lock){0};
    for (size_t i = 0; i < SHELVES; i++) shelves[i] = NULL;
}
