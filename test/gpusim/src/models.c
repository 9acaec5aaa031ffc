// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <string.h>

#include "nvml_abi.h"

// Sources: NVIDIA MIG user guide, "Supported MIG Profiles", and published
// `nvidia-smi mig -lgip` and `-lgipp` listings. [U] marks what no listing that
// we have read confirms: programs must read such numbers at run time anyway.
// Engine counts (copy, decoder, JPEG, OFA) are [U] except A100's.

enum { P1 = 0, P2 = 1, P3 = 2, P4 = 3, P7 = 4, P1_ME = 7, P1_2X = 9 };

// Starts as bit sets: 1 slice 0..6, 2 slices 0,2,4, doubled memory 0,2,4,6, halves 0,4.
enum { S1 = 0x7f, S2 = 0x15, S2X = 0x55, S4 = 0x11, S0 = 0x01 };

// clang-format off
// Row: enum, driver id, compute, size, max, starts, SMs, MiB, copy, decoder, JPEG, OFA, +me, name.
static const struct gs_profile a30[] = {
    {P1, 14, 1, 1, 4, 0x0f, 14, 5952, 1, 0, 0, 0, false, "1g.6gb"},
    {P1_ME, 21, 1, 1, 1, 0x0f, 14, 5952, 1, 1, 1, 1, true, "1g.6gb+me"},
    {P2, 5, 2, 2, 2, 0x05, 28, 11968, 2, 2, 0, 0, false, "2g.12gb"},
    // The 2-slice +me profile of this model has no published driver id: 6 is [U].
    {8, 6, 2, 2, 1, 0x05, 28, 11968, 2, 2, 1, 1, true, "2g.12gb+me"},
    {P4 /* whole GPU */, 0, 4, 4, 1, S0, 56, 24064, 4, 4, 1, 1, false, "4g.24gb"},
};

static const struct gs_profile a100_40[] = {
    {P1, 19, 1, 1, 7, S1, 14, 4864, 1, 0, 0, 0, false, "1g.5gb"},
    {P1_ME, 20, 1, 1, 1, S1, 14, 4864, 1, 1, 1, 1, true, "1g.5gb+me"},
    {P1_2X, 15, 1, 2, 4, S2X, 14, 9856, 1, 1, 0, 0, false, "1g.10gb"},
    {P2, 14, 2, 2, 3, S2, 28, 9856, 2, 1, 0, 0, false, "2g.10gb"},
    {P3, 9, 3, 4, 2, S4, 42, 19968, 3, 2, 0, 0, false, "3g.20gb"},
    {P4, 5, 4, 4, 1, S0, 56, 19968, 4, 2, 0, 0, false, "4g.20gb"},
    {P7, 0, 7, 8, 1, S0, 98, 40192, 7, 5, 1, 1, false, "7g.40gb"},
};

static const struct gs_profile a100_80[] = {
    {P1, 19, 1, 1, 7, S1, 14, 9728, 1, 0, 0, 0, false, "1g.10gb"},
    {P1_ME, 20, 1, 1, 1, S1, 14, 9728, 1, 1, 1, 1, true, "1g.10gb+me"},
    {P1_2X, 15, 1, 2, 4, S2X, 14, 19968, 1, 1, 0, 0, false, "1g.20gb"},
    {P2, 14, 2, 2, 3, S2, 28, 19968, 2, 1, 0, 0, false, "2g.20gb"},
    {P3, 9, 3, 4, 2, S4, 42, 40192, 3, 2, 0, 0, false, "3g.40gb"},
    {P4, 5, 4, 4, 1, S0, 56, 40192, 4, 2, 0, 0, false, "4g.40gb"},
    {P7, 0, 7, 8, 1, S0, 98, 80896, 7, 5, 1, 1, false, "7g.80gb"},
};

