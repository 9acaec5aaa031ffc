// SPDX-License-Identifier: Apache-2.0
//
// Which devices this process sees, and what they are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caps.h"
#include "cu.h"
#include "mig.h"

// node is the path of a device node: in /dev, or below $GPUSIM_DEV for tests.
static const char *node(char path[PATH_MAX], const char *format, uint32_t number) {
    const char *dev = getenv("GPUSIM_DEV");
    int n = snprintf(path, PATH_MAX / 2, "%s/", dev && *dev ? dev : "/dev");
    snprintf(path + n, PATH_MAX / 2, format, number);
    return path;
}

// in_container: where there is a control node, a process sees what it has the
// nodes of. Where there are no nodes at all it sees everything.
static bool in_container(void) {
    char path[PATH_MAX];
    return !access(node(path, "nvidiactl", 0), F_OK);
}

static bool node_visible(uint32_t minor) {
    char path[PATH_MAX];
    return !in_container() || !access(node(path, "nvidia%u", minor), R_OK | W_OK);
}

static bool instance_visible(const struct gs_gpu *g, const struct gs_gpu_instance *gi,
                             const struct gs_compute_instance *ci) {
    char path[PATH_MAX];
    if (!in_container()) return true;
    uint32_t whole = gs_caps_minor(g->spec.minor, gi->id, GS_NONE), part = gs_caps_minor(g->spec.minor, gi->id, ci->id);
    if (access(node(path, "nvidia-caps/nvidia-cap%u", whole), R_OK)) return false;
    return !access(node(path, "nvidia-caps/nvidia-cap%u", part), R_OK);
}

static void add_device(uint32_t gpu, struct gs_gpu_instance *gi, struct gs_compute_instance *ci) {
    struct gs_gpu *g = &cu.m.s->gpu[gpu];
    struct cu_device *d = &cu.device[cu.devices++];
    *d = (struct cu_device){.gpu = gpu, .gi = GS_NONE, .ci = GS_NONE};
    if (ci) d->gi = gi->id, d->ci = ci->id, d->place = (uint32_t)(gi - g->v.gi) + 1;
    memcpy(d->uuid, ci ? ci->uuid : g->spec.uuid, sizeof d->uuid);
}

// CUDA sees of a GPU in MIG mode one instance only.
static void add_gpu(uint32_t gpu) {
    struct gs_gpu *g = &cu.m.s->gpu[gpu];
    struct gs_gpu_instance *gi;
    struct gs_compute_instance *ci;
    if (g->v.lost || !node_visible(g->spec.minor) || cu.devices == GS_MAX_GPUS) return;
    if (!g->v.mig_mode) return add_device(gpu, NULL, NULL);
    for (unsigned k = 0; gs_mig_device(g, k, &gi, &ci); k++)
        if (instance_visible(g, gi, ci)) return add_device(gpu, gi, ci);
}

// add_named takes one item of CUDA_VISIBLE_DEVICES; false ends the list.
static bool add_named(const char *item, const uint32_t *visible, int count) {
    char *end;
    long n = strtol(item, &end, 10);
    if (*item && !*end) {
        if (n < 0 || n >= count) return false;
        return add_gpu(visible[n]), true;
    }
    for (int i = 0; i < count; i++) {
        struct gs_gpu *g = &cu.m.s->gpu[visible[i]];
        struct gs_gpu_instance *gi;
        struct gs_compute_instance *ci;
        if (!strncasecmp(g->spec.uuid, item, strlen(item)) && strlen(item) > 4) return add_gpu(visible[i]), true;
        for (unsigned k = 0; g->v.mig_mode && gs_mig_device(g, k, &gi, &ci); k++)
            if (!strcasecmp(ci->uuid, item) && instance_visible(g, gi, ci)) return add_device(visible[i], gi, ci), true;
    }
    return false;
}

