// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// create makes a GPU instance at the step's placement and one compute instance
// that spans it.
func create(dev nvml.Device, s partitioner.Step) (gpu.Instance, error) {
	info, ret := dev.GetGpuInstanceProfileInfo(s.Profile.Enum)
	if err := verb(fmt.Sprintf("read MIG profile %d", s.Profile.Enum), ret); err != nil {
		return gpu.Instance{}, err
	}
	if int(info.Id) != s.Profile.ID {
		return gpu.Instance{}, &StaleError{GPU: s.GPU, What: fmt.Sprintf(
			"profile constant %d is now profile %d, not %d", s.Profile.Enum, info.Id, s.Profile.ID)}
	}
	place := nvml.GpuInstancePlacement{Start: uint32(s.Placement.Start), Size: uint32(s.Placement.Size)}
	gi, ret := dev.CreateGpuInstanceWithPlacement(&info, &place)
	if err := createError(dev, s, ret); err != nil {
		return gpu.Instance{}, err
	}
	inst, err := fill(gi, s, int(info.SliceCount))
	if err != nil {
		return gpu.Instance{}, undo(gi, err)
	}
	return inst, nil
}

// createError explains the driver's refusal of a GPU instance.
func createError(dev nvml.Device, s partitioner.Step, ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_INSUFFICIENT_RESOURCES:
		return &NoRoomError{GPU: s.GPU, Profile: s.Profile, Placement: s.Placement}
	case nvml.ERROR_IN_USE:
		return &InUseError{GPU: s.GPU, What: "a part"}
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_INVALID_STATE:
		if current, _, r := dev.GetMigMode(); r == nvml.SUCCESS && current != nvml.DEVICE_MIG_ENABLE {
			return &ModeOffError{GPU: s.GPU}
		}
	default:
	}
	return verb("create GPU instance", ret)
}

// fill checks the new GPU instance and gives it its compute instance.
func fill(gi nvml.GpuInstance, s partitioner.Step, computeSlices int) (gpu.Instance, error) {
	info, ret := gi.GetInfo()
	if err := verb("read new GPU instance", ret); err != nil {
		return gpu.Instance{}, err
	}
	got := gpu.Placement{Start: int(info.Placement.Start), Size: int(info.Placement.Size)}
	if got != s.Placement {
		return gpu.Instance{}, fmt.Errorf("the driver put the instance at %d:%d", got.Start, got.Size)
	}
	ci, err := createCompute(gi, computeSlices)
	if err != nil {
		return gpu.Instance{}, err
	}
	ciInfo, ret := ci.GetInfo()
	if err := verb("read new compute instance", ret); err != nil {
		return gpu.Instance{}, err
	}
	uuid, ret := ciInfo.Device.GetUUID()
	if err := verb("read UUID of new instance", ret); err != nil {
		return gpu.Instance{}, err
	}
	return gpu.Instance{
		GPU:       s.GPU,
		ProfileID: int(info.ProfileId),
		Placement: got,
		GIID:      int(info.Id),
		CIID:      int(ciInfo.Id),
		UUID:      uuid,
	}, nil
}

// createCompute makes the compute instance that has all compute slices. Several
// profiles can be that large; the first that the driver accepts is taken.
func createCompute(gi nvml.GpuInstance, computeSlices int) (nvml.ComputeInstance, error) {
	last := nvml.ERROR_NOT_FOUND
	for enum := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, ret := gi.GetComputeInstanceProfileInfo(enum, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if ret != nvml.SUCCESS || int(info.SliceCount) != computeSlices {
			continue
		}
		ci, ret := gi.CreateComputeInstance(&info)
		if ret == nvml.SUCCESS {
			return ci, nil
		}
		last = ret
	}
	return nil, verb(fmt.Sprintf("create compute instance of %d slices", computeSlices), last)
}

// undo takes a GPU instance back after err. When that fails too, the instance
// stays half made, and a later plan destroys it.
func undo(gi nvml.GpuInstance, err error) error {
	cis, ret := computeInstances(gi)
	if ret == nvml.SUCCESS {
		ret = destroyAll(gi, cis)
	}
	return errors.Join(err, verb("take the GPU instance back", ret))
}