static const struct gs_profile h100_sxm[] = {
    {P1, 19, 1, 1, 7, S1, 16, 9984, 1, 1, 1, 0, false, "1g.10gb"},
    {P1_ME, 20, 1, 1, 1, S1, 16, 9984, 1, 1, 1, 1, true, "1g.10gb+me"},
    {P1_2X, 15, 1, 2, 4, S2X, 26, 20096, 1, 1, 1, 0, false, "1g.20gb"},
    {P2, 14, 2, 2, 3, S2, 32, 20096, 2, 2, 2, 0, false, "2g.20gb"},
    {P3, 9, 3, 4, 2, S4, 60, 40448, 3, 3, 3, 0, false, "3g.40gb"},
    {P4, 5, 4, 4, 1, S0, 64, 40448, 4, 4, 4, 0, false, "4g.40gb"},
    {P7, 0, 7, 8, 1, S0, 132, 81152, 8, 7, 7, 1, false, "7g.80gb"},
};

static const struct gs_profile h100_pcie[] = {
    {P1, 19, 1, 1, 7, S1, 14, 9984, 1, 1, 1, 0, false, "1g.10gb"},
    {P1_ME, 20, 1, 1, 1, S1, 14, 9984, 1, 1, 1, 1, true, "1g.10gb+me"},
    {P1_2X, 15, 1, 2, 4, S2X, 22 /* [U] */, 20096, 1, 1, 1, 0, false, "1g.20gb"},
    {P2, 14, 2, 2, 3, S2, 30, 20096, 2, 2, 2, 0, false, "2g.20gb"},
    {P3, 9, 3, 4, 2, S4, 46, 40448, 3, 3, 3, 0, false, "3g.40gb"},
    {P4, 5, 4, 4, 1, S0, 62, 40448, 4, 4, 4, 0, false, "4g.40gb"},
    {P7, 0, 7, 8, 1, S0, 114, 81152, 8, 7, 7, 1, false, "7g.80gb"},
};

// Memory sizes are [U]: close to, and rounded by the tools to, the profile's name.
static const struct gs_profile h200[] = {
    {P1, 19, 1, 1, 7, S1, 16, 17920, 1, 1, 1, 0, false, "1g.18gb"},
    {P1_ME, 20, 1, 1, 1, S1, 16, 17920, 1, 1, 1, 1, true, "1g.18gb+me"},
    {P1_2X, 15 /* [U] */, 1, 2, 4, S2X, 26, 35840, 1, 1, 1, 0, false, "1g.35gb"},
    {P2, 14, 2, 2, 3, S2, 32, 35840, 2, 2, 2, 0, false, "2g.35gb"},
    {P3, 9 /* [U] */, 3, 4, 2, S4, 60, 71680, 3, 3, 3, 0, false, "3g.71gb"},
    {P4, 5 /* [U] */, 4, 4, 1, S0, 64 /* [U] */, 71680, 4, 4, 4, 0, false, "4g.71gb"},
    {P7, 0, 7, 8, 1, S0, 132 /* [U] */, 143360, 8, 7, 7, 1, false, "7g.141gb"},
};

// All driver ids, memory sizes and SM counts but 1g's 18 are [U].
static const struct gs_profile b200[] = {
    {P1, 19, 1, 1, 7, S1, 18, 22784, 1, 1, 1, 0, false, "1g.23gb"},
    {P1_ME, 20, 1, 1, 1, S1, 18, 22784, 1, 1, 1, 1, true, "1g.23gb+me"},
    {P1_2X, 15, 1, 2, 4, S2X, 30, 45824, 1, 1, 1, 0, false, "1g.45gb"},
    {P2, 14, 2, 2, 3, S2, 36, 45824, 2, 2, 2, 0, false, "2g.45gb"},
    {P3, 9, 3, 4, 2, S4, 70, 91648, 3, 3, 3, 0, false, "3g.90gb"},
    {P4, 5, 4, 4, 1, S0, 72, 91648, 4, 4, 4, 0, false, "4g.90gb"},
    {P7, 0, 7, 8, 1, S0, 148, 183296, 8, 7, 7, 1, false, "7g.180gb"},
};

// clang-format on

#define ROWS(table) table, sizeof(table) / sizeof((table)[0])

