// SPDX-License-Identifier: Apache-2.0
//
// gpusim run: a program on this machine, in a mount namespace of its own whose
// /proc/driver is the one of the installed root. Programs that read
// /proc/driver/nvidia-caps by absolute path (nvcdi for MIG) need it. And the
// nvidia-smi that an installed root has.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ctl.h"
#include "ctl_root.h"
#include "mig.h"
#include "models.h"

static int enter(const char *root) {
    char from[GS_PATH_SIZE + 32];
    snprintf(from, sizeof from, "%s/proc/driver", root);
    if (unshare(CLONE_NEWNS)) return ctl_refuse("make a mount namespace: %s (needs CAP_SYS_ADMIN)", strerror(errno));
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return ctl_refuse("make mounts private: %s", strerror(errno));
    if (mount(from, "/proc/driver", NULL, MS_BIND, NULL))
        return ctl_refuse("bind %s on /proc/driver: %s", from, strerror(errno));
    return 0;
}

int ctl_run(struct ctl_args *a) {
    struct gs_machine m = {0};
    char root[GS_PATH_SIZE], libs[GS_PATH_SIZE + 64];
    if (!a->rest || !*a->rest) return ctl_usage("run: write -- and the program");
    int code = ctl_open(&m, a);
    if (code) return code;
    strcpy(root, m.s->root);
    ctl_close(&m);
    if (!*root) return ctl_refuse("the machine has no root: `gpusim install-root` lays one");
    snprintf(libs, sizeof libs, "%s/usr/lib/x86_64-linux-gnu", root);
    if (setenv("GPUSIM_DIR", a->dir, 1) || setenv("LD_LIBRARY_PATH", libs, 1))
        return ctl_refuse("set environment: %s", strerror(errno));
    if ((code = enter(root))) return code;
    execvp(a->rest[0], a->rest);
    return ctl_refuse("run %s: %s", a->rest[0], strerror(errno));
}

static void list_gpu(struct gs_gpu *g, uint32_t i) {
    const struct gs_model *model = gs_model_find(g->spec.model);
    struct gs_gpu_instance *gi;
    struct gs_compute_instance *ci;
    if (g->v.lost) {
        printf("Unable to determine the device handle for gpu %u: GPU is lost\n", i);
        return;
    }
    printf("GPU %u: %s (UUID: %s)\n", i, model->name, g->spec.uuid);
    for (unsigned k = 0; gs_mig_device(g, k, &gi, &ci); k++) {
        const struct gs_profile *p = gs_profile_by_id(model, gi->profile);
        char name[GS_NAME_SIZE];
        gs_ci_name(name, p, ci->size);
        printf("  MIG %-15s Device %2u: (UUID: %s)\n", name, k, ci->uuid);
    }
}

int ctl_smi(int argc, char **argv) {
    struct ctl_args a = {.dir = gs_default_dir()};
    struct gs_machine m = {0};
    int list = argc == 2 && !strcmp(argv[1], "-L");
    if (argc > 1 && !list) return ctl_usage("the simulated nvidia-smi knows -L and no other option");
    int code = ctl_open(&m, &a);
    if (code) return code;
    // As on hardware, running it makes the nodes of new instances; not where,
    // as in a container, the host's device directory is not there.
    if (*m.s->root && !access(m.s->dev, W_OK)) code = ctl_make_devices(m.s);
    if (!list) ctl_print_table(&m);
    for (uint32_t i = 0; list && i < m.s->machine.gpu_count; i++) list_gpu(&m.s->gpu[i], i);
    ctl_close(&m);
    return code;
}
