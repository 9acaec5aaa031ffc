// SPDX-License-Identifier: Apache-2.0
//
// Every way to a driver function leads to the hook, in the form that was asked
// for; what has no hook is the driver's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "client.h"

extern int cuDriverGetVersion(int *version); // linked, not hooked
extern int cuInit(unsigned flags);
extern int cuLaunchKernel(void);

// home returns the base name of the object that an address is in.
static const char *home(const void *p) {
    Dl_info info = {0};
    if (!p || !dladdr(p, &info) || !info.dli_fname) return "?";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static bool hooked(const void *p) {
    return strncmp(home(p), "libaipub-", 9) == 0;
}

static bool named(const void *p, const char *name) {
    Dl_info info = {0};
    return dladdr(p, &info) && info.dli_sname && strcmp(info.dli_sname, name) == 0;
}

static void by_proc(void) {
    static const struct {
        const char *name;
        int version;
        uint64_t flags;
        const char *hook;
    } cases[] = {
        {"cuMemAlloc", 12000, 1, "cuMemAlloc_v2"},
        {"cuMemFree", 12000, 1, "cuMemFree_v2"},
        {"cuLaunchKernel", 12000, 1, "cuLaunchKernel"},
        {"cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz"},
        {"cuLaunchKernel", 12000, 0, "cuLaunchKernel"},
        {"cuMemAllocAsync", 12000, 2, "cuMemAllocAsync_ptsz"},
        {"cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds"},
        {"cuGraphLaunch", 12000, 2, "cuGraphLaunch_ptsz"},
        {"cuGetProcAddress", 12000, 1, "cuGetProcAddress_v2"},
        {"cuGetProcAddress", 11040, 1, "cuGetProcAddress"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *p = NULL, *q = NULL;
        int status;
        OK(cuGetProcAddress_v2, cases[i].name, &p, cases[i].version, cases[i].flags, &status);
        CHECK(hooked(p) && named(p, cases[i].hook), "%s, flags %d: %s", cases[i].name, (int)cases[i].flags, home(p));
        OK(cuGetProcAddress, cases[i].name, &q, cases[i].version, cases[i].flags);
        CHECK(p == q, "%s: both versions of the resolver agree", cases[i].name);
    }
    void *p = NULL;
    OK(cuGetProcAddress, "cuDeviceGetCount", &p, 12000, (uint64_t)0);
    CHECK(strncmp(home(p), "libcuda", 7) == 0, "not hooked, so the driver's own: %s", home(p));
}

static void by_dlsym(void) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    CHECK(hooked(dlsym(cuda, "cuLaunchKernel")));
    CHECK(hooked(dlsym(cuda, "cuMemAllocAsync_ptsz")));
    CHECK(hooked(dlsym(RTLD_DEFAULT, "cuInit")));
    CHECK(hooked(dlsym(RTLD_NEXT, "cuInit")));
    CHECK(!hooked(dlsym(cuda, "cuDeviceGetCount")) && dlsym(cuda, "cuDeviceGetCount"));
    CHECK(hooked(dlsym(nvml, "nvmlDeviceGetMemoryInfo")));
    CHECK(!hooked(dlsym(nvml, "nvmlDeviceGetCount_v2")));
    CHECK(!dlsym(cuda, "cuNoSuchCall"));
    CHECK(!dlsym(RTLD_DEFAULT, "cuMemAllocPitch_v9"));
}

void client_resolve(void) {
    int version = 0;
    CHECK(hooked((void *)(uintptr_t)cuInit), "a linked program's symbol is the hook");
    CHECK(hooked((void *)(uintptr_t)cuLaunchKernel));
    CHECK(cuInit(0) == 0 && cuDriverGetVersion(&version) == 0 && version > 11000);
    start();
    CHECK(my_slot()->driver_version == (uint32_t)version);
    by_dlsym();
    by_proc();
    uint32_t unknown = my_slot()->unknown;
    // next.c is preloaded after the library under test.
    void *(*next_of)(const char *) = (void *(*)(const char *))dlsym(RTLD_DEFAULT, "next_of");
    CHECK(next_of && next_of("shim_test_marker") == NULL, "nothing of that name comes after the asking library");
    CHECK(next_of && next_of("malloc") == dlsym(RTLD_DEFAULT, "malloc"));
    CHECK(next_of && hooked(next_of("cuLaunchKernel")));
    CHECK(my_slot()->unknown == unknown);
}

static const char *const passed[] = {
#define PASS(name) #name,
#include "../passed.h"
#undef PASS
};

// is_passed says whether the library knows the symbol and leaves it alone.
static bool is_passed(const char *symbol) {
    char name[128];
    snprintf(name, sizeof name, "%s", symbol);
    size_t n = strlen(name);
    if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0)) name[n -= 5] = 0;
    if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v') name[n - 3] = 0;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (strcmp(passed[i], name) == 0) return true;
    return false;
}

struct tally {
    unsigned routed, passed, unknown;
    void *cuda;
};

static int tally(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct tally *t = arg;
    const ElfW(Dyn) *dyn = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    if (!strstr(info->dlpi_name, "/libcuda.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) dyn = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dyn->d_tag != DT_NULL; dyn++) {
        if (dyn->d_tag == DT_SYMTAB) symbols = (void *)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_STRTAB) strings = (void *)dyn->d_un.d_ptr;
    }
    // The string table follows the symbols.
    for (const ElfW(Sym) *s = symbols; (const char *)s < strings; s++) {
        const char *name = strings + s->st_name;
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || strncmp(name, "cu", 2) != 0) continue;
        if (hooked(dlsym(t->cuda, name))) t->routed++;
        else if (is_passed(name)) t->passed++;
        else t->unknown++, printf("unknown: %s\n", name);
    }
    return 1;
}

// abi prints how much of a driver's exports the library knows.
void client_abi(const char *version) {
    struct tally t = {.cuda = dlopen("libcuda.so.1", RTLD_NOW)};
    CHECK(t.cuda && dl_iterate_phdr(tally, &t) == 1);
    printf("ABI cuda-%s routed %u passed %u unknown %u\n", version, t.routed, t.passed, t.unknown);
    CHECK(t.unknown == 0 && t.routed > 50);
}