static const struct gs_model models[] = {
    {"T4",
     "Tesla T4",
     NVML_BRAND_TESLA,
     NVML_ARCH_TURING,
     7,
     5,
     15360,
     450,
     256,
     0x1EB810DE,
     0x12A210DE,
     40,
     64,
     70,
     1590,
     5001,
     0,
     0,
     0,
     0,
     "900-2G183-0000-001",
     0,
     0},
    {"L40S",
     "NVIDIA L40S",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_ADA,
     8,
     9,
     46068,
     600,
     65536,
     0x26B910DE,
     0x185110DE,
     142,
     128,
     350,
     2520,
     9001,
     0,
     0,
     0,
     0,
     "900-2G133-0080-000",
     0,
     0},
    {"A30-24",
     "NVIDIA A30",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_AMPERE,
     8,
     0,
     24576,
     512,
     32768,
     0x20B710DE,
     0x153210DE,
     56,
     64,
     165,
     1440,
     1215,
     4,
     4,
     4,
     14,
     "900-21001-0040-100",
     ROWS(a30)},
    {"A100-40",
     "NVIDIA A100-SXM4-40GB",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_AMPERE,
     8,
     0,
     40960,
     620,
     65536,
     0x20B010DE,
     0x144E10DE,
     108,
     64,
     400,
     1410,
     1215,
     12,
     7,
     8,
     14,
     "692-2G506-0200-002",
     ROWS(a100_40)},
    {"A100-80",
     "NVIDIA A100-SXM4-80GB",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_AMPERE,
     8,
     0,
     81920,
     700,
     131072,
     0x20B210DE,
     0x146310DE,
     108,
     64,
     400,
     1410,
     1593,
     12,
     7,
     8,
     14,
     "692-2G506-0210-002",
     ROWS(a100_80)},
    {"H100-80",
     "NVIDIA H100 80GB HBM3",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_HOPPER,
     9,
     0,
     81559,
     551,
     131072,
     0x233010DE,
     0x16C110DE,
     132,
     128,
     700,
     1980,
     2619,
     18,
     7,
     8,
     16,
     "692-2G520-0200-000",
     ROWS(h100_sxm)},
    {"H100-PCIE",
     "NVIDIA H100 PCIe",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_HOPPER,
     9,
     0,
     81559,
     551,
     131072,
     0x233110DE,
     0x162610DE,
     114,
     128,
     350,
     1755,
     1593,
     0,
     7,
     8,
     14,
     "900-21010-0000-000",
     ROWS(h100_pcie)},
    {"H200-141",
     "NVIDIA H200",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_HOPPER,
     9,
     0,
     143771,
     551,
     262144,
     0x233510DE,
     0x18BE10DE,
     132,
     128,
     700,
     1980,
     3201,
     18,
     7,
     8,
     16,
     "699-2G520-0280-000",
     ROWS(h200)},
    {"B200-180",
     "NVIDIA B200",
     NVML_BRAND_NVIDIA,
     NVML_ARCH_BLACKWELL,
     10,
     0,
     183359,
     600,
     262144,
     0x290110DE,
     0x199910DE,
     148,
     128,
     1000,
     1965,
     3996,
     18,
     7,
     8,
     18,
     "692-2G525-0220-000",
     ROWS(b200)},
};

const struct gs_model *gs_model_at(int index) {
    return index >= 0 && index < (int)(sizeof(models) / sizeof(models[0])) ? &models[index] : NULL;
}

const struct gs_model *gs_model_find(const char *key) {
    for (int i = 0; gs_model_at(i); i++)
        if (!strcmp(models[i].key, key)) return &models[i];
    return NULL;
}

const struct gs_profile *gs_profile_by_enum(const struct gs_model *m, unsigned nvml_enum) {
    for (int i = 0; i < m->profile_count; i++)
        if (m->profiles[i].nvml_enum == nvml_enum) return &m->profiles[i];
    return NULL;
}

const struct gs_profile *gs_profile_by_id(const struct gs_model *m, unsigned driver_id) {
    for (int i = 0; i < m->profile_count; i++)
        if (m->profiles[i].driver_id == driver_id) return &m->profiles[i];
    return NULL;
}
