// SPDX-License-Identifier: Apache-2.0
//
// Device nodes: what nvidia-modprobe makes on a real machine.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "caps.h"
#include "ctl.h"
#include "ctl_root.h"
#include "mig.h"

static int node(const char *dev, const char *name, mode_t mode, unsigned major, unsigned minor) {
    char path[GS_PATH_SIZE + 64];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dev, name);
    if (!stat(path, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(major, minor)) return 0;
    unlink(path);
    if (mknod(path, S_IFCHR | mode, makedev(major, minor)) || chmod(path, mode))
        return ctl_refuse("make device node %s: %s (needs CAP_MKNOD; --devices no leaves nodes out)", path,
                          strerror(errno));
    return 0;
}

static int cap_node(const char *dev, uint32_t minor, mode_t mode) {
    char name[64];
    snprintf(name, sizeof name, "nvidia-caps/nvidia-cap%u", minor);
    return node(dev, name, mode, GS_CAPS_MAJOR, minor);
}

static void drop_cap(const char *dev, uint32_t minor) {
    char path[GS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/nvidia-caps/nvidia-cap%u", dev, minor);
    unlink(path);
}

static int instance_nodes(const char *dev, struct gs_gpu *g) {
    for (uint32_t id = 0; id < GS_GI_IDS; id++) {
        struct gs_gpu_instance *gi = gs_gi_find(g, id);
        uint32_t minor = gs_caps_minor(g->spec.minor, id, GS_NONE);
        if (!gi) drop_cap(dev, minor);
        if (gi && cap_node(dev, minor, 0444)) return -1;
        for (uint32_t c = 0; c < GS_MAX_CIS; c++) {
            minor = gs_caps_minor(g->spec.minor, id, c);
            if (!gi || !gs_ci_find(gi, c))
                drop_cap(dev, minor);
            else if (cap_node(dev, minor, 0444))
                return -1;
        }
    }
    return 0;
}

int ctl_make_devices(const struct gs_state *s) {
    char path[GS_PATH_SIZE + 64], name[32];
    mkdir(s->dev, 0755);
    snprintf(path, sizeof path, "%s/nvidia-caps", s->dev);
    if (mkdir(path, 0755) && errno != EEXIST) return ctl_refuse("make %s: %s", path, strerror(errno));
    if (node(s->dev, "nvidiactl", 0666, GS_GPU_MAJOR, 255) || node(s->dev, "nvidia-modeset", 0666, GS_GPU_MAJOR, 254) ||
        node(s->dev, "nvidia-uvm", 0666, GS_UVM_MAJOR, 0) || node(s->dev, "nvidia-uvm-tools", 0666, GS_UVM_MAJOR, 1) ||
        cap_node(s->dev, GS_CAP_CONFIG, 0400) || cap_node(s->dev, GS_CAP_MONITOR, 0444))
        return CTL_REFUSED;
    for (uint32_t i = 0; i < s->machine.gpu_count; i++) {
        struct gs_gpu *g = (struct gs_gpu *)&s->gpu[i];
        snprintf(name, sizeof name, "nvidia%u", g->spec.minor);
        if (node(s->dev, name, 0666, GS_GPU_MAJOR, g->spec.minor) || instance_nodes(s->dev, g)) return CTL_REFUSED;
    }
    return CTL_OK;
}

int ctl_caps_nodes(struct ctl_args *a) {
    struct gs_machine m = {0};
    int code = ctl_open(&m, a);
    if (code) return code;
    code = *m.s->root ? ctl_make_devices(m.s) : ctl_refuse("the machine has no root: `gpusim install-root` lays one");
    ctl_close(&m);
    return code;
}
