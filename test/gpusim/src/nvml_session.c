// SPDX-License-Identifier: Apache-2.0
#include "nvml_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "exec.h"

// The only mutable global: which session this process has.
static struct {
    pthread_mutex_t lock;
    struct gs_session *current;
    unsigned inits;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void unref(struct gs_session *ses) {
    if (--ses->refs) return;
    while (ses->sets) {
        struct nvmlEventSet_st *next = ses->sets->next;
        free(ses->sets);
        ses->sets = next;
    }
    gs_machine_close(&ses->m);
    free(ses);
}

static bool stale(const struct gs_session *ses) {
    return ses->m.s->retired || ses->m.s->boot != ses->boot;
}

static nvmlReturn_t open_session(struct gs_session **out) {
    char why[PATH_MAX + 200];
    struct gs_session *ses = calloc(1, sizeof *ses);
    if (!ses) return NVML_ERROR_MEMORY;
    enum gs_open_result r = gs_machine_open(&ses->m, gs_default_dir(), why, sizeof why);
    if (r != GS_OPEN_OK) {
        fprintf(stderr, "gpusim: cannot load the driver: %s (GPUSIM_DIR names the machine; `gpusim init` makes one)\n",
                why);
        free(ses);
        return r == GS_OPEN_ABSENT ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    }
    ses->boot = ses->m.s->boot;
    ses->refs = 1;
    *out = ses;
    return NVML_SUCCESS;
}

// take_fault reads and uses up what is injected into a call. Needs the lock.
static struct gs_fault take_fault(struct gs_state *s, enum nvml_call number) {
    struct gs_fault *slot = &s->fault[number], now = *slot;
    if (slot->times && slot->times != GS_ALWAYS) slot->times--;
    if (!now.times) now.code = NVML_SUCCESS;
    return now;
}

static void sleep_ms(uint32_t ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t)) {
    }
}

bool gs_call_alive(const struct gs_call *c) {
    return !__atomic_load_n(&c->session->closed, __ATOMIC_ACQUIRE) && !stale(c->session);
}

static void drop(struct gs_session *ses) {
    pthread_mutex_lock(&library.lock);
    unref(ses);
    pthread_mutex_unlock(&library.lock);
}

nvmlReturn_t gs_call_enter(struct gs_call *c, enum nvml_call number) {
    pthread_mutex_lock(&library.lock);
    struct gs_session *ses = library.current;
    if (ses) ses->refs++;
    pthread_mutex_unlock(&library.lock);
    if (!ses) return NVML_ERROR_UNINITIALIZED;

    *c = (struct gs_call){.session = ses, .s = ses->m.s};
    gs_lock(&ses->m);
    nvmlReturn_t r = gs_call_alive(c) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (ses->m.s->exec.client_high) {
        gs_clients_reap(&ses->m);
        gs_exec_advance(&ses->m);
    }
    struct gs_fault fault = r == NVML_SUCCESS ? take_fault(c->s, number) : (struct gs_fault){0};
    if (fault.latency_ms) {
        gs_unlock(&ses->m);
        sleep_ms(fault.latency_ms);
        gs_lock(&ses->m);
        if (!gs_call_alive(c)) r = NVML_ERROR_UNINITIALIZED;
    }
    if (r == NVML_SUCCESS) r = fault.code;
    if (r != NVML_SUCCESS) gs_call_leave(c);
    return r;
}

void gs_call_leave(struct gs_call *c) {
    if (!c->session) return;
    gs_unlock(&c->session->m);
    drop(c->session);
    c->session = NULL;
}

static nvmlReturn_t init_fault(struct gs_session *ses, enum nvml_call number) {
    gs_lock(&ses->m);
    struct gs_fault fault = take_fault(ses->m.s, number);
    gs_unlock(&ses->m);
    sleep_ms(fault.latency_ms);
    return fault.code;
}

// A forgotten nvmlShutdown would silently keep a test on the machine of the
// test before.
static void warn_other_machine(void) {
    if (strcmp(library.current->m.dir, gs_default_dir()))
        fprintf(stderr, "gpusim: nvmlInit stays on %s, where %u sessions are open; GPUSIM_DIR says %s\n",
                library.current->m.dir, library.inits, gs_default_dir());
}

static nvmlReturn_t init(enum nvml_call number) {
    pthread_mutex_lock(&library.lock);
    nvmlReturn_t r = NVML_SUCCESS;
    struct gs_session *fresh = NULL;
    if (library.current) warn_other_machine();
    if (!library.current || stale(library.current)) r = open_session(&fresh);
    if (r == NVML_SUCCESS) r = init_fault(fresh ? fresh : library.current, number);
    if (r == NVML_SUCCESS) library.inits++;
    if (r != NVML_SUCCESS && fresh) unref(fresh);
    if (r == NVML_SUCCESS && fresh) {
        if (library.current) unref(library.current);
        library.current = fresh;
    }
    pthread_mutex_unlock(&library.lock);
    return r;
}

nvmlReturn_t nvmlInit(void) {
    return init(CALL_nvmlInit);
}

nvmlReturn_t nvmlInit_v2(void) {
    return init(CALL_nvmlInit_v2);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    return flags & ~(unsigned)NVML_INIT_FLAG_ALL ? NVML_ERROR_INVALID_ARGUMENT : init(CALL_nvmlInitWithFlags);
}

nvmlReturn_t nvmlShutdown(void) {
    pthread_mutex_lock(&library.lock);
    nvmlReturn_t r = library.inits ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (r == NVML_SUCCESS && !stale(library.current)) r = init_fault(library.current, CALL_nvmlShutdown);
    if (r == NVML_SUCCESS && --library.inits == 0) {
        struct gs_session *ses = library.current;
        library.current = NULL;
        __atomic_store_n(&ses->closed, true, __ATOMIC_RELEASE);
        gs_pulse(ses->m.s); // its waiters return, others look again
        unref(ses);
    }
    pthread_mutex_unlock(&library.lock);
    return r;
}

nvmlReturn_t gs_copy_string(char *out, unsigned int length, const char *text) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    size_t need = strlen(text) + 1;
    if (length < need) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, need);
    return NVML_SUCCESS;
}
