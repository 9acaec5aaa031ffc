// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func modes(t *testing.T, d nvml.Device) [2]int {
	t.Helper()
	current, pending, r := d.GetMigMode()
	must(t, "GetMigMode", r)
	return [2]int{current, pending}
}

func setMode(t *testing.T, d nvml.Device, mode int) nvml.Return {
	t.Helper()
	activation, r := d.SetMigMode(mode)
	must(t, "SetMigMode", r)
	return activation
}

func expectModes(t *testing.T, d nvml.Device, current, pending int) {
	t.Helper()
	if got := modes(t, d); got != [2]int{current, pending} {
		t.Fatalf("MIG mode %v, want %d, %d pending", got, current, pending)
	}
}

// TestAmpereMode: the mode is pending until a reset, which clients prevent.
func TestAmpereMode(t *testing.T) {
	m, lib := open(t, "[gpu]\nmodel = A100-80\n")
	d := deviceAt(t, lib, 0)
	m.Ctl("process", "add", "0", "77")
	expect(t, "activation with a client", setMode(t, d, 1), nvml.ERROR_IN_USE)
	expectModes(t, d, 0, 1)
	if _, err := m.TryCtl("reset", "0"); err == nil {
		t.Error("a GPU with a client was reset")
	}
	m.Ctl("process", "rm", "0", "77")
	expect(t, "activation of an idle GPU", setMode(t, d, 1), nvml.ERROR_RESET_REQUIRED)
	expectModes(t, d, 0, 1)
	info := profile(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	_, r := d.CreateGpuInstance(&info)
	expect(t, "create with the mode pending", r, nvml.ERROR_NOT_SUPPORTED)

	m.Ctl("reset", "0")
	expectModes(t, d, 1, 1)
	gi, r := d.CreateGpuInstance(&info)
	must(t, "create", r)
	m.Ctl("reset", "0")
	_, r = gi.GetInfo()
	expect(t, "an instance after a reset", r, nvml.ERROR_INVALID_ARGUMENT)
	expectModes(t, d, 1, 1)

	expect(t, "activation of off", setMode(t, d, 0), nvml.ERROR_RESET_REQUIRED)
	expect(t, "back to on", setMode(t, d, 1), nvml.SUCCESS) // nothing to do
	expectModes(t, d, 1, 1)
	setMode(t, d, 0)
	m.Ctl("reboot")
	must(t, "Init", lib.Init())
	defer lib.Shutdown()
	expectModes(t, d, 0, 0)
}

// TestAmpereAutoReset: where the platform lets NVML reset, an idle GPU changes
// at once.
func TestAmpereAutoReset(t *testing.T) {
	m, lib := open(t, "[gpu]\nmodel = A30-24\nmig-activation = auto\n")
	d := deviceAt(t, lib, 0)
	m.Ctl("process", "add", "0", "77")
	expect(t, "activation with a client", setMode(t, d, 1), nvml.ERROR_IN_USE)
	m.Ctl("process", "rm", "0", "77")
	expect(t, "activation", setMode(t, d, 1), nvml.SUCCESS)
	expectModes(t, d, 1, 1)
}

// TestHopperMode: at once, refused while something lives, never pending.
func TestHopperMode(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	set := eventSet(t, lib, nvml.EventMigConfigChange, d)
	m.Ctl("process", "add", "0", "77")
	expect(t, "on with a client", setMode(t, d, 1), nvml.ERROR_IN_USE)
	expectModes(t, d, 0, 0)
	m.Ctl("process", "rm", "0", "77")
	expect(t, "on", setMode(t, d, 1), nvml.SUCCESS)
	expectModes(t, d, 1, 1)
	next(t, set)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	next(t, set)
	next(t, set)
	expect(t, "off with an instance", setMode(t, d, 0), nvml.ERROR_IN_USE)
	must(t, "destroy CI", ci.Destroy())
	must(t, "destroy GI", gi.Destroy())
	expect(t, "off", setMode(t, d, 0), nvml.SUCCESS)
	next(t, set)
	next(t, set)
	next(t, set)
	_, r := set.Wait(0)
	expect(t, "more events than changes", r, nvml.ERROR_TIMEOUT)
	setMode(t, d, 1)
	m.Ctl("reset", "0")
	expectModes(t, d, 1, 1) // a reset keeps it, only a reboot does not
}

func TestModeRefusals(t *testing.T) {
	_, lib := open(t, NoMIG+"\n[gpu]\nmodel = H200-141\nmig = no\n[gpu]\nmodel = H200-141\n")
	for i := range 4 {
		d := deviceAt(t, lib, i)
		_, r := d.SetMigMode(1)
		expect(t, "SetMigMode without MIG", r, nvml.ERROR_NOT_SUPPORTED)
		_, r = d.GetGpuInstanceProfileInfo(0)
		expect(t, "profile without MIG", r, nvml.ERROR_NOT_SUPPORTED)
		_, r = d.GetMigDeviceHandleByIndex(0)
		expect(t, "MIG device without MIG", r, nvml.ERROR_NOT_SUPPORTED)
	}
	d := deviceAt(t, lib, 4)
	_, r := d.SetMigMode(2)
	expect(t, "mode 2", r, nvml.ERROR_INVALID_ARGUMENT)
	info := profile(t, d, 0) // profiles can be read with MIG off
	if places, r := d.GetGpuInstancePossiblePlacements(&info); r != nvml.SUCCESS || len(places) != 7 {
		t.Errorf("placements with MIG off: %v, %v", places, name(r))
	}
	for what, call := range map[string]func() nvml.Return{
		"create":    func() nvml.Return { _, r := d.CreateGpuInstance(&info); return r },
		"list":      func() nvml.Return { _, r := d.GetGpuInstances(&info); return r },
		"by id":     func() nvml.Return { _, r := d.GetGpuInstanceById(0); return r },
		"remaining": func() nvml.Return { _, r := d.GetGpuInstanceRemainingCapacity(&info); return r },
	} {
		expect(t, what+" with MIG off", call(), nvml.ERROR_NOT_SUPPORTED)
	}
	_, r = d.GetMigDeviceHandleByIndex(0)
	expect(t, "MIG device with MIG off", r, nvml.ERROR_NOT_FOUND)
	if n, _ := d.GetMaxMigDeviceCount(); n != 0 {
		t.Errorf("at most %d MIG devices with MIG off", n)
	}
}
