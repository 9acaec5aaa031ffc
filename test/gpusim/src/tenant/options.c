// SPDX-License-Identifier: Apache-2.0
#include "tenant/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "tenant [OPTIONS]: a program that uses a GPU, simulated or real\n"
    "  --kernel-us N    a kernel takes N microseconds (1000)\n"
    "  --burst N        launch N kernels, then wait for them (1)\n"
    "  --gap-ms N       pause between bursts (0)\n"
    "  --streams N      spread a burst over N streams (1)\n"
    "  --kind KIND      launch by plain, ex, cooperative or graph (plain)\n"
    "  --graph          --kind graph: a burst is one graph\n"
    "  --blocks N       blocks of a kernel (1)\n"
    "  --alloc-mib N    hold N MiB of device memory (0)\n"
    "  --device N       (0)\n"
    "  --seconds N      end after so long; 0: at SIGTERM (0)\n"
    "  --window-ms N    print a line so often (1000)\n"
    "  --csv FILE       where to\n"
    "A line: seconds since the start, kernels finished, GPU microseconds done, and of the\n"
    "bursts that ended the mean and the longest time from first launch to end in microseconds.\n"
    "SIGUSR1 pauses the work, SIGUSR2 resumes it, SIGTERM prints the totals and ends.\n";

static int read_kind(const char *text) {
    static const char *const names[] = {"plain", "ex", "cooperative", "graph"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(names[i], text)) return i;
    fprintf(stderr, "tenant: --kind \"%s\": allowed are plain, ex, cooperative, graph\n", text);
    exit(2);
}

static uint64_t read_number(const char *option, const char *text, uint64_t least) {
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (*text && *text != '-' && !*end && n >= least && n < 1ull << 40) return n;
    fprintf(stderr, "tenant: %s \"%s\": write a whole number from %llu\n", option, text, (unsigned long long)least);
    exit(2);
}

void options_read(struct options *o, int argc, char **argv) {
    *o = (struct options){.kernel_us = 1000, .burst = 1, .streams = 1, .window_ms = 1000, .blocks = 1};
    const struct {
        const char *name;
        uint64_t *value, least;
    } numbers[] = {{"--kernel-us", &o->kernel_us, 1}, {"--burst", &o->burst, 1},
                   {"--gap-ms", &o->gap_ms, 0},       {"--streams", &o->streams, 1},
                   {"--blocks", &o->blocks, 1},       {"--alloc-mib", &o->alloc_mib, 0},
                   {"--device", &o->device, 0},       {"--seconds", &o->seconds, 0},
                   {"--window-ms", &o->window_ms, 1}};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) exit((fputs(usage, stdout), 0));
        if (!strcmp(argv[i], "--graph")) {
            o->kind = LAUNCH_GRAPH;
            continue;
        }
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        size_t k = 0;
        while (k < sizeof numbers / sizeof *numbers && strcmp(numbers[k].name, argv[i])) k++;
        if (k < sizeof numbers / sizeof *numbers) *numbers[k].value = read_number(argv[i], value, numbers[k].least);
        else if (!strcmp(argv[i], "--kind")) o->kind = (enum launch_kind)read_kind(value);
        else if (!strcmp(argv[i], "--csv")) o->csv = value;
        else exit((fprintf(stderr, "tenant: option %s is unknown\n%s", argv[i], usage), 2));
        i++;
    }
    if (o->streams > 64) exit((fputs("tenant: --streams: at most 64\n", stderr), 2));
}
