// SPDX-License-Identifier: Apache-2.0
//
// tenant: launches kernels of a given length in bursts and says, window by
// window, how much of them was done, so that shares can be plotted.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenant/driver.h"
#include "tenant/options.h"

enum { MAX_STREAMS = 64 };

static volatile sig_atomic_t paused, stopping;

static void on_signal(int number) {
    if (number == SIGTERM || number == SIGINT) stopping = 1;
    else paused = number == SIGUSR1;
}

static void catch_signals(void) {
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &a, NULL);
}

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_ms(uint64_t ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL); // a signal ends it early, which is wanted
}

struct count {
    uint64_t kernels, gpu_us, bursts, latency_us, longest_us;
};

struct tenant {
    struct driver d;
    struct options o;
    FILE *out;
    CUstream stream[MAX_STREAMS];
    CUgraphExec graph;
    uint64_t start_us, window_end_us;
    struct count window, total;
};

static void launch(struct tenant *t, CUstream s) {
    unsigned blocks = (unsigned)t->o.blocks;
    void *params[] = {&t->o.kernel_us, &t->d.turns_per_us};
    CUlaunchConfig config = {blocks, 1, 1, 1, 1, 1, 0, s, NULL, 0};
    switch (t->o.kind) {
    case LAUNCH_EX: MUST(&t->d, LaunchEx, &config, t->d.busy, params, NULL); break;
    case LAUNCH_COOPERATIVE: MUST(&t->d, LaunchCooperative, t->d.busy, blocks, 1, 1, 1, 1, 1, 0, s, params); break;
    default: MUST(&t->d, Launch, t->d.busy, blocks, 1, 1, 1, 1, 1, 0, s, params, NULL);
    }
}

static void make_graph(struct tenant *t) {
    enum { THREAD_LOCAL = 1 };
    CUgraph graph;
    MUST(&t->d, BeginCapture, t->stream[0], THREAD_LOCAL);
    for (uint64_t i = 0; i < t->o.burst; i++) launch(t, t->stream[0]);
    MUST(&t->d, EndCapture, t->stream[0], &graph);
    MUST(&t->d, Instantiate, &t->graph, graph, 0);
}

static void prepare(struct tenant *t) {
    CUdeviceptr memory;
    driver_open(&t->d, (int)t->o.device);
    if (t->o.kind == LAUNCH_EX && !t->d.LaunchEx) exit((fputs("tenant: --kind ex: the driver lacks it\n", stderr), 1));
    if (t->o.alloc_mib) MUST(&t->d, MemAlloc, &memory, t->o.alloc_mib << 20);
    for (uint64_t i = 0; i < t->o.streams; i++) MUST(&t->d, StreamCreate, &t->stream[i], CU_STREAM_NON_BLOCKING);
    if (t->o.kind == LAUNCH_GRAPH) make_graph(t);
    t->out = t->o.csv ? fopen(t->o.csv, "we") : stdout;
    if (!t->out) exit((fprintf(stderr, "tenant: write %s: %s\n", t->o.csv, strerror(errno)), 1));
    setvbuf(t->out, NULL, _IOLBF, 0);
    fputs("seconds,kernels,gpu_us,latency_mean_us,latency_max_us\n", t->out);
    t->start_us = now_us();
    t->window_end_us = t->start_us + t->o.window_ms * 1000;
}

static void print(FILE *out, double seconds, const struct count *c) {
    uint64_t mean = c->bursts ? c->latency_us / c->bursts : 0;
    fprintf(out, "%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", seconds, c->kernels, c->gpu_us, mean,
            c->longest_us);
}

// close_windows prints the windows that have ended, idle ones too.
static void close_windows(struct tenant *t) {
    for (uint64_t now = now_us(); now >= t->window_end_us; t->window_end_us += t->o.window_ms * 1000) {
        print(t->out, (double)(t->window_end_us - t->start_us) / 1e6, &t->window);
        t->window = (struct count){0};
    }
}

static void add(struct count *c, uint64_t kernels, uint64_t gpu_us, uint64_t latency_us) {
    c->kernels += kernels, c->gpu_us += gpu_us, c->bursts++, c->latency_us += latency_us;
    if (latency_us > c->longest_us) c->longest_us = latency_us;
}

static void burst(struct tenant *t) {
    uint64_t begin = now_us(), n = t->o.burst;
    if (t->o.kind == LAUNCH_GRAPH) MUST(&t->d, GraphLaunch, t->graph, t->stream[0]);
    else
        for (uint64_t i = 0; i < n; i++) launch(t, t->stream[i % t->o.streams]);
    for (uint64_t i = 0; i < t->o.streams; i++) MUST(&t->d, StreamSync, t->stream[i]);
    uint64_t latency = now_us() - begin;
    close_windows(t); // a burst counts where it ends
    add(&t->window, n, n * t->o.kernel_us, latency);
    add(&t->total, n, n * t->o.kernel_us, latency);
}

static int over(const struct tenant *t) {
    return stopping || (t->o.seconds && now_us() - t->start_us >= t->o.seconds * 1000000);
}

int main(int argc, char **argv) {
    static struct tenant t;
    options_read(&t.o, argc, argv);
    catch_signals();
    prepare(&t);
    while (!over(&t)) {
        if (paused) sleep_ms(10);
        else burst(&t);
        if (t.o.gap_ms && !paused && !over(&t)) sleep_ms(t.o.gap_ms);
        close_windows(&t);
    }
    printf("total ");
    print(stdout, (double)(now_us() - t.start_us) / 1e6, &t.total);
    return 0;
}