CUresult cu_find_devices(void) {
    const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
    uint32_t visible[GS_MAX_GPUS];
    int count = 0;
    cu.devices = 0;
    for (uint32_t i = 0; i < cu.m.s->machine.gpu_count; i++)
        if (!cu.m.s->gpu[i].v.lost && node_visible(cu.m.s->gpu[i].spec.minor)) visible[count++] = i;
    if (!wanted) {
        for (int i = 0; i < count; i++) add_gpu(visible[i]);
    } else {
        char list[4096], *save = NULL;
        snprintf(list, sizeof list, "%s", wanted);
        for (char *item = strtok_r(list, ", ", &save); item; item = strtok_r(NULL, ", ", &save))
            if (cu.devices == GS_MAX_GPUS || !add_named(item, visible, count)) break;
    }
    return cu.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

struct cu_device *cu_device_at(CUdevice dev) {
    return dev >= 0 && dev < cu.devices ? &cu.device[dev] : NULL;
}

struct gs_gpu *cu_gpu(const struct cu_device *d) {
    return &cu.m.s->gpu[d->gpu];
}

const struct gs_model *cu_model(const struct cu_device *d) {
    return gs_model_find(cu_gpu(d)->spec.model);
}

uint64_t cu_room(const struct cu_device *d) {
    return gs_process_room(cu_gpu(d), d->gi, d->ci);
}

#define CU_DEVICE(dev)                      \
    CU_CALL();                              \
    struct cu_device *d = cu_device_at(dev); \
    if (!d) return CUDA_ERROR_INVALID_DEVICE

CUresult cuDeviceGetCount(int *count) {
    CU_CALL();
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = cu.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    CU_DEVICE(ordinal);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev) {
    CU_DEVICE(dev);
    if (!name || len <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s%s", cu_model(d)->name, d->ci == GS_NONE ? "" : " MIG");
    return CUDA_SUCCESS;
}

static void uuid_bytes(const char *text, CUuuid *uuid) {
    unsigned byte;
    memset(uuid, 0, sizeof *uuid);
    text = strchr(text, '-') ? strchr(text, '-') + 1 : text;
    for (int i = 0; i < 16; text += 2) {
        if (*text == '-') text++;
        if (sscanf(text, "%2x", &byte) != 1) return;
        uuid->bytes[i++] = (char)byte;
    }
}

// Version 1 names the GPU, version 2 the MIG instance where there is one.
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    CU_DEVICE(dev);
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    uuid_bytes(cu_gpu(d)->spec.uuid, uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    CU_DEVICE(dev);
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    uuid_bytes(d->uuid, uuid);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetLuid(char *luid, unsigned int *mask, CUdevice dev) {
    (void)luid, (void)mask, (void)dev;
    return CUDA_ERROR_NOT_SUPPORTED; // Windows only
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    CU_DEVICE(dev);
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = cu_room(d);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev) {
    size_t all = 0;
    CU_TRY(cuDeviceTotalMem_v2(&all, dev));
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = all > UINT32_MAX ? UINT32_MAX : (unsigned)all;
    return CUDA_SUCCESS;
}

static int sm_count(const struct cu_device *d) {
    if (d->gi == GS_NONE) return cu_model(d)->sms;
    struct gs_gpu_instance *gi = gs_gi_find(cu_gpu(d), d->gi);
    const struct gs_profile *p = gi ? gs_profile_by_id(cu_model(d), gi->profile) : NULL;
    return p ? p->sms : 0;
}

static const struct {
    int attribute, value;
} fixed[] = {
    {1, 1024},  {2, 1024},   {3, 1024}, {4, 64},   {5, 2147483647}, {6, 65535},  {7, 65535},    {8, 49152},
    {9, 65536}, {10, 32},    {11, 2147483647}, {12, 65536}, {14, 512}, {15, 1}, {17, 0},       {18, 0},
    {19, 1},    {20, 0},     {31, 1},   {32, 1},   {35, 0},         {37, 5120},  {39, 2048},    {40, 5},
    {41, 1},    {78, 1},     {79, 1},   {80, 1},   {81, 233472},    {82, 65536}, {83, 1},       {84, 0},
    {85, 0},    {86, 0},     {88, 1},   {89, 1},   {90, 1},         {91, 0},     {92, 1},       {93, 1},
    {94, 1},    {95, 1},     {96, 1},   {97, 232448}, {98, 1},      {99, 1},     {100, 0},      {101, 1},
    {102, 1},   {103, 1},    {106, 32}, {110, 0},  {111, 1024},     {115, 1},    {116, 1},      {117, 1},
    {119, 1},   {120, 1},    {121, 1},  {122, 1},  {123, 0},        {124, 0},    {131, 0},      {132, 1},
};

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice dev) {
    enum { CLOCK = 13, SMS = 16, PCI_BUS = 33, PCI_DEVICE, MEM_CLOCK = 36, L2 = 38, PCI_DOMAIN = 50 };
    enum { MAJOR = 75, MINOR = 76 };
    CU_DEVICE(dev);
    const struct gs_gpu_spec *spec = &cu_gpu(d)->spec;
    if (!value || attribute < 1 || attribute > 160) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i].attribute == attribute) *value = fixed[i].value;
    switch (attribute) {
    case CLOCK: *value = cu_model(d)->clock_mhz * 1000; break;
    case MEM_CLOCK: *value = cu_model(d)->memory_clock_mhz * 1000; break;
    case SMS: *value = sm_count(d); break;
    case PCI_BUS: *value = (int)spec->bus; break;
    case PCI_DEVICE: *value = (int)spec->device; break;
    case PCI_DOMAIN: *value = (int)spec->domain; break;
    case L2: *value = 50 << 20; break;
    case MAJOR: *value = cu_model(d)->cc_major; break;
    case MINOR: *value = cu_model(d)->cc_minor; break;
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev) {
    CU_DEVICE(dev);
    if (!prop) return CUDA_ERROR_INVALID_VALUE;
    *prop = (CUdevprop){.maxThreadsPerBlock = 1024, .maxThreadsDim = {1024, 1024, 64},
                        .maxGridSize = {2147483647, 65535, 65535}, .sharedMemPerBlock = 49152,
                        .totalConstantMemory = 65536, .SIMDWidth = 32, .memPitch = 2147483647,
                        .regsPerBlock = 65536, .clockRate = cu_model(d)->clock_mhz * 1000, .textureAlign = 512};
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
    CU_DEVICE(dev);
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = cu_model(d)->cc_major, *minor = cu_model(d)->cc_minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev) {
    CU_DEVICE(dev);
    if (!id || len < 13) return CUDA_ERROR_INVALID_VALUE;
    const struct gs_gpu_spec *s = &cu_gpu(d)->spec;
    snprintf(id, (size_t)len, "%04X:%02X:%02X.0", s->domain, s->bus, s->device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id) {
    CU_CALL();
    unsigned domain = 0, bus, device;
    if (!dev || !id) return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3 && (domain = 0, sscanf(id, "%x:%x", &bus, &device)) != 2)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < cu.devices; i++) {
        const struct gs_gpu_spec *s = &cu_gpu(&cu.device[i])->spec;
        if (s->domain == domain && s->bus == bus && s->device == device) return *dev = i, CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer) {
    CU_DEVICE(dev);
    struct cu_device *p = cu_device_at(peer);
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (!p) return CUDA_ERROR_INVALID_DEVICE;
    *can = dev != peer && d->gi == GS_NONE && p->gi == GS_NONE && cu_model(d)->nvlinks && cu_model(p)->nvlinks;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice src, CUdevice dst) {
    int can = 0;
    if (!value || attribute < 1 || attribute > 5 || src == dst) return CUDA_ERROR_INVALID_VALUE;
    CU_TRY(cuDeviceCanAccessPeer(&can, src, dst));
    *value = attribute == 1 ? 0 : can;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int *pi, int type, CUdevice dev) {
    CU_DEVICE(dev);
    if (!pi || type) return CUDA_ERROR_INVALID_VALUE;
    *pi = 0; // only under MPS
    return CUDA_SUCCESS;
}
