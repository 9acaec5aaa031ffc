// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "check.h"

int checks_passed, checks_failed;

void make_machine(struct gs_machine *m, const char *description) {
    char dir[] = "/tmp/gpusim-test-XXXXXX", why[1024];
    static struct gs_description d;
    if (!mkdtemp(dir) || gs_describe("test", description, &d, why, sizeof why) ||
        gs_machine_create(m, dir, &d.machine, d.gpu, why, sizeof why)) {
        printf("make machine: %s\n", why);
        exit(1);
    }
    setenv("GPUSIM_DIR", m->dir, 1);
}

void drop_machine(struct gs_machine *m) {
    static const char *const files[] = {"state", "boot_id", "clients"};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", m->dir, files[i]);
        unlink(path);
    }
    rmdir(m->dir);
    gs_machine_close(m);
}

int main(int argc, char **argv) {
    if (argc == 2) return ipc_child(atoi(argv[1]));
    test_describe();
    test_rules();
    test_lock();
    test_calls();
    test_null();
    test_cuda();
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}
