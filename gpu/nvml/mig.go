// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"slices"
	"strings"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"aipub.io/aipub/gpu"
)

// profileLimit ends the search for profiles in a driver that never answers
// INVALID_ARGUMENT. Today's drivers have 18.
const profileLimit = 64

// readMIG reads mode and profiles; nil for a GPU without MIG. Drivers answer
// profile and placement queries while the mode is off as well; one that does
// not leaves Profiles empty, and the mode must be on before a layout is chosen.
func (d *Driver) readMIG(dev gonvml.Device, memory int64) (*gpu.MIG, error) {
	if !d.has("nvmlDeviceGetMigMode") {
		return nil, nil
	}
	current, pending, ret := dev.GetMigMode()
	if unsupported(ret) {
		return nil, nil
	}
	if ret != gonvml.SUCCESS {
		return nil, fmt.Errorf("read MIG mode: %w", check(ret))
	}
	major, _, ret := dev.GetCudaComputeCapability()
	if ret != gonvml.SUCCESS {
		return nil, fmt.Errorf("read compute capability: %w", check(ret))
	}
	profiles, err := d.readProfiles(dev, memory)
	if err != nil {
		return nil, err
	}
	return &gpu.MIG{
		Enabled:    current == gonvml.DEVICE_MIG_ENABLE,
		Pending:    pending == gonvml.DEVICE_MIG_ENABLE,
		LiveToggle: major >= 9, // Hopper; MIG user guide, "persistence"
		Profiles:   profiles,
	}, nil
}

// readProfiles asks for every profile number until the driver knows no more.
// Profiles without a placement cannot be created and are left out.
func (d *Driver) readProfiles(dev gonvml.Device, memory int64) ([]gpu.Profile, error) {
	var profiles []gpu.Profile
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
		placements, err := readPlacements(dev, &info)
		if err != nil {
			return nil, fmt.Errorf("read placements of MIG profile %d: %w", enum, err)
		}
		if len(placements) == 0 {
			continue
		}
		profiles = append(profiles, d.profile(dev, enum, info, placements, memory))
	}
	return profiles, nil
}

// skipProfile reports whether the answer means that this GPU has no such
// profile. Old drivers answer INVALID_ARGUMENT inside the known range too.
func skipProfile(ret gonvml.Return) bool {
	return unsupported(ret) || ret == gonvml.ERROR_INVALID_ARGUMENT
}

func readPlacements(dev gonvml.Device, info *gonvml.GpuInstanceProfileInfo) ([]gpu.Placement, error) {
	raw, ret := dev.GetGpuInstancePossiblePlacements(info)
	if skipProfile(ret) {
		return nil, nil
	}
	if ret != gonvml.SUCCESS {
		return nil, check(ret)
	}
	placements := make([]gpu.Placement, 0, len(raw))
	for _, p := range raw {
		placements = append(placements, gpu.Placement{Start: int(p.Start), Size: int(p.Size)})
	}
	slices.SortFunc(placements, func(a, b gpu.Placement) int { return a.Start - b.Start })
	return placements, nil
}

// profile puts one profile together.
func (d *Driver) profile(dev gonvml.Device, enum int, info gonvml.GpuInstanceProfileInfo, placements []gpu.Placement, memory int64) gpu.Profile {
	p := gpu.Profile{
		Enum:            enum,
		ID:              int(info.Id),
		ComputeSlices:   int(info.SliceCount),
		MemorySlices:    placements[0].Size,
		Multiprocessors: int(info.MultiprocessorCount),
		MemoryBytes:     int64(info.MemorySizeMB) << 20,
		MaxCount:        int(info.InstanceCount),
		MediaExtensions: hasMedia(enum),
		Placements:      placements,
	}
	p.Name = d.driverName(dev, enum)
	if p.Name == "" {
		p.Name = composedName(p, memory)
	}
	if strings.Contains(p.Name, "+me") {
		p.MediaExtensions = true
	}
	return p
}

// driverName is the driver's own name for a profile, such as "1g.18gb"; empty
// where it tells none.
func (d *Driver) driverName(dev gonvml.Device, enum int) string {
	if !d.has("nvmlDeviceGetGpuInstanceProfileInfoV") {
		return ""
	}
	info, ret := dev.GetGpuInstanceProfileInfoV(enum).V2()
	if ret != gonvml.SUCCESS {
		return ""
	}
	return strings.TrimPrefix(cString(info.Name[:]), "MIG ")
}

// composedName follows the driver's rule: the profile's share of the GPU's
// memory in eighths, times the whole memory, in GiB.
func composedName(p gpu.Profile, memory int64) string {
	const gib = 1 << 30
	eighths := (p.MemoryBytes*8 + memory - 1) / max(memory, 1)
	gb := (memory*eighths/8 + gib/2) / gib
	name := fmt.Sprintf("%dg.%dgb", p.ComputeSlices, gb)
	if p.MediaExtensions {
		name += "+me"
	}
	return name
}

// hasMedia tells the profiles with media extensions by their NVML constant.
func hasMedia(enum int) bool {
	switch enum {
	case gonvml.GPU_INSTANCE_PROFILE_1_SLICE_REV1, gonvml.GPU_INSTANCE_PROFILE_2_SLICE_REV1,
		gonvml.GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME, gonvml.GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
		return true
	}
	return false
}
