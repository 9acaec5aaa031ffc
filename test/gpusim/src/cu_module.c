// SPDX-License-Identifier: Apache-2.0
//
// Code: modules, libraries, functions. An image is text: the simulator's own
// (README.md), or PTX, of which only the names of entries are read. Kernels
// and functions are the same objects here, libraries are modules of no context.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu.h"
#include "cu_capture.h"

#define MAGIC "gpusim-module 1"
enum { MAX_FUNCTIONS = 1024 };

static struct CUfunc_st *add_function(struct CUmod_st *m, const char *name, size_t length) {
    if (m->functions == MAX_FUNCTIONS || !length || length >= CU_NAME_SIZE) return NULL;
    struct CUfunc_st *f = &m->function[m->functions++];
    memset(f, 0, sizeof *f);
    f->kind = CU_KIND_FUNCTION, f->module = m, f->parameter = -1;
    memcpy(f->name, name, length);
    return f;
}

// own_line reads `kernel NAME us=N`, `us=paramN`, or `code MIB`.
static bool own_line(struct CUmod_st *m, const char *line) {
    char name[CU_NAME_SIZE], time[32];
    unsigned long long n;
    if (sscanf(line, "code %llu", &n) == 1) return m->bytes = (uint64_t)n << 20, true;
    if (sscanf(line, "kernel %127s us=%31s", name, time) != 2) return !*line || *line == '#';
    struct CUfunc_st *f = add_function(m, name, strlen(name));
    if (!f) return false;
    if (sscanf(time, "param%d", &f->parameter) == 1) return f->parameter >= 0 && f->parameter < 64;
    return sscanf(time, "%llu", &n) == 1 && (f->us = n, true);
}

static bool own_text(struct CUmod_st *m, const char *text) {
    char line[256];
    for (const char *p = strchr(text, '\n'); p && *++p;) {
        size_t n = strcspn(p, "\n");
        if (n >= sizeof line) return false;
        memcpy(line, p, n);
        line[n] = 0;
        if (!own_line(m, line)) return false;
        p += n;
        if (!*p) break;
    }
    return true;
}

// The kernel `busy` takes its first parameter in microseconds, as in the
// simulator's own demo programs; any other entry of a PTX text takes 10 us.
static bool ptx_text(struct CUmod_st *m, const char *text) {
    enum { UNKNOWN_US = 10 };
    for (const char *p = text; (p = strstr(p, ".entry"));) {
        p += strlen(".entry");
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n({");
        struct CUfunc_st *f = add_function(m, p, n);
        if (!f) return false;
        if (strcmp(f->name, "busy")) f->us = UNKNOWN_US;
        else f->parameter = 0;
    }
    return true;
}

static bool is_ptx(const char *text) {
    for (int i = 0; i < 64; i++) { // comments may come first
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2)) break;
        text += strcspn(text, "\n");
    }
    return !strncmp(text, ".version", 8);
}

static CUresult parse(const void *image, struct CUmod_st **out) {
    const char *text = image;
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    bool own = !strncmp(text, MAGIC, strlen(MAGIC));
    if (!own && !is_ptx(text)) return CUDA_ERROR_INVALID_IMAGE;
    struct CUmod_st *m = calloc(1, sizeof *m);
    if (m) m->function = calloc(MAX_FUNCTIONS, sizeof *m->function);
    if (!m || !m->function) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->kind = CU_KIND_MODULE;
    if (own ? own_text(m, text) : ptx_text(m, text)) return *out = m, CUDA_SUCCESS;
    free(m->function);
    free(m);
    return own ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_PTX;
}

static void drop(struct CUmod_st *m) {
    for (int i = 0; i < m->functions; i++) m->function[i].kind = 0;
    m->kind = 0;
    free(m->function);
    free(m);
}

static void unlink_module(CUcontext ctx, struct CUmod_st *m) {
    for (struct CUmod_st **p = &ctx->modules; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            return;
        }
}

// Code lies in device memory in whole granules, where the image says that it
// is large; small code is part of the context's overhead.
static CUresult load(CUmodule *out, const void *image) {
    CU_CONTEXT();
    struct CUmod_st *m;
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cu_refuse_unsafe());
    CU_TRY(parse(image, &m));
    m->bytes = cu_round_up(m->bytes, CU_GRANULE);
    CUresult r = cu_charge(ctx, (int64_t)m->bytes);
    if (r != CUDA_SUCCESS) {
        drop(m);
        return r;
    }
    m->ctx = ctx;
    m->next = ctx->modules, ctx->modules = m;
    *out = m;
    return CUDA_SUCCESS;
}

