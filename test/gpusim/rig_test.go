// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"encoding/json"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// open makes a machine active and opens NVML on it for the length of the test.
func open(t *testing.T, description string) (*Machine, nvml.Interface) {
	t.Helper()
	m := New(t, description)
	m.Activate()
	lib := nvml.New(nvml.WithLibraryPath(m.LibraryPath()))
	must(t, "Init", lib.Init())
	t.Cleanup(func() { must(t, "Shutdown", lib.Shutdown()) })
	return m, lib
}

// must fails the test unless a call succeeded.
func must(t *testing.T, what string, r nvml.Return) {
	t.Helper()
	expect(t, what, r, nvml.SUCCESS)
}

func expect(t *testing.T, what string, got, want nvml.Return) {
	t.Helper()
	if got != want {
		t.Fatalf("%s answered %v, want %v", what, name(got), name(want))
	}
}

// name works without a loaded library, which nvml.ErrorString needs.
func name(r nvml.Return) any {
	if r == nvml.SUCCESS {
		return "SUCCESS"
	}
	return int32(r)
}

func deviceAt(t *testing.T, lib nvml.Interface, index int) nvml.Device {
	t.Helper()
	d, r := lib.DeviceGetHandleByIndex(index)
	must(t, "DeviceGetHandleByIndex", r)
	return d
}

// migOn enables MIG mode on a Hopper or later GPU.
func migOn(t *testing.T, d nvml.Device) {
	t.Helper()
	activation, r := d.SetMigMode(nvml.DEVICE_MIG_ENABLE)
	must(t, "SetMigMode", r)
	must(t, "activation", activation)
}

// profile returns a profile that the model has.
func profile(t *testing.T, d nvml.Device, enum int) nvml.GpuInstanceProfileInfo {
	t.Helper()
	info, r := d.GetGpuInstanceProfileInfo(enum)
	must(t, "GetGpuInstanceProfileInfo", r)
	return info
}

// instance creates a GPU instance with one compute instance over all of it.
func instance(t *testing.T, d nvml.Device, enum int) (nvml.GpuInstance, nvml.ComputeInstance) {
	t.Helper()
	info := profile(t, d, enum)
	gi, r := d.CreateGpuInstance(&info)
	must(t, "CreateGpuInstance", r)
	return gi, compute(t, gi, int(info.SliceCount))
}

// compute creates a compute instance of this many slices.
func compute(t *testing.T, gi nvml.GpuInstance, slices int) nvml.ComputeInstance {
	t.Helper()
	for e := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, r := gi.GetComputeInstanceProfileInfo(e, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if r == nvml.SUCCESS && int(info.SliceCount) == slices {
			ci, r := gi.CreateComputeInstance(&info)
			must(t, "CreateComputeInstance", r)
			return ci
		}
	}
	t.Fatalf("no compute instance profile has %d slices", slices)
	return nil
}

// migDevice is the MIG device of a compute instance.
func migDevice(t *testing.T, ci nvml.ComputeInstance) (nvml.Device, string) {
	t.Helper()
	info, r := ci.GetInfo()
	must(t, "ComputeInstance.GetInfo", r)
	uuid, r := info.Device.GetUUID()
	must(t, "GetUUID", r)
	return info.Device, uuid
}

// state is what `gpusim state -o json` prints.
type state struct {
	BootID string
	Boot   int
	GPUs   []struct {
		Index, MigMode, MigPending int
		UUID, Serial, PCIBusID     string
		NumaNode                   *int
		Lost                       bool
		RecoveryAction             string
		EccUncorrected             int
		GPUInstances               []struct {
			ID, ProfileID, Start, Size int
			Profile                    string
			ComputeInstances           []struct {
				ID   int
				UUID string
			}
		}
		Processes []struct {
			PID    int
			Memory uint64
			GI, CI *int
		}
	}
}

func (m *Machine) state(t *testing.T) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(m.Ctl("state", "-o", "json")), &s); err != nil {
		t.Fatalf("state -o json: %v", err)
	}
	return s
}
