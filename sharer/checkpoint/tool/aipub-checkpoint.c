// SPDX-License-Identifier: Apache-2.0
//
// Moves the GPU memory of a process to the host and back, by the driver's
// checkpoint calls (CUDA 12.8 and newer). Nothing is linked: the driver's library
// is opened by its path, so one binary serves every driver.
//
//   aipub-checkpoint [-l LIBCUDA] probe | state PID | lock PID | checkpoint PID | restore PID | unlock PID
//
// Exit status: 0 done, 1 the driver refused, 2 wrong usage, 3 this driver cannot
// do it. state prints running, locked, checkpointed or failed.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, REFUSED = 1, USAGE = 2, UNABLE = 3 };

// How long a process may take to finish what it has in flight.
enum { LOCK_TIMEOUT_MS = 10000 };

// As in cuda.h: CUcheckpointLockArgs. The other calls' arguments may be NULL.
struct lock_args {
    unsigned timeout_ms;
    unsigned reserved0;
    uint64_t reserved1[7];
};

static void *library;

static int call(const char *name, int pid, void *args) {
    int (*f)(int, void *) = (int (*)(int, void *))dlsym(library, name);
    if (!f) {
        fprintf(stderr, "aipub-checkpoint: this driver has no %s; CUDA 12.8 or newer has it\n", name);
        return UNABLE;
    }
    int result = f(pid, args);
    if (result == 0) return DONE;
    const char *text = NULL;
    int (*explain)(int, const char **) = (int (*)(int, const char **))dlsym(library, "cuGetErrorName");
    if (explain) explain(result, &text);
    fprintf(stderr, "aipub-checkpoint: %s of process %d: %s (%d)\n", name, pid, text ? text : "unknown error", result);
    return result == 801 ? UNABLE : REFUSED; // CUDA_ERROR_NOT_SUPPORTED
}

static int state(int pid) {
    static const char *const names[] = {"running", "locked", "checkpointed", "failed"};
    int value = -1, result = call("cuCheckpointProcessGetState", pid, &value);
    if (result != DONE) return result;
    puts(value >= 0 && value < 4 ? names[value] : "unknown");
    return DONE;
}

static int probe(void) {
    static const char *const names[] = {"Lock", "Checkpoint", "Restore", "Unlock", "GetState"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "cuCheckpointProcess%s", names[i]);
        if (dlsym(library, name)) continue;
        fprintf(stderr, "aipub-checkpoint: this driver has no %s; CUDA 12.8 or newer has it\n", name);
        return UNABLE;
    }
    return DONE;
}

static int start(const char *path) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;
    if (!init) {
        fprintf(stderr, "aipub-checkpoint: open %s: %s\n", path, dlerror());
        return UNABLE;
    }
    int result = init(0);
    if (result == 0) return DONE;
    fprintf(stderr, "aipub-checkpoint: cuInit of %s: error %d\n", path, result);
    return REFUSED;
}

static int usage(void) {
    fputs("usage: aipub-checkpoint [-l LIBCUDA] probe | state PID | lock PID | checkpoint PID | restore PID | unlock PID\n",
          stderr);
    return USAGE;
}

static int run(const char *verb, int pid) {
    struct lock_args lock = {.timeout_ms = LOCK_TIMEOUT_MS};
    if (strcmp(verb, "state") == 0) return state(pid);
    if (strcmp(verb, "lock") == 0) return call("cuCheckpointProcessLock", pid, &lock);
    if (strcmp(verb, "checkpoint") == 0) return call("cuCheckpointProcessCheckpoint", pid, NULL);
    if (strcmp(verb, "restore") == 0) return call("cuCheckpointProcessRestore", pid, NULL);
    if (strcmp(verb, "unlock") == 0) return call("cuCheckpointProcessUnlock", pid, NULL);
    return usage();
}

int main(int argc, char **argv) {
    const char *path = "libcuda.so.1";
    if (argc > 2 && strcmp(argv[1], "-l") == 0) {
        path = argv[2];
        argc -= 2;
        argv += 2;
    }
    int is_probe = argc == 2 && strcmp(argv[1], "probe") == 0;
    char *end = NULL;
    long pid = argc == 3 ? strtol(argv[2], &end, 10) : 0;
    if (!is_probe && (argc != 3 || *end || pid <= 0 || pid > INT32_MAX)) return usage();
    int result = start(path);
    if (result != DONE) return result;
    return is_probe ? probe() : run(argv[1], (int)pid);
}
