// SPDX-License-Identifier: Apache-2.0
//
// What this process holds, by the driver's handle: whose account it is on, so
// that a free gives back what the allocation took. A free of something that is
// not in the book is the driver's business alone.
#ifndef AIPUB_BOOK_H
#define AIPUB_BOOK_H

#include "ledger.h"

enum kind { KIND_MEMORY = 1, KIND_ARRAY, KIND_MIPMAP, KIND_PHYSICAL, KIND_MAPPING, KIND_MODULE, KIND_CONTEXT, KIND_HOST, KIND_EXEC };

struct slab;

struct entry {
    enum kind kind;
    uint64_t key;
    CUcontext context; // it dies with this, NULL: with the process
    struct device *device;
    struct charge held;
    enum account account;
    struct slab *slab;      // the small allocation's slab, instead of a charge of its own
    uint64_t bytes;         // as asked for; of a mapping: its length
    uint64_t target;        // of a mapping: its physical memory
    unsigned references;    // of physical memory: handles and mappings
    struct entry *next;
};

// book_add enters a copy of e; without memory for it the charge stays until exit.
void book_add(const struct entry *e);

// book_take removes an entry and returns it in *e.
bool book_take(enum kind kind, uint64_t key, struct entry *e);

// book_bytes returns an entry's bytes, 0 when there is none.
uint64_t book_bytes(enum kind kind, uint64_t key);

// book_retain adds a reference to physical memory, when it is in the book.
void book_retain(uint64_t key);

// book_drop takes a reference away, and the entry with the last one: true.
bool book_drop(uint64_t key, struct entry *e);

// book_take_mapping removes one mapping that lies within the range.
bool book_take_mapping(uint64_t from, uint64_t bytes, struct entry *e);

// book_take_context removes one entry that dies with the context.
bool book_take_context(CUcontext context, struct entry *e);

// book_managed calls with every managed allocation.
void book_managed(void (*with)(const struct entry *e, void *arg), void *arg);

// book_settle gives back what an entry held.
void book_settle(const struct entry *e);

// book_after_fork forgets everything: a child holds nothing.
void book_after_fork(void);

#endif