void cu_modules_end(CUcontext ctx) {
    while (ctx->modules) {
        struct CUmod_st *m = ctx->modules;
        ctx->modules = m->next;
        cu_charge(ctx, -(int64_t)m->bytes);
        drop(m);
    }
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return load(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, int *options, void **values) {
    return count && (!options || !values) ? CUDA_ERROR_INVALID_VALUE : load(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    return load(module, image);
}

static char *read_file(const char *file) {
    enum { LIMIT = 64 << 20 };
    FILE *f = file ? fopen(file, "re") : NULL;
    if (!f) return NULL;
    char *text = NULL;
    size_t size = 0;
    if (getdelim(&text, &size, 0, f) < 0 || size > LIMIT) {
        free(text);
        text = NULL;
    }
    fclose(f);
    return text;
}

CUresult cuModuleLoad(CUmodule *module, const char *file) {
    char *text = read_file(file);
    if (!text) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult r = load(module, text);
    free(text);
    return r;
}

CUresult cuModuleUnload(CUmodule module) {
    CU_CONTEXT();
    if (!cu_is(module, CU_KIND_MODULE) || module->library) return CUDA_ERROR_INVALID_HANDLE;
    if (module->ctx != ctx) return CUDA_ERROR_INVALID_CONTEXT;
    CU_TRY(cu_refuse_unsafe());
    unlink_module(ctx, module);
    cu_charge(ctx, -(int64_t)module->bytes);
    drop(module);
    return CUDA_SUCCESS;
}

static struct CUfunc_st *find(struct CUmod_st *m, const char *name) {
    for (int i = 0; i < m->functions; i++)
        if (!strcmp(m->function[i].name, name)) return &m->function[i];
    return NULL;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    CU_CONTEXT();
    (void)ctx;
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!cu_is(module, CU_KIND_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    *function = find(module, name);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetLoadingMode(int *mode) {
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = 1; // eager
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module) {
    CU_CALL();
    if (!count || !cu_is(module, CU_KIND_MODULE)) return CUDA_ERROR_INVALID_VALUE;
    *count = (unsigned)module->functions;
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module) {
    CU_CALL();
    if (!functions || !cu_is(module, CU_KIND_MODULE)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < (unsigned)module->functions; i++) functions[i] = &module->function[i];
    return CUDA_SUCCESS;
}

// Images have no global variables.
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name) {
    (void)ptr, (void)bytes;
    return !module || !name ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetGlobal(unsigned int *ptr, unsigned int *bytes, CUmodule module, const char *name) {
    (void)ptr, (void)bytes;
    return !module || !name ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

CUresult cu_library_load(CUlibrary *library, const void *code) {
    CU_CALL();
    struct CUmod_st *m;
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(parse(code, &m));
    m->library = true;
    *library = (CUlibrary)m;
    return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit, void **jitValues, unsigned int jitCount,
                           int *options, void **values, unsigned int count) {
    (void)jit, (void)jitValues, (void)jitCount, (void)options, (void)values, (void)count;
    return cu_library_load(library, code);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *file, int *jit, void **jitValues, unsigned int jitCount,
                               int *options, void **values, unsigned int count) {
    (void)jit, (void)jitValues, (void)jitCount, (void)options, (void)values, (void)count;
    char *text = read_file(file);
    if (!text) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult r = cu_library_load(library, text);
    free(text);
    return r;
}

#define CU_LIBRARY(library)                                                  \
    CU_CALL();                                                               \
    struct CUmod_st *m = (struct CUmod_st *)(library);                       \
    if (!cu_is(m, CU_KIND_MODULE) || !m->library) return CUDA_ERROR_INVALID_HANDLE

CUresult cuLibraryUnload(CUlibrary library) {
    CU_LIBRARY(library);
    drop(m);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    CU_LIBRARY(library);
    if (!kernel || !name) return CUDA_ERROR_INVALID_VALUE;
    *kernel = (CUkernel)find(m, name);
    return *kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
    CU_LIBRARY(library);
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    *module = m;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library) {
    CU_LIBRARY(library);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = (unsigned)m->functions;
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library) {
    CU_LIBRARY(library);
    if (!kernels) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && i < (unsigned)m->functions; i++) kernels[i] = (CUkernel)&m->function[i];
    return CUDA_SUCCESS;
}
