// SPDX-License-Identifier: Apache-2.0
//
// What a GPU is: names, ids, bus position, architecture.
#include <stdio.h>
#include <string.h>

#include "mig.h"
#include "nvml_session.h"

// out_uint, out_int: the usual way a call returns one number.
static nvmlReturn_t out_uint(unsigned int *out, unsigned int value) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = value;
    return NVML_SUCCESS;
}

static nvmlReturn_t out_int(int *out, int value) {
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    *out = value;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    NVML_DEVICE(nvmlDeviceGetName, device);
    if (!t.gi) return gs_copy_string(name, length, t.model->name);
    const struct gs_profile *p = gs_profile_by_id(t.model, t.gi->profile);
    char profile[GS_NAME_SIZE], text[NVML_NAME_V2_SIZE];
    gs_ci_name(profile, p, t.ci->size);
    snprintf(text, sizeof text, "%s MIG %s", t.model->name, profile);
    return gs_copy_string(name, length, text);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    NVML_DEVICE(nvmlDeviceGetUUID, device);
    return gs_copy_string(uuid, length, t.ci ? t.ci->uuid : t.gpu->spec.uuid);
}

static unsigned mig_index(const struct gs_target *t) {
    struct gs_gpu_instance *gi;
    struct gs_compute_instance *ci;
    unsigned i = 0;
    while (gs_mig_device(t->gpu, i, &gi, &ci) && ci != t->ci) i++;
    return i;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
    NVML_DEVICE(nvmlDeviceGetIndex, device);
    return out_uint(index, t.ci ? mig_index(&t) : t.index);
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, int *brand) {
    NVML_GPU(nvmlDeviceGetBrand, device);
    return out_int(brand, t.model->brand);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length) {
    NVML_GPU(nvmlDeviceGetSerial, device);
    return gs_copy_string(serial, length, t.gpu->spec.serial);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor) {
    NVML_GPU(nvmlDeviceGetMinorNumber, device);
    return out_uint(minor, t.gpu->spec.minor);
}

nvmlReturn_t nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned int *module) {
    NVML_GPU(nvmlDeviceGetModuleId, device);
    if (!t.model->nvlinks) return NVML_ERROR_NOT_SUPPORTED; // only modules on a baseboard have one
    return out_uint(module, t.index + 1);
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *board) {
    NVML_GPU(nvmlDeviceGetBoardId, device);
    return out_uint(board, t.gpu->spec.domain << 16 | t.gpu->spec.bus << 8 | t.gpu->spec.device);
}

nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char *part, unsigned int length) {
    NVML_GPU(nvmlDeviceGetBoardPartNumber, device);
    return gs_copy_string(part, length, t.model->part_number);
}

nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *multi) {
    NVML_GPU(nvmlDeviceGetMultiGpuBoard, device);
    return out_uint(multi, 0);
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length) {
    NVML_GPU(nvmlDeviceGetVbiosVersion, device);
    return gs_copy_string(version, length, "96.00.74.00.0D");
}

nvmlReturn_t nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char *version, unsigned int length) {
    NVML_GPU(nvmlDeviceGetInforomImageVersion, device);
    return gs_copy_string(version, length, "G520.0200.00.05");
}

static nvmlReturn_t pci_info(const struct gs_target *t, nvmlPciInfo_t *pci) {
    const struct gs_gpu_spec *s = &t->gpu->spec;
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = (nvmlPciInfo_t){.domain = s->domain,
                           .bus = s->bus,
                           .device = s->device,
                           .pciDeviceId = t->model->pci_device,
                           .pciSubSystemId = t->model->pci_subsystem};
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", s->domain & 0xffff, s->bus & 0xff,
             s->device & 0x1f);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", s->domain, s->bus, s->device);
    return NVML_SUCCESS;
}

// The first two versions end before busId: writing it would overrun the caller.
static nvmlReturn_t pci_info_legacy(const struct gs_target *t, nvmlPciInfo_t *pci) {
    nvmlPciInfo_t full;
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t r = pci_info(t, &full);
    memcpy(pci, &full, offsetof(nvmlPciInfo_t, busId));
    return r;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    NVML_GPU(nvmlDeviceGetPciInfo, device);
    return pci_info_legacy(&t, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    NVML_GPU(nvmlDeviceGetPciInfo_v2, device);
    return pci_info_legacy(&t, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    NVML_GPU(nvmlDeviceGetPciInfo_v3, device);
    return pci_info(&t, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci) {
    NVML_GPU(nvmlDeviceGetPciInfoExt, device);
    if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != NVML_VERSION_OF(nvmlPciInfoExt_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlPciInfo_t p;
    NVML_TRY(pci_info(&t, &p));
    *pci = (nvmlPciInfoExt_v1_t){.version = pci->version,
                                 .domain = p.domain,
                                 .bus = p.bus,
                                 .device = p.device,
                                 .pciDeviceId = p.pciDeviceId,
                                 .pciSubSystemId = p.pciSubSystemId,
                                 .baseClass = 0x03,
                                 .subClass = 0x02};
    memcpy(pci->busId, p.busId, sizeof pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *arch) {
    NVML_DEVICE(nvmlDeviceGetArchitecture, device);
    return out_uint(arch, t.model->arch);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    NVML_DEVICE(nvmlDeviceGetCudaComputeCapability, device);
    NVML_TRY(out_int(major, t.model->cc_major));
    return out_int(minor, t.model->cc_minor);
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int *cores) {
    NVML_GPU(nvmlDeviceGetNumGpuCores, device);
    return out_uint(cores, t.model->sms * t.model->cores_per_sm);
}

nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode) {
    NVML_GPU(nvmlDeviceGetAddressingMode, device);
    if (!mode) return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != NVML_VERSION_OF(nvmlDeviceAddressingMode_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    mode->value = t.model->arch >= NVML_ARCH_HOPPER ? 1 : 0; // HMM, none
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, int *mode) {
    NVML_GPU(nvmlDeviceGetVirtualizationMode, device);
    return out_int(mode, 0);
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode) {
    NVML_GPU(nvmlDeviceGetPersistenceMode, device);
    return out_int(mode, NVML_ENABLED);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode) {
    NVML_DEVICE(nvmlDeviceGetComputeMode, device);
    return out_int(mode, 0); // default: any number of clients
}

nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, int *active) {
    NVML_GPU(nvmlDeviceGetDisplayActive, device);
    return out_int(active, NVML_DISABLED);
}

nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, int *mode) {
    NVML_GPU(nvmlDeviceGetDisplayMode, device);
    return out_int(mode, NVML_DISABLED);
}
