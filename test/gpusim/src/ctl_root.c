// SPDX-License-Identifier: Apache-2.0
//
// gpusim install-root: the files of a driver installation, of its /proc, /sys
// and /dev, below a directory.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "ctl.h"
#include "ctl_root.h"
#include "models.h"

#define LIBDIR "usr/lib/x86_64-linux-gnu"

struct root {
    const struct gs_state *s;
    char dir[GS_PATH_SIZE];
    int bad; // sticky: after the first failure nothing more is done
};

// below formats a path in the root and makes its parent directories.
static const char *below(struct root *r, char *buf, const char *format, ...) {
    va_list args;
    int n = snprintf(buf, PATH_MAX, "%s/", r->dir);
    va_start(args, format);
    vsnprintf(buf + n, (size_t)(PATH_MAX - n), format, args);
    va_end(args);
    for (char *p = buf + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        if (mkdir(buf, 0755) && errno != EEXIST && !r->bad) r->bad = ctl_refuse("make %s: %s", buf, strerror(errno));
    }
    return buf;
}

static void put(struct root *r, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(struct root *r, const char *path, const char *format, ...) {
    va_list args;
    if (r->bad) return;
    FILE *f = fopen(path, "we");
    if (!f) {
        r->bad = ctl_refuse("write %s: %s", path, strerror(errno));
        return;
    }
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

static void link_to(struct root *r, const char *target, const char *path) {
    unlink(path);
    if (!r->bad && symlink(target, path)) r->bad = ctl_refuse("link %s: %s", path, strerror(errno));
}

// copy makes an executable copy; a missing source gives an empty file, which
// is enough for what only looks for names.
static void copy(struct root *r, const char *from, const char *to) {
    char tmp[PATH_MAX + 8], block[65536];
    if (r->bad) return;
    snprintf(tmp, sizeof tmp, "%s.new", to);
    FILE *in = fopen(from, "re"), *out = fopen(tmp, "we");
    size_t n = 0;
    while (out && in && (n = fread(block, 1, sizeof block, in)) > 0 && fwrite(block, 1, n, out) == n) {
    }
    if (in) fclose(in);
    if (!out || fclose(out) || chmod(tmp, 0755) || rename(tmp, to))
        r->bad = ctl_refuse("write %s: %s", to, strerror(errno));
}

// beside names a file next to this executable, where the Makefile puts all.
static const char *beside(char *buf, const char *name) {
    ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 64);
    buf[n > 0 ? n : 0] = 0;
    char *slash = strrchr(buf, '/');
    snprintf(slash ? slash + 1 : buf, 64, "%s", name);
    return buf;
}

// put_library copies the library that lies in `from`, beside this executable.
static void put_library(struct root *r, const char *from, const char *name) {
    char path[PATH_MAX], to[PATH_MAX], so[64], file[96], versioned[128];
    snprintf(so, sizeof so, "%s.so.1", name);
    snprintf(file, sizeof file, "%s%s", from, so);
    snprintf(versioned, sizeof versioned, "%s.so.%s", name, r->s->machine.driver_version);
    copy(r, beside(path, file), below(r, to, LIBDIR "/%s", versioned));
    link_to(r, versioned, below(r, to, LIBDIR "/%s", so));
    link_to(r, so, below(r, to, LIBDIR "/%s.so", name));
}

// put_cuda takes the library of the machine's CUDA version, or the default
// one, which says what the machine says, where there is none of its own.
static void put_cuda(struct root *r) {
    char path[PATH_MAX], dir[32], file[64];
    uint32_t version = r->s->machine.cuda_version;
    snprintf(dir, sizeof dir, "cuda-%u.%u/", version / 1000, version % 1000 / 10);
    snprintf(file, sizeof file, "%slibcuda.so.1", dir);
    put_library(r, access(beside(path, file), R_OK) ? "" : dir, "libcuda");
}

static void put_programs(struct root *r) {
    char self[PATH_MAX], to[PATH_MAX];
    copy(r, beside(self, "tenant"), below(r, to, "usr/bin/tenant"));
    copy(r, beside(self, "gpusim"), below(r, to, "usr/bin/gpusim"));
    link_to(r, "gpusim", below(r, to, "usr/bin/nvidia-smi"));
}

static void put_gpu(struct root *r, const struct gs_gpu *g) {
    const struct gs_gpu_spec *s = &g->spec;
    const struct gs_model *m = gs_model_find(s->model);
    char bus[16], path[PATH_MAX];
    snprintf(bus, sizeof bus, "%04x:%02x:%02x.0", s->domain & 0xffff, s->bus & 0xff, s->device & 0x1f);
    put(r, below(r, path, "proc/driver/nvidia/gpus/%s/information", bus),
        "Model: \t\t %s\nIRQ:   \t\t %u\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t "
        "%u\n",
        m->name, 100 + s->minor, s->uuid, bus, s->minor);
    put(r, below(r, path, "sys/bus/pci/devices/%s/numa_node", bus), "%d\n", (int)s->numa_node); // GS_NONE is -1
    put(r, below(r, path, "sys/bus/pci/devices/%s/vendor", bus), "0x10de\n");
    put(r, below(r, path, "sys/bus/pci/devices/%s/device", bus), "0x%04x\n", m->pci_device >> 16);
    put(r, below(r, path, "sys/bus/pci/devices/%s/class", bus), "0x030200\n");
    if (s->mig_capable) below(r, path, "proc/driver/nvidia/capabilities/gpu%u/mig/", s->minor);
}

static void put_proc(struct root *r) {
    char path[PATH_MAX];
    put(r, below(r, path, "proc/devices"),
        "Character devices:\n%3d nvidia\n%3d nvidiactl\n%3d nvidia-caps\n%3d nvidia-uvm\n\nBlock devices:\n",
        GS_GPU_MAJOR, GS_GPU_MAJOR, GS_CAPS_MAJOR, GS_UVM_MAJOR);
    put(r, below(r, path, "proc/driver/nvidia/version"),
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n", r->s->machine.driver_version);
    put(r, below(r, path, "proc/driver/nvidia/params"), "ModifyDeviceFiles: 1\n");
    put(r, below(r, path, "proc/driver/nvidia/capabilities/mig/config"),
        "DeviceFileMinor: %d\nDeviceFileMode: 256\nDeviceFileModify: 1\n", GS_CAP_CONFIG);
    put(r, below(r, path, "proc/driver/nvidia/capabilities/mig/monitor"),
        "DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1\n", GS_CAP_MONITOR);
    put(r, below(r, path, "proc/sys/kernel/random/boot_id"), "%s\n", r->s->boot_id);
}

// The driver's table covers every possible instance of 32 GPUs.
static void put_minors(struct root *r) {
    char path[PATH_MAX];
    if (r->bad) return;
    FILE *f = fopen(below(r, path, "proc/driver/nvidia-caps/mig-minors"), "we");
    if (!f) {
        r->bad = ctl_refuse("write %s: %s", path, strerror(errno));
        return;
    }
    fprintf(f, "config %d\nmonitor %d\n", GS_CAP_CONFIG, GS_CAP_MONITOR);
    for (uint32_t gpu = 0; gpu < GS_MAX_GPUS; gpu++)
        for (uint32_t gi = 0; gi < GS_GI_IDS; gi++) {
            fprintf(f, "gpu%u/gi%u/access %u\n", gpu, gi, gs_caps_minor(gpu, gi, GS_NONE));
            for (uint32_t ci = 0; ci < GS_MAX_CIS; ci++)
                fprintf(f, "gpu%u/gi%u/ci%u/access %u\n", gpu, gi, ci, gs_caps_minor(gpu, gi, ci));
        }
    fclose(f);
}

static int absolute(const char *path, char out[GS_PATH_SIZE]) {
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd)) return -1;
    int n = *path == '/' ? snprintf(out, GS_PATH_SIZE, "%s", path) : snprintf(out, GS_PATH_SIZE, "%s/%s", cwd, path);
    while (n > 1 && n < GS_PATH_SIZE && out[n - 1] == '/') out[--n] = 0;
    return n < GS_PATH_SIZE ? 0 : -1;
}

