// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"regexp"
	"strconv"
	"testing"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestABI holds every size that src/nvml_abi.h asserts to go-nvml's own types,
// which cgo made from NVIDIA's header.
func TestABI(t *testing.T) {
	sizes := map[string]uintptr{
		"nvmlPciInfo_t":                       unsafe.Sizeof(nvml.PciInfo{}),
		"nvmlPciInfoExt_v1_t":                 unsafe.Sizeof(nvml.PciInfoExt_v1{}),
		"nvmlUUID_v1_t":                       unsafe.Sizeof(nvml.UUID_v1{}),
		"nvmlMemory_v2_t":                     unsafe.Sizeof(nvml.Memory_v2{}),
		"nvmlProcessInfo_v1_t":                unsafe.Sizeof(nvml.ProcessInfo_v1{}),
		"nvmlProcessInfo_t":                   unsafe.Sizeof(nvml.ProcessInfo{}),
		"nvmlProcessUtilizationSample_t":      unsafe.Sizeof(nvml.ProcessUtilizationSample{}),
		"nvmlDeviceAttributes_t":              unsafe.Sizeof(nvml.DeviceAttributes{}),
		"nvmlFieldValue_t":                    unsafe.Sizeof(nvml.FieldValue{}),
		"nvmlEventData_t":                     unsafe.Sizeof(eventData{}),
		"nvmlGpuInstanceProfileInfo_t":        unsafe.Sizeof(nvml.GpuInstanceProfileInfo{}),
		"nvmlGpuInstanceProfileInfo_v2_t":     unsafe.Sizeof(nvml.GpuInstanceProfileInfo_v2{}),
		"nvmlGpuInstanceProfileInfo_v3_t":     unsafe.Sizeof(nvml.GpuInstanceProfileInfo_v3{}),
		"nvmlGpuInstanceInfo_t":               unsafe.Sizeof(gpuInstanceInfo{}),
		"nvmlComputeInstanceProfileInfo_t":    unsafe.Sizeof(nvml.ComputeInstanceProfileInfo{}),
		"nvmlComputeInstanceProfileInfo_v2_t": unsafe.Sizeof(nvml.ComputeInstanceProfileInfo_v2{}),
		"nvmlComputeInstanceProfileInfo_v3_t": unsafe.Sizeof(nvml.ComputeInstanceProfileInfo_v3{}),
		"nvmlComputeInstanceInfo_t":           unsafe.Sizeof(computeInstanceInfo{}),
		"nvmlGpuFabricInfo_t":                 unsafe.Sizeof(nvml.GpuFabricInfo{}),
		"nvmlGpuFabricInfo_v2_t":              unsafe.Sizeof(nvml.GpuFabricInfo_v2{}),
		"nvmlGpuFabricInfo_v3_t":              unsafe.Sizeof(nvml.GpuFabricInfo_v3{}),
	}
	header, err := sources.ReadFile("src/nvml_abi.h")
	if err != nil {
		t.Fatal(err)
	}
	asserted := regexp.MustCompile(`(?m)^ASSERT_SIZE\((\w+), (\d+)\);`).FindAllStringSubmatch(string(header), -1)
	if len(asserted) != len(sizes) {
		t.Errorf("nvml_abi.h asserts %d sizes, this test knows %d", len(asserted), len(sizes))
	}
	for _, a := range asserted {
		if n, _ := strconv.Atoi(a[2]); uintptr(n) != sizes[a[1]] {
			t.Errorf("%s has %d bytes here and %d in go-nvml", a[1], n, sizes[a[1]])
		}
	}
}

// go-nvml does not export the wire form of these three, which hold handles.
type (
	eventData struct {
		Device                           uintptr
		EventType, EventData             uint64
		GpuInstanceID, ComputeInstanceID uint32
	}
	gpuInstanceInfo struct {
		Device        uintptr
		ID, ProfileID uint32
		Placement     nvml.GpuInstancePlacement
	}
	computeInstanceInfo struct {
		Device, GpuInstance uintptr
		ID, ProfileID       uint32
		Placement           nvml.ComputeInstancePlacement
	}
)
