// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// probe asks a GPU something that a lost one cannot answer. Where the handle is
// dead, it looks for the GPU anew: one that came back over a bus rescan is a new
// device to the driver.
func (d *Driver) probe(uuid string) (probe, error) {
	b, err := d.board(uuid)
	if err != nil {
		return probe{}, err
	}
	r, ret := ask(b.device())
	if gone(ret) {
		fresh, again := d.api.DeviceGetHandleByUUID(uuid)
		if again != gonvml.SUCCESS {
			return probe{}, fmt.Errorf("probe GPU %s: %w", uuid, check(ret))
		}
		if r, ret = ask(fresh); ret == gonvml.SUCCESS {
			b.renew(fresh)
		}
	}
	if gone(ret) {
		return probe{}, fmt.Errorf("probe GPU %s: %w", uuid, check(ret))
	}
	return probe{recovery: r}, nil
}

// ask reads what a probe wants to know.
func ask(dev gonvml.Device) (recovery, gonvml.Return) {
	if _, ret := dev.GetMemoryInfo(); gone(ret) {
		return recovery{}, ret
	}
	return readRecovery(dev)
}

// gone reports whether the answer means that the device cannot be used. Other
// failures, such as a missing permission, say nothing about its health.
func gone(ret gonvml.Return) bool {
	switch ret {
	case gonvml.ERROR_GPU_IS_LOST, gonvml.ERROR_GPU_NOT_FOUND, gonvml.ERROR_NOT_FOUND,
		gonvml.ERROR_DRIVER_NOT_LOADED, gonvml.ERROR_UNINITIALIZED:
		return true
	default:
		return false
	}
}
