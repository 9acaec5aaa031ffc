// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// Instances reads the MIG instances of a GPU, in order of their placement; none
// while MIG is off or unsupported.
//
// An instance that is not of our shape (no compute instance, several, or one
// that does not span it) is reported with CIID -1 and without a UUID: it cannot
// be handed out as it is.
func (d *Driver) Instances(ctx context.Context, uuid string) ([]gpu.Instance, error) {
	return locked(ctx, d, uuid, func(dev gonvml.Device) ([]gpu.Instance, error) {
		if !d.has("nvmlDeviceGetMigMode") {
			return nil, nil
		}
		current, _, ret := dev.GetMigMode()
		if unsupported(ret) || ret == gonvml.SUCCESS && current != gonvml.DEVICE_MIG_ENABLE {
			return nil, nil
		}
		if ret != gonvml.SUCCESS {
			return nil, fmt.Errorf("read MIG mode: %w", check(ret))
		}
		return readInstances(dev, uuid)
	})
}

func readInstances(dev gonvml.Device, uuid string) ([]gpu.Instance, error) {
	var out []gpu.Instance
	seen := map[int]bool{}
	for enum := range profileLimit {
		info, ret := dev.GetGpuInstanceProfileInfo(enum)
		if ret == gonvml.ERROR_INVALID_ARGUMENT && enum >= gonvml.GPU_INSTANCE_PROFILE_COUNT {
			break
		}
		if skipProfile(ret) {
			continue
		}
		if ret != gonvml.SUCCESS {
			return nil, fmt.Errorf("read MIG profile %d: %w", enum, check(ret))
		}
		if seen[int(info.Id)] || info.InstanceCount == 0 {
			continue
		}
		seen[int(info.Id)] = true
		gis, ret := dev.GetGpuInstances(&info)
		if skipProfile(ret) {
			continue
		}
		if ret != gonvml.SUCCESS {
			return nil, fmt.Errorf("list instances of MIG profile %d: %w", info.Id, check(ret))
		}
		for _, gi := range gis {
			inst, err := readInstance(gi, uuid, int(info.SliceCount))
			if err != nil {
				return nil, err
			}
			out = append(out, inst)
		}
	}
	slices.SortFunc(out, func(a, b gpu.Instance) int { return a.Placement.Start - b.Placement.Start })
	return out, nil
}

// readInstance reads one GPU instance and the compute instance that spans it.
func readInstance(gi gonvml.GpuInstance, uuid string, computeSlices int) (gpu.Instance, error) {
	info, ret := gi.GetInfo()
	if ret != gonvml.SUCCESS {
		return gpu.Instance{}, fmt.Errorf("read GPU instance: %w", check(ret))
	}
	inst := gpu.Instance{
		GPU:       uuid,
		ProfileID: int(info.ProfileId),
		Placement: gpu.Placement{Start: int(info.Placement.Start), Size: int(info.Placement.Size)},
		GIID:      int(info.Id),
		CIID:      -1,
	}
	whole, total, err := readCompute(gi, computeSlices)
	if err != nil {
		return gpu.Instance{}, fmt.Errorf("GPU instance %d: %w", inst.GIID, err)
	}
	if whole == nil || total != 1 {
		return inst, nil
	}
	ci, ret := whole.GetInfo()
	if ret != gonvml.SUCCESS {
		return gpu.Instance{}, fmt.Errorf("read compute instance of GPU instance %d: %w", inst.GIID, check(ret))
	}
	if inst.UUID, ret = ci.Device.GetUUID(); ret != gonvml.SUCCESS {
		return gpu.Instance{}, fmt.Errorf("read UUID of GPU instance %d: %w", inst.GIID, check(ret))
	}
	inst.CIID = int(ci.Id)
	return inst, nil
}

// readCompute counts the compute instances of a GPU instance and finds one that
// has all of its compute slices.
func readCompute(gi gonvml.GpuInstance, computeSlices int) (whole gonvml.ComputeInstance, total int, err error) {
	seen := map[uint32]bool{}
	for enum := range gonvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, ret := gi.GetComputeInstanceProfileInfo(enum, gonvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if skipProfile(ret) {
			continue
		}
		if ret != gonvml.SUCCESS {
			return nil, 0, fmt.Errorf("read compute profile %d: %w", enum, check(ret))
		}
		if seen[info.Id] || info.InstanceCount == 0 {
			continue
		}
		seen[info.Id] = true
		cis, ret := gi.GetComputeInstances(&info)
		if skipProfile(ret) {
			continue
		}
		if ret != gonvml.SUCCESS {
			return nil, 0, fmt.Errorf("list compute instances: %w", check(ret))
		}
		total += len(cis)
		if len(cis) > 0 && int(info.SliceCount) == computeSlices {
			whole = cis[0]
		}
	}
	return whole, total, nil
}
