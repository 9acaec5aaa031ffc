// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestHandles: every way to a GPU leads to the same handle, and nothing else does.
func TestHandles(t *testing.T) {
	m, lib := open(t, Mixed)
	n, r := lib.DeviceGetCount()
	must(t, "DeviceGetCount", r)
	if n != 6 {
		t.Fatalf("%d GPUs, want 6", n)
	}
	for i, g := range m.state(t).GPUs {
		want := deviceAt(t, lib, i)
		byUUID, r := lib.DeviceGetHandleByUUID(g.UUID)
		must(t, "by UUID", r)
		bySerial, r := lib.DeviceGetHandleBySerial(g.Serial)
		must(t, "by serial", r)
		byBus, r := lib.DeviceGetHandleByPciBusId("0000" + strings.ToUpper(g.PCIBusID))
		must(t, "by long bus id", r)
		byShort, r := lib.DeviceGetHandleByPciBusId(g.PCIBusID)
		must(t, "by short bus id", r)
		for _, got := range []nvml.Device{byUUID, bySerial, byBus, byShort} {
			if got != want {
				t.Errorf("GPU %d has two handles", i)
			}
		}
		index, r := byUUID.GetIndex()
		must(t, "GetIndex", r)
		minor, r := byUUID.GetMinorNumber()
		must(t, "GetMinorNumber", r)
		if index != i || minor != i {
			t.Errorf("GPU %d says index %d, minor %d", i, index, minor)
		}
	}
	_, r = lib.DeviceGetHandleByIndex(6)
	expect(t, "index 6", r, nvml.ERROR_INVALID_ARGUMENT)
	_, r = lib.DeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000")
	expect(t, "unknown UUID", r, nvml.ERROR_NOT_FOUND)
	_, r = lib.DeviceGetHandleByPciBusId("0000:ff:00.0")
	expect(t, "unknown bus", r, nvml.ERROR_NOT_FOUND)
	_, r = lib.DeviceGetHandleByPciBusId("nonsense")
	expect(t, "no bus id", r, nvml.ERROR_INVALID_ARGUMENT)
	_, r = lib.DeviceGetHandleBySerial("1")
	expect(t, "unknown serial", r, nvml.ERROR_NOT_FOUND)
}

func TestIdentity(t *testing.T) {
	_, lib := open(t, Mixed+"\n[gpu]\nmodel = T4\n[gpu]\nmodel = L40S\n[gpu]\nmodel = H100-PCIE\n")
	for i, want := range []struct {
		name         string
		arch         nvml.DeviceArchitecture
		major, minor int
		memoryMiB    uint64
		mig          bool
	}{
		{"NVIDIA A30", nvml.DEVICE_ARCH_AMPERE, 8, 0, 24576, true},
		{"NVIDIA A100-SXM4-40GB", nvml.DEVICE_ARCH_AMPERE, 8, 0, 40960, true},
		{"NVIDIA A100-SXM4-80GB", nvml.DEVICE_ARCH_AMPERE, 8, 0, 81920, true},
		{"NVIDIA H100 80GB HBM3", nvml.DEVICE_ARCH_HOPPER, 9, 0, 81559, true},
		{"NVIDIA H200", nvml.DEVICE_ARCH_HOPPER, 9, 0, 143771, true},
		{"NVIDIA B200", nvml.DEVICE_ARCH_BLACKWELL, 10, 0, 183359, true},
		{"Tesla T4", nvml.DEVICE_ARCH_TURING, 7, 5, 15360, false},
		{"NVIDIA L40S", nvml.DEVICE_ARCH_ADA, 8, 9, 46068, false},
		{"NVIDIA H100 PCIe", nvml.DEVICE_ARCH_HOPPER, 9, 0, 81559, true},
	} {
		d := deviceAt(t, lib, i)
		name, _ := d.GetName()
		arch, _ := d.GetArchitecture()
		major, minor, _ := d.GetCudaComputeCapability()
		memory, r := d.GetMemoryInfo()
		must(t, "GetMemoryInfo", r)
		if name != want.name || arch != want.arch || major != want.major || minor != want.minor || memory.Total>>20 != want.memoryMiB {
			t.Errorf("GPU %d is %q, %v, %d.%d, %d MiB; want %+v", i, name, arch, major, minor, memory.Total>>20, want)
		}
		_, _, r = d.GetMigMode()
		if (r == nvml.SUCCESS) != want.mig || (!want.mig && r != nvml.ERROR_NOT_SUPPORTED) {
			t.Errorf("%s: GetMigMode answers %v", name, r)
		}
	}
}

// TestPCIAndNUMA: bus ids in both widths, and the node that a GPU is near is
// its memory affinity; the node that a GPU is exists on no such board.
func TestPCIAndNUMA(t *testing.T) {
	_, lib := open(t, "[gpu]\nmodel = H200-141\ncount = 2\nnuma-node = 1, none\npci-bus-id = 0000:c1:00.0, 0001:1b:00.0\n")
	d := deviceAt(t, lib, 0)
	pci, r := d.GetPciInfo()
	must(t, "GetPciInfo", r)
	if got := cString(pci.BusId[:]); got != "00000000:C1:00.0" {
		t.Errorf("bus id %q", got)
	}
	if got := cString(pci.BusIdLegacy[:]); got != "0000:C1:00.0" || pci.Bus != 0xc1 || pci.PciDeviceId>>16 != 0x2335 {
		t.Errorf("legacy bus id %q, %+v", got, pci)
	}
	nodes, r := d.GetMemoryAffinity(64, nvml.AFFINITY_SCOPE_NODE)
	must(t, "GetMemoryAffinity", r)
	if nodes[0] != 1<<1 {
		t.Errorf("near NUMA nodes %b, want node 1", nodes[0])
	}
	_, r = d.GetNumaNodeId()
	expect(t, "GetNumaNodeId", r, nvml.ERROR_NOT_SUPPORTED)
	_, r = deviceAt(t, lib, 1).GetMemoryAffinity(64, nvml.AFFINITY_SCOPE_NODE)
	expect(t, "affinity where the platform reports none", r, nvml.ERROR_NOT_SUPPORTED)
	level, r := d.GetTopologyCommonAncestor(deviceAt(t, lib, 1))
	must(t, "GetTopologyCommonAncestor", r)
	if level != nvml.TOPOLOGY_SYSTEM {
		t.Errorf("GPUs of different nodes meet at %v", level)
	}
}

func cString(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// TestExportsExist: every exported name is one that NVML's header declares, so
// that no test passes on a call that real drivers lack.
func TestExportsExist(t *testing.T) {
	m := New(t, NoMIG)
	header := nvmlHeader(t)
	for _, call := range strings.Fields(m.Ctl("calls")) {
		if !strings.Contains(header, call+"(") {
			t.Errorf("nvml.h declares no %s", call)
		}
	}
}
