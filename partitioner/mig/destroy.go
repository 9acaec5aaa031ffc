// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// destroy removes an instance with all compute instances in it. One that is
// gone already is a success; a different one under the same number is not
// touched, because numbers are given out anew.
func destroy(dev nvml.Device, want gpu.Instance) error {
	gi, ret := dev.GetGpuInstanceById(want.GIID)
	if gone(ret) {
		return nil
	}
	if err := verb("find GPU instance", ret); err != nil {
		return err
	}
	info, ret := gi.GetInfo()
	if gone(ret) {
		return nil
	}
	if err := verb("read GPU instance", ret); err != nil {
		return err
	}
	cis, ret := computeInstances(gi)
	if err := verb("list compute instances", ret); err != nil {
		return err
	}
	if err := same(info, cis, want); err != nil {
		return err
	}
	ret = destroyAll(gi, cis)
	if ret == nvml.ERROR_IN_USE {
		return &InUseError{GPU: want.GPU, What: fmt.Sprintf("GPU instance %d", want.GIID)}
	}
	return verb("destroy", ret)
}

// same checks that the instance is the one that the plan means. The UUID is
// compared where the plan has one.
func same(info nvml.GpuInstanceInfo, cis []nvml.ComputeInstance, want gpu.Instance) error {
	if int(info.ProfileId) != want.ProfileID || int(info.Placement.Start) != want.Placement.Start {
		return &StaleError{GPU: want.GPU, What: fmt.Sprintf(
			"GPU instance %d is now of profile %d at slice %d, not of profile %d at slice %d",
			want.GIID, info.ProfileId, info.Placement.Start, want.ProfileID, want.Placement.Start)}
	}
	if want.UUID == "" {
		return nil
	}
	for _, ci := range cis {
		ciInfo, ret := ci.GetInfo()
		if ret != nvml.SUCCESS {
			continue
		}
		uuid, ret := ciInfo.Device.GetUUID()
		if ret == nvml.SUCCESS && uuid != want.UUID {
			return &StaleError{GPU: want.GPU, What: fmt.Sprintf(
				"GPU instance %d is now %s, not %s", want.GIID, uuid, want.UUID)}
		}
	}
	return nil
}

// destroyAll removes compute instances, then their GPU instance. It stops at
// the first that refuses; what is gone already does not count.
func destroyAll(gi nvml.GpuInstance, cis []nvml.ComputeInstance) nvml.Return {
	for _, ci := range cis {
		if ret := ci.Destroy(); ret != nvml.SUCCESS && !gone(ret) {
			return ret
		}
	}
	if ret := gi.Destroy(); ret != nvml.SUCCESS && !gone(ret) {
		return ret
	}
	return nvml.SUCCESS
}

// computeInstances lists those of all profiles.
func computeInstances(gi nvml.GpuInstance) ([]nvml.ComputeInstance, nvml.Return) {
	var out []nvml.ComputeInstance
	seen := map[uint32]bool{}
	for enum := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, ret := gi.GetComputeInstanceProfileInfo(enum, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if ret != nvml.SUCCESS || seen[info.Id] || info.InstanceCount == 0 {
			continue
		}
		seen[info.Id] = true
		cis, ret := gi.GetComputeInstances(&info)
		if gone(ret) {
			continue
		}
		if ret != nvml.SUCCESS {
			return nil, ret
		}
		out = append(out, cis...)
	}
	return out, nvml.SUCCESS
}

// gone reports whether the answer means that an instance does not exist.
// NOT_SUPPORTED is what a GPU says whose MIG mode is off.
func gone(ret nvml.Return) bool {
	return ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_NOT_SUPPORTED
}