static int lay(struct gs_machine *m, struct ctl_args *a) {
    struct root r = {.s = m->s};
    char dev[GS_PATH_SIZE], fallback[PATH_MAX];
    if (absolute(a->word[0], r.dir))
        return ctl_refuse("%s: a root's path has at most %d characters", a->word[0], GS_PATH_SIZE - 1);
    snprintf(fallback, sizeof fallback, "%s/dev", r.dir);
    if (absolute(ctl_option(a, "dev", fallback), dev))
        return ctl_refuse("--dev: at most %d characters", GS_PATH_SIZE - 1);
    put_library(&r, "", "libnvidia-ml");
    put_cuda(&r);
    put_library(&r, "", "libnvidia-ptxjitcompiler");
    put_programs(&r);
    put_proc(&r);
    put_minors(&r);
    for (uint32_t i = 0; i < m->s->machine.gpu_count; i++) put_gpu(&r, &m->s->gpu[i]);
    if (r.bad) return r.bad;
    strcpy(m->s->root, r.dir);
    strcpy(m->s->dev, dev);
    for (uint32_t i = 0; i < m->s->machine.gpu_count; i++) gs_caps_sync(m->s, i);
    return strcmp(ctl_option(a, "devices", "yes"), "no") ? ctl_make_devices(m->s) : CTL_OK;
}

int ctl_install_root(struct ctl_args *a) {
    struct gs_machine m = {0};
    int code = ctl_open(&m, a);
    if (code) return code;
    code = lay(&m, a);
    ctl_close(&m);
    return code;
}
