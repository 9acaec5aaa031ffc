// SPDX-License-Identifier: Apache-2.0
//
// How GPUs are connected: PCIe distance, peer access, NUMA, NVLink, fabric.
#include <stdio.h>
#include <string.h>

#include "nvml_session.h"
#include "sysfs.h"

enum { INTERNAL = 0, HOSTBRIDGE = 30, NODE = 40, SYSTEM = 50 };
enum { P2P_OK = 0, P2P_CHIPSET_NOT_SUPPORTED = 1, P2P_NOT_SUPPORTED = 5 };

// level_of: GPUs of one NUMA node meet there; others only across sockets.
static int level_of(const struct gs_target *a, const struct gs_target *b) {
    if (a->index == b->index) return INTERNAL;
    return a->gpu->spec.numa_node == b->gpu->spec.numa_node ? NODE : SYSTEM;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, int *level) {
    NVML_GPU(nvmlDeviceGetTopologyCommonAncestor, a);
    struct gs_target u;
    if (!level) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_gpu(&call, b, &u));
    *level = level_of(&t, &u);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, int level, unsigned int *count,
                                              nvmlDevice_t *devices) {
    NVML_GPU(nvmlDeviceGetTopologyNearestGpus, device);
    unsigned n = 0;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < call.s->machine.gpu_count; i++) {
        struct gs_target u = {.index = i, .gpu = &call.s->gpu[i]};
        if (i == t.index || u.gpu->v.lost || level_of(&t, &u) != level) continue;
        if (devices && n < *count) devices[n] = gs_gpu_handle(i);
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

// MIG mode turns peer access off.
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int index, int *status) {
    NVML_GPU(nvmlDeviceGetP2PStatus, a);
    struct gs_target u;
    if (!status || index < 0 || index > 4) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_gpu(&call, b, &u));
    bool linked = t.model->nvlinks && u.model->nvlinks;
    *status = linked || index != 2 ? P2P_OK : P2P_NOT_SUPPORTED; // 2: NVLink
    if (t.gpu->v.mig_mode || u.gpu->v.mig_mode) *status = P2P_CHIPSET_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int *same) {
    NVML_GPU(nvmlDeviceOnSameBoard, a);
    struct gs_target u;
    if (!same) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(gs_resolve_gpu(&call, b, &u));
    *same = t.index == u.index;
    return NVML_SUCCESS;
}

// Only platforms whose GPU memory is itself a NUMA node (Grace) answer this;
// PCIe and SXM boards do not. The node a GPU is near is its memory affinity.
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int *node) {
    NVML_GPU(nvmlDeviceGetNumaNodeId, device);
    return node ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

enum { WORD_BITS = 8 * sizeof(unsigned long) };

static nvmlReturn_t clear_words(unsigned int words, unsigned long *out, unsigned int scope) {
    if (!words || !out || scope > 1) return NVML_ERROR_INVALID_ARGUMENT;
    memset(out, 0, words * sizeof *out);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long *nodes,
                                         unsigned int scope) {
    NVML_GPU(nvmlDeviceGetMemoryAffinity, device);
    uint32_t node = t.gpu->spec.numa_node;
    NVML_TRY(clear_words(words, nodes, scope));
    if (node == GS_NONE) return NVML_ERROR_NOT_SUPPORTED;
    if (node < words * WORD_BITS) nodes[node / WORD_BITS] |= 1ul << node % WORD_BITS;
    return NVML_SUCCESS;
}

static nvmlReturn_t cpus_near(const struct gs_target *t, unsigned int words, unsigned long *cpus, unsigned scope) {
    NVML_TRY(clear_words(words, cpus, scope));
    for (unsigned cpu = 0; cpu < words * WORD_BITS; cpu++)
        if (gs_cpu_near(cpu, t->gpu->spec.numa_node)) cpus[cpu / WORD_BITS] |= 1ul << cpu % WORD_BITS;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *cpus) {
    NVML_GPU(nvmlDeviceGetCpuAffinity, device);
    return cpus_near(&t, words, cpus, 0);
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long *cpus,
                                                 unsigned int scope) {
    NVML_GPU(nvmlDeviceGetCpuAffinityWithinScope, device);
    return cpus_near(&t, words, cpus, scope);
}

// Every link of an SXM board goes to a switch.
static nvmlReturn_t link_of(const struct gs_target *t, unsigned int link) {
    if (link >= 36) return NVML_ERROR_INVALID_ARGUMENT;
    return link < t->model->nvlinks ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, int *active) {
    NVML_GPU(nvmlDeviceGetNvLinkState, device);
    if (!active) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(link_of(&t, link));
    *active = !t.gpu->v.mig_mode;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version) {
    NVML_GPU(nvmlDeviceGetNvLinkVersion, device);
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(link_of(&t, link));
    *version = t.model->arch == NVML_ARCH_AMPERE ? 5 : t.model->arch == NVML_ARCH_HOPPER ? 6 : 7;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, int *type) {
    NVML_GPU(nvmlDeviceGetNvLinkRemoteDeviceType, device);
    if (!type) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(link_of(&t, link));
    *type = 2; // switch
    return NVML_SUCCESS;
}

static nvmlReturn_t remote_pci(const struct gs_target *t, unsigned int link, nvmlPciInfo_t *pci, size_t size) {
    nvmlPciInfo_t p = {.bus = 0xc5, .device = link % 4, .pciDeviceId = 0x22A310DE};
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    NVML_TRY(link_of(t, link));
    snprintf(p.busIdLegacy, sizeof p.busIdLegacy, "0000:C5:%02X.0", p.device & 0x1f);
    snprintf(p.busId, sizeof p.busId, "00000000:C5:%02X.0", p.device & 0x1f);
    memcpy(pci, &p, size);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci) {
    NVML_GPU(nvmlDeviceGetNvLinkRemotePciInfo, device);
    return remote_pci(&t, link, pci, offsetof(nvmlPciInfo_t, busId));
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci) {
    NVML_GPU(nvmlDeviceGetNvLinkRemotePciInfo_v2, device);
    return remote_pci(&t, link, pci, sizeof *pci);
}

// A single HGX board: Hopper and later know a fabric, but no cluster is formed.
static nvmlReturn_t fabric_of(const struct gs_target *t, nvmlGpuFabricInfo_t *info) {
    if (!t->model->nvlinks || t->model->arch < NVML_ARCH_HOPPER) return NVML_ERROR_NOT_SUPPORTED;
    *info = (nvmlGpuFabricInfo_t){.status = NVML_SUCCESS, .state = 3}; // completed, cluster uuid all zero
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
    NVML_GPU(nvmlDeviceGetGpuFabricInfo, device);
    return info ? fabric_of(&t, info) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info) {
    NVML_GPU(nvmlDeviceGetGpuFabricInfoV, device);
    nvmlGpuFabricInfo_t base;
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    bool v3 = info->version == NVML_VERSION_OF(nvmlGpuFabricInfo_v3_t, 3);
    if (!v3 && info->version != NVML_VERSION_OF(nvmlGpuFabricInfo_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NVML_TRY(fabric_of(&t, &base));
    nvmlGpuFabricInfo_v3_t full = {
        .version = info->version, .status = base.status, .state = base.state, .healthSummary = 1};
    memcpy(info, &full, v3 ? sizeof full : sizeof(nvmlGpuFabricInfo_v2_t));
    return NVML_SUCCESS;
}
