// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "ctl.h"

const struct ctl_verb ctl_verbs[] = {
    {"init", "DESCRIPTION", "Make a machine from a description file, or replace the one in the directory.", "", 1, 1,
     ctl_init},
    {"state", "[-o table|json]", "Show GPUs, MIG modes, instances, clients, health and injected faults.", "o", 0, 0,
     ctl_state},
    {"xid", "GPU CODE [--gi N] [--ci N]", "Post a critical Xid error.", "gi ci", 2, 2, ctl_xid},
    {"ecc", "GPU [--errors N] [--type corrected|uncorrected]",
     "Count ECC errors and post the event (default: one uncorrected).", "errors type", 1, 1, ctl_ecc},
    {"lose", "GPU", "Drop a GPU off the bus: Xid 79, then its calls answer GPU_IS_LOST.", "", 1, 1, ctl_lose},
    {"recover", "GPU", "Bring a lost GPU back, reset.", "", 1, 1, ctl_recover},
    {"recovery-action", "GPU none|reset|reboot|drain-p2p|drain-reset",
     "Set the recovery action that NVML reports, and post the change.", "", 2, 2, ctl_recovery_action},
    {"process", "add|rm GPU[/GI/CI] PID [--memory SIZE] [--sm PERCENT] [--kind compute|graphics|mps] [--real yes]",
     "Add or remove a client of a device; a real one ends with its pid.", "memory sm kind real", 3, 3, ctl_process},
    {"util", "GPU PERCENT [--memory PERCENT]", "Set the utilization of a GPU.", "memory", 2, 2, ctl_util},
    {"reset", "GPU", "Reset a GPU without clients: applies a pending MIG mode, destroys instances.", "", 1, 1,
     ctl_reset},
    {"reboot", "", "Reboot the machine: only the InfoROM survives; faults and latencies are cleared.", "", 0, 0,
     ctl_reboot},
    {"mig-event", "GPU", "Post a MIG configuration change without a change.", "", 1, 1, ctl_mig_event},
    {"latency", "CALL MILLISECONDS", "Make a call slow; 0 ends it.", "", 2, 2, ctl_latency},
    {"fail", "CALL CODE [--times N]", "Make a call answer CODE, N times or until CODE is SUCCESS.", "times", 2, 2,
     ctl_fail},
    {"install-root", "DIR [--dev DIR] [--devices yes|no]",
     "Lay a driver's files, /proc, /sys and /dev below DIR and keep them current.", "dev devices", 1, 1,
     ctl_install_root},
    {"caps-nodes", "", "Make the device nodes of the MIG instances that exist, as running nvidia-smi does.", "", 0, 0,
     ctl_caps_nodes},
    {"run", "-- PROGRAM [ARGUMENT...]", "Run a program that sees the installed root's /proc/driver and library.", "", 0,
     0, ctl_run},
    {"calls", "", "List the calls that the library exports.", "", 0, 0, ctl_calls},
    {"models", "", "List the GPU models that a description may name, with their MIG profiles.", "", 0, 0, ctl_models},
    {0},
};

static void help(FILE *out) {
    fprintf(out, "gpusim drives a simulated NVIDIA machine.\n\nUsage: gpusim [--dir DIR] VERB ...\n\n");
    for (const struct ctl_verb *v = ctl_verbs; v->name; v++)
        fprintf(out, "  %s %s\n      %s\n", v->name, v->usage, v->help);
    fprintf(out, "\nThe machine lies in --dir, $GPUSIM_DIR or /run/gpusim. GPU is an index or a UUID. CALL is a name\n"
                 "from `gpusim calls`, or the name without nvml and version (DeviceGetCount) for all its versions.\n"
                 "Exit codes: 0 done, 1 refused, 2 wrong usage.\n");
}

static const struct ctl_verb *find(const char *name) {
    for (const struct ctl_verb *v = ctl_verbs; v->name; v++)
        if (!strcmp(v->name, name)) return v;
    return NULL;
}

static int accepts(const struct ctl_verb *v, const char *option) {
    size_t n = strlen(option);
    for (const char *p = v->options; (p = strstr(p, option)); p += n)
        if ((p == v->options || p[-1] == ' ') && (!p[n] || p[n] == ' ')) return 1;
    return 0;
}

// parse splits what follows the verb into words and options.
static int parse(const struct ctl_verb *v, int argc, char **argv, struct ctl_args *a) {
    for (int i = 0; i < argc; i++) {
        const char *s = argv[i];
        if (!strcmp(s, "--") && v->run == ctl_run) {
            a->rest = argv + i + 1;
            break;
        }
        if (*s != '-' || !s[1]) {
            if (a->words >= v->max) return ctl_usage("%s: \"%s\" is too much: %s %s", v->name, s, v->name, v->usage);
            a->word[a->words++] = s;
            continue;
        }
        s += s[1] == '-' ? 2 : 1;
        if (i + 1 == argc) return ctl_usage("%s: option %s needs a value", v->name, argv[i]);
        if (!strcmp(s, "dir"))
            a->dir = argv[++i];
        else if (!accepts(v, s) || a->options == CTL_MAX_OPTIONS)
            return ctl_usage("%s: option %s is unknown: %s %s", v->name, argv[i], v->name, v->usage);
        else
            a->option[a->options].name = s, a->option[a->options++].value = argv[++i];
    }
    if (a->words < v->min) return ctl_usage("%s: too few arguments: %s %s", v->name, v->name, v->usage);
    return 0;
}

static int is_help(const char *s) {
    return !strcmp(s, "--help") || !strcmp(s, "-h") || !strcmp(s, "help");
}

int main(int argc, char **argv) {
    struct ctl_args a = {.dir = gs_default_dir()};
    int i = 1;
    const char *name = strrchr(argv[0], '/');
    if (!strcmp(name ? name + 1 : argv[0], "nvidia-smi")) return ctl_smi(argc, argv);
    if (argc > 2 && !strcmp(argv[1], "--dir")) a.dir = argv[2], i = 3;
    if (i >= argc) return help(stderr), CTL_USAGE;
    if (is_help(argv[i])) return help(stdout), CTL_OK;
    const struct ctl_verb *v = find(argv[i]);
    if (!v) return ctl_usage("verb \"%s\" is unknown; see gpusim --help", argv[i]);
    for (int k = i + 1; k < argc && strcmp(argv[k], "--"); k++)
        if (is_help(argv[k])) return printf("gpusim %s %s\n%s\n", v->name, v->usage, v->help), CTL_OK;
    int bad = parse(v, argc - i - 1, argv + i + 1, &a);
    return bad ? bad : v->run(&a);
}
