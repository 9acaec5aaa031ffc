// SPDX-License-Identifier: Apache-2.0
//
// Finds functions by reading the symbol tables of loaded objects. The library
// defines dlsym itself, so it cannot ask for the real one by name; and it must
// not be linked against functions that moved between glibc's libraries.
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

#include "sys.h"

struct object {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *hash;
    size_t soname;
    bool named;
};

struct question {
    const char *soname, *name;
    void *answer;
};

// Most C libraries relocate these addresses when they load an object; the vdso's
// stay as they were linked.
static const void *address(const struct object *o, ElfW(Addr) value) {
    return (const void *)(value < o->base ? o->base + value : value);
}

static bool read_object(const struct dl_phdr_info *info, struct object *o) {
    const ElfW(Dyn) *dyn = NULL;
    *o = (struct object){.base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) dyn = (const void *)(o->base + info->dlpi_phdr[i].p_vaddr);
    for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
        switch (dyn->d_tag) {
        case DT_SYMTAB: o->symbols = address(o, dyn->d_un.d_ptr); break;
        case DT_STRTAB: o->strings = address(o, dyn->d_un.d_ptr); break;
        case DT_GNU_HASH: o->gnu_hash = address(o, dyn->d_un.d_ptr); break;
        case DT_HASH: o->hash = address(o, dyn->d_un.d_ptr); break;
        case DT_SONAME: o->soname = dyn->d_un.d_val, o->named = true; break;
        }
    }
    return o->named && o->symbols && o->strings;
}

static void *function_at(const struct object *o, uint32_t index, const char *name) {
    const ElfW(Sym) *s = &o->symbols[index];
    if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC) return NULL;
    return strcmp(o->strings + s->st_name, name) == 0 ? (void *)(o->base + s->st_value) : NULL;
}

static void *look_gnu(const struct object *o, const char *name) {
    uint32_t buckets = o->gnu_hash[0], first = o->gnu_hash[1], words = o->gnu_hash[2], h = 5381;
    const uint32_t *bucket = o->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    for (const char *c = name; *c; c++) h = h * 33 + (unsigned char)*c;
    if (buckets == 0) return NULL;
    for (uint32_t i = bucket[h % buckets]; i >= first; i++) {
        void *p = (chain[i - first] | 1) == (h | 1) ? function_at(o, i, name) : NULL;
        if (p || chain[i - first] & 1) return p;
    }
    return NULL;
}

static void *look_all(const struct object *o, const char *name) {
    for (uint32_t i = 0; i < o->hash[1]; i++) {
        void *p = function_at(o, i, name);
        if (p) return p;
    }
    return NULL;
}

static int ask(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct question *q = arg;
    struct object o;
    if (!read_object(info, &o) || strcmp(o.strings + o.soname, q->soname) != 0) return 0;
    if (o.gnu_hash) q->answer = look_gnu(&o, q->name);
    else if (o.hash) q->answer = look_all(&o, q->name);
    return q->answer != NULL;
}

void *elf_symbol(const char *soname, const char *name) {
    struct question q = {.soname = soname, .name = name};
    dl_iterate_phdr(ask, &q);
    return q.answer;
}

void *elf_libc(const char *name) {
    static const char *const homes[] = {"libc.so.6", "libdl.so.2", "libpthread.so.0"};
    void *p = NULL;
    for (size_t i = 0; !p && i < sizeof homes / sizeof *homes; i++) p = elf_symbol(homes[i], name);
    return p;
}

static int find_note(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    bool mine = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t here = (uintptr_t)&find_note;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here - from < info->dlpi_phdr[i].p_memsz) mine = true;
    }
    for (int i = 0; mine && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
        const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const char *end = at + info->dlpi_phdr[i].p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note, *data = name + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                memcpy(arg, data, note->n_descsz < 20 ? note->n_descsz : 20);
            at = data + ((note->n_descsz + 3u) & ~3u);
        }
    }
    return mine;
}

void elf_build_id(uint8_t id[20]) {
    memset(id, 0, 20);
    dl_iterate_phdr(find_note, id);
}
