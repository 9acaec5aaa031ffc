// SPDX-License-Identifier: Apache-2.0
//
// The keys of a description and their values; used by describe.c only.
#ifndef GPUSIM_DESCRIBE_KEYS_H
#define GPUSIM_DESCRIBE_KEYS_H

#include "describe.h"

enum gs_section { GS_SECTION_NONE, GS_SECTION_MACHINE, GS_SECTION_GPU };

enum { GS_LIST_SIZE = 1024 };

// One [gpu] section as text, expanded into GPUs when it ends, because its
// lists are checked against `count`, which may stand anywhere.
struct gs_gpu_section {
    int line;
    char model[32], count[16], memory[32], mig[8], activation[16], ecc[8];
    char numa[GS_LIST_SIZE], bus[GS_LIST_SIZE], uuid[GS_LIST_SIZE], serial[GS_LIST_SIZE], minor[GS_LIST_SIZE];
    int key_line[16]; // where each key of the table was set, 0: not
};

struct gs_reader {
    const char *file;
    int line;
    enum gs_section section;
    int machine_line;
    struct gs_gpu_section gpu;
    struct gs_description *d;
    char *why;
    size_t size;
};

// gs_bad writes "FILE:LINE: message" and returns -1.
int gs_bad(struct gs_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

void gs_machine_defaults(struct gs_machine_spec *m);
int gs_set_key(struct gs_reader *r, const char *key, const char *value);
int gs_finish_section(struct gs_reader *r);
int gs_finish(struct gs_reader *r); // whole-file rules: at least one GPU, nothing twice

#endif
