// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "elf.h"

#include <dlfcn.h>
#include <string.h>

struct question {
    const char *soname, *name;
    void *answer;
};

// Most C libraries relocate these addresses when they load an object; the vdso's
// stay as they were linked.
static const void *address(const struct elf *o, ElfW(Addr) value) {
    return (const void *)(value < o->base ? o->base + value : value);
}

static bool read_tables(struct elf *o, uintptr_t base, const ElfW(Dyn) *dyn) {
    *o = (struct elf){.base = base};
    for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
        switch (dyn->d_tag) {
        case DT_SYMTAB: o->symbols = address(o, dyn->d_un.d_ptr); break;
        case DT_STRTAB: o->strings = address(o, dyn->d_un.d_ptr); break;
        case DT_GNU_HASH: o->gnu_hash = address(o, dyn->d_un.d_ptr); break;
        case DT_HASH: o->hash = address(o, dyn->d_un.d_ptr); break;
        case DT_VERSYM: o->versions = address(o, dyn->d_un.d_ptr); break;
        case DT_SONAME: o->soname = dyn->d_un.d_val, o->named = true; break;
        }
    }
    return o->symbols && o->strings && (o->gnu_hash || o->hash);
}

static bool read_object(const struct dl_phdr_info *info, struct elf *o) {
    const ElfW(Dyn) *dyn = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return read_tables(o, info->dlpi_addr, dyn);
}

static void *function_at(const struct elf *o, uint32_t index, const char *name) {
    const ElfW(Sym) *s = &o->symbols[index];
    if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC) return NULL;
    if (o->versions && o->versions[index] & 0x8000) return NULL;
    return strcmp(o->strings + s->st_name, name) == 0 ? (void *)(o->base + s->st_value) : NULL;
}

static void *look_gnu(const struct elf *o, const char *name) {
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

static void *look_all(const struct elf *o, const char *name) {
    for (uint32_t i = 0; i < o->hash[1]; i++) {
        void *p = function_at(o, i, name);
        if (p) return p;
    }
    return NULL;
}

void *elf_find(const struct elf *o, const char *name) {
    return o->gnu_hash ? look_gnu(o, name) : look_all(o, name);
}

bool elf_of(void *handle, struct elf *o) {
    static int (*inform)(void *, int, void *);
    struct link_map *map = NULL;
    if (!inform) inform = (int (*)(void *, int, void *))elf_libc("dlinfo");
    return inform && inform(handle, RTLD_DI_LINKMAP, &map) == 0 && read_tables(o, map->l_addr, map->l_ld);
}

static int ask(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct question *q = arg;
    struct elf o;
    if (!read_object(info, &o) || !o.named || strcmp(o.strings + o.soname, q->soname) != 0) return 0;
    q->answer = elf_find(&o, q->name);
    return q->answer != NULL;
}

static void *in_library(const char *soname, const char *name) {
    struct question q = {.soname = soname, .name = name};
    dl_iterate_phdr(ask, &q);
    return q.answer;
}

void *elf_libc(const char *name) {
    static const char *const homes[] = {"libc.so.6", "libdl.so.2", "libpthread.so.0"};
    void *p = NULL;
    for (size_t i = 0; !p && i < sizeof homes / sizeof *homes; i++) p = in_library(homes[i], name);
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
