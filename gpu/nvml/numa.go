// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// numaNode finds the host NUMA node that a GPU is attached to: from the kernel,
// else from the driver's memory affinity if that names exactly one node, else
// gpu.NUMAUnknown. nvmlDeviceGetNumaNodeId is not asked: it names the node that
// the GPU's own memory forms on coherent platforms, which has no CPUs.
func (d *Driver) numaNode(dev gonvml.Device, busID string) int {
	if node, ok := sysfsNUMANode(d.sysfs, busID); ok {
		return node
	}
	if !d.has("nvmlDeviceGetMemoryAffinity") {
		return gpu.NUMAUnknown
	}
	words, ret := dev.GetMemoryAffinity(64, gonvml.AFFINITY_SCOPE_NODE)
	if ret != gonvml.SUCCESS {
		return gpu.NUMAUnknown
	}
	return onlyBit(words)
}

// sysfsNUMANode reads the kernel's view; false when it has none.
func sysfsNUMANode(sysfs, busID string) (int, bool) {
	data, err := os.ReadFile(filepath.Join(sysfs, "bus/pci/devices", kernelBusID(busID), "numa_node"))
	if err != nil {
		return 0, false
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return node, err == nil && node >= 0
}

// kernelBusID turns the driver's bus ID (00000000:3B:00.0) into the kernel's
// (0000:3b:00.0): lower case, and a domain of four digits unless it needs more.
func kernelBusID(busID string) string {
	id := strings.ToLower(busID)
	if domain, rest, ok := strings.Cut(id, ":"); ok && len(domain) == 8 && strings.HasPrefix(domain, "0000") {
		return domain[4:] + ":" + rest
	}
	return id
}

// onlyBit is the number of the one bit that is set, or gpu.NUMAUnknown.
func onlyBit(words []uint) int {
	found := gpu.NUMAUnknown
	for i, w := range words {
		switch bits.OnesCount(w) {
		case 0:
			continue
		case 1:
			if found != gpu.NUMAUnknown {
				return gpu.NUMAUnknown
			}
			found = i*bits.UintSize + bits.TrailingZeros(w)
		default:
			return gpu.NUMAUnknown
		}
	}
	return found
}
