// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"math"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// none is what NVML writes where there is no GPU or compute instance.
const none = math.MaxUint32

// Process is one process that uses a GPU.
type Process struct {
	// PID in the host's process namespace.
	PID int
	// GIID and CIID name the MIG instance that it runs in; -1 outside MIG.
	GIID, CIID int
	// MemoryBytes of device memory; 0 when the driver does not tell.
	MemoryBytes int64
}

// Processes lists the processes on a GPU and on its MIG instances, each once
// per instance. It needs the privilege to see other users' processes.
func (d *Driver) Processes(ctx context.Context, uuid string) ([]Process, error) {
	return locked(ctx, d, uuid, func(dev gonvml.Device) ([]Process, error) {
		type key struct{ pid, gi, ci uint32 }
		var out []Process
		seen := map[key]bool{}
		for _, list := range d.processLists(dev) {
			infos, ret := list()
			if unsupported(ret) {
				continue
			}
			if ret != gonvml.SUCCESS {
				return nil, fmt.Errorf("list processes: %w", check(ret))
			}
			for _, p := range infos {
				k := key{p.Pid, p.GpuInstanceId, p.ComputeInstanceId}
				if !seen[k] {
					seen[k] = true
					out = append(out, process(p))
				}
			}
		}
		return out, nil
	})
}

// processLists are the driver's lists: programs that compute, that draw, and the
// clients of MPS.
func (d *Driver) processLists(dev gonvml.Device) []func() ([]gonvml.ProcessInfo, gonvml.Return) {
	lists := []func() ([]gonvml.ProcessInfo, gonvml.Return){dev.GetComputeRunningProcesses, dev.GetGraphicsRunningProcesses}
	if d.has("nvmlDeviceGetMPSComputeRunningProcesses") || d.has("nvmlDeviceGetMPSComputeRunningProcesses_v2") ||
		d.has("nvmlDeviceGetMPSComputeRunningProcesses_v3") {
		lists = append(lists, dev.GetMPSComputeRunningProcesses)
	}
	return lists
}

func process(p gonvml.ProcessInfo) Process {
	out := Process{PID: int(p.Pid), GIID: instanceID(p.GpuInstanceId), CIID: instanceID(p.ComputeInstanceId)}
	if p.UsedGpuMemory != math.MaxUint64 {
		out.MemoryBytes = int64(p.UsedGpuMemory)
	}
	return out
}

// instanceID turns NVML's instance number into ours.
func instanceID(id uint32) int {
	if id == none {
		return -1
	}
	return int(id)
}
