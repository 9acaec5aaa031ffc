// SPDX-License-Identifier: Apache-2.0
//
// Finds functions by reading the symbol tables of loaded objects. The library
// defines dlsym itself, so it cannot ask for the real one by name; it must not be
// linked against functions that moved between glibc's libraries; and a look-up
// here costs a tenth of one by dlsym.
#ifndef AIPUB_ELF_H
#define AIPUB_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

// A loaded object's tables.
struct elf {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    const uint16_t *versions; // bit 15: an old version, which only dlvsym gives
    size_t soname;
    bool named;
};

// elf_of reads the object that dlopen returned; false: it cannot be read.
bool elf_of(void *handle, struct elf *o);

// elf_find returns the object's own function of that name, NULL when it has none or
// gives it by an indirect function.
void *elf_find(const struct elf *o, const char *name);

// elf_libc finds a function of the C library in the object that has it: libc
// since glibc 2.34, libdl or libpthread before.
void *elf_libc(const char *name);

// elf_build_id copies the library's own build ID, zeros when it has none.
void elf_build_id(uint8_t id[20]);

#endif
