// SPDX-License-Identifier: Apache-2.0
//
// The gpusim tool: verbs and how they read their arguments.
#ifndef GPUSIM_CTL_H
#define GPUSIM_CTL_H

#include "machine.h"

enum ctl_exit { CTL_OK = 0, CTL_REFUSED = 1, CTL_USAGE = 2 };

enum { CTL_MAX_WORDS = 8, CTL_MAX_OPTIONS = 8 };

struct ctl_args {
    const char *dir;
    int words;
    const char *word[CTL_MAX_WORDS]; // positional, without the verb
    int options;
    struct {
        const char *name, *value; // name without dashes
    } option[CTL_MAX_OPTIONS];
    char **rest; // run: what follows --
};

struct ctl_verb {
    const char *name;
    const char *usage;   // what follows the verb
    const char *help;    // one sentence
    const char *options; // accepted option names, space separated; all take a value
    int min, max;        // positional words
    int (*run)(struct ctl_args *a);
};

extern const struct ctl_verb ctl_verbs[]; // ends with a NULL name

// ctl_refuse prints "gpusim: message" to stderr and returns CTL_REFUSED;
// ctl_usage does the same and returns CTL_USAGE.
int ctl_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ctl_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ctl_option returns an option's value, or `otherwise`.
const char *ctl_option(const struct ctl_args *a, const char *name, const char *otherwise);

// ctl_number reads a number from 0 to max; on failure it prints what is
// allowed and returns CTL_USAGE.
int ctl_number(const char *what, const char *text, unsigned long max, unsigned long *out);

// ctl_open opens and locks the machine; 0 or an exit code, with the reason
// printed. ctl_close undoes it.
int ctl_open(struct gs_machine *m, const struct ctl_args *a);
void ctl_close(struct gs_machine *m);

// ctl_gpu reads word `i`: an index, or the UUID of a GPU.
int ctl_gpu(const struct gs_machine *m, const struct ctl_args *a, int i, uint32_t *gpu);

int ctl_init(struct ctl_args *a);
int ctl_state(struct ctl_args *a);
int ctl_xid(struct ctl_args *a);
int ctl_ecc(struct ctl_args *a);
int ctl_lose(struct ctl_args *a);
int ctl_recover(struct ctl_args *a);
int ctl_recovery_action(struct ctl_args *a);
int ctl_mig_event(struct ctl_args *a);
int ctl_process(struct ctl_args *a);
int ctl_util(struct ctl_args *a);
int ctl_reset(struct ctl_args *a);
int ctl_reboot(struct ctl_args *a);
int ctl_latency(struct ctl_args *a);
int ctl_fail(struct ctl_args *a);
int ctl_install_root(struct ctl_args *a);
int ctl_caps_nodes(struct ctl_args *a);
int ctl_run(struct ctl_args *a);
int ctl_calls(struct ctl_args *a);
int ctl_models(struct ctl_args *a);

// ctl_smi is main for a gpusim that is called nvidia-smi.
int ctl_smi(int argc, char **argv);

void ctl_print_table(const struct gs_machine *m);
void ctl_print_json(const struct gs_machine *m);

#endif
