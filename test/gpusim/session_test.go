// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestInitCounts: as many Shutdowns as Inits, and nothing works outside.
func TestInitCounts(t *testing.T) {
	m := New(t, ThreeH200)
	m.Activate()
	lib := nvml.New(nvml.WithLibraryPath(m.LibraryPath()))
	must(t, "Init", lib.Init())
	must(t, "second Init", lib.Init())
	d := deviceAt(t, lib, 0)
	must(t, "Shutdown", lib.Shutdown())
	_, r := d.GetUUID()
	must(t, "GetUUID with one Init left", r)

	other := nvml.New(nvml.WithLibraryPath(m.LibraryPath())) // keeps the library loaded
	must(t, "Init of another user", other.Init())
	must(t, "Shutdown", other.Shutdown())
	must(t, "Shutdown", lib.Shutdown())
	_, r = d.GetUUID()
	expect(t, "GetUUID after the last Shutdown", r, nvml.ERROR_UNINITIALIZED)
	must(t, "Init again", lib.Init())
	_, r = d.GetUUID()
	must(t, "GetUUID with the old handle after Init", r)
	must(t, "Shutdown", lib.Shutdown())
}

// TestManyThreads: calls, sessions and changes from many threads at once.
func TestManyThreads(t *testing.T) {
	_, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	info := profile(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	var threads sync.WaitGroup
	for range 8 {
		threads.Go(func() {
			for range 500 {
				_ = lib.Init()
				if gi, r := d.CreateGpuInstance(&info); r == nvml.SUCCESS {
					_ = gi.Destroy()
				} else if r != nvml.ERROR_INSUFFICIENT_RESOURCES {
					t.Errorf("CreateGpuInstance answered %v", name(r))
				}
				_ = lib.Shutdown()
			}
		})
	}
	threads.Wait()
	if left, r := d.GetGpuInstanceRemainingCapacity(&info); r != nvml.SUCCESS || left != 7 {
		t.Errorf("capacity %d, %v after all were destroyed", left, name(r))
	}
}

// TestNoMachine: a machine without a driver, or with a broken state file.
func TestNoMachine(t *testing.T) {
	m := New(t, ThreeH200)
	m.Activate()
	lib := nvml.New(nvml.WithLibraryPath(m.LibraryPath()))
	empty := &Machine{tb: t, dir: t.TempDir(), built: m.built}
	empty.Switch()
	expect(t, "Init without a machine", lib.Init(), nvml.ERROR_DRIVER_NOT_LOADED)
	if err := os.WriteFile(filepath.Join(empty.dir, "state"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, "Init on nonsense", lib.Init(), nvml.ERROR_LIB_RM_VERSION_MISMATCH)
	m.Switch()
	must(t, "Init", lib.Init())
	must(t, "Shutdown", lib.Shutdown())
}

// TestMachinesOneAfterAnother: the variable is read when a session opens, not
// while one is open.
func TestMachinesOneAfterAnother(t *testing.T) {
	a, b := New(t, ThreeH200), New(t, NoMIG)
	a.Activate()
	lib := nvml.New(nvml.WithLibraryPath(a.LibraryPath()))
	for _, tc := range []struct {
		m    *Machine
		name string
	}{{a, "NVIDIA H200"}, {b, "Tesla T4"}, {a, "NVIDIA H200"}} {
		tc.m.Switch()
		must(t, "Init", lib.Init())
		a.Switch()
		got, r := deviceAt(t, lib, 0).GetName()
		must(t, "GetName", r)
		if got != tc.name {
			t.Errorf("GPU 0 is %q, want %q", got, tc.name)
		}
		must(t, "Shutdown", lib.Shutdown())
	}
}

// TestReboot: what survives, what does not, and that old sessions are dead.
func TestReboot(t *testing.T) {
	m, lib := open(t, "[gpu]\nmodel = A100-80\nmig-activation = auto\n[gpu]\nmodel = H200-141\n")
	ampere, hopper := deviceAt(t, lib, 0), deviceAt(t, lib, 1)
	migOn(t, ampere)
	migOn(t, hopper)
	_, ci := instance(t, ampere, nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	_, uuid := migDevice(t, ci)
	instance(t, hopper, nvml.GPU_INSTANCE_PROFILE_2_SLICE)
	m.Ctl("process", "add", "0/2/0", "4711")
	m.Ctl("recovery-action", "1", "reboot")
	m.Ctl("ecc", "0", "--errors", "3")
	m.Ctl("fail", "DeviceGetName", "UNKNOWN")
	before := m.state(t)

	m.Ctl("reboot")
	after := m.state(t)
	if after.BootID == before.BootID || after.Boot != before.Boot+1 {
		t.Errorf("boot %d %s after %d %s: want another", after.Boot, after.BootID, before.Boot, before.BootID)
	}
	file, err := os.ReadFile(filepath.Join(m.Dir(), "boot_id"))
	if err != nil || strings.TrimSpace(string(file)) != after.BootID {
		t.Errorf("boot_id holds %q, %v: want %s", file, err, after.BootID)
	}
	_, r := ampere.GetName()
	expect(t, "a session from before the boot", r, nvml.ERROR_UNINITIALIZED)
	must(t, "Init", lib.Init())
	defer lib.Shutdown()

	current, pending, r := ampere.GetMigMode()
	must(t, "GetMigMode", r)
	if current != 1 || pending != 1 {
		t.Errorf("Ampere's MIG mode is %d, %d pending: the InfoROM keeps it on", current, pending)
	}
	if current, _, _ := hopper.GetMigMode(); current != 0 {
		t.Error("Hopper's MIG mode is on after a reboot")
	}
	if len(after.GPUs[0].GPUInstances) != 0 || len(after.GPUs[0].Processes) != 0 {
		t.Errorf("instances or processes survived: %+v", after.GPUs[0])
	}
	if _, r := lib.DeviceGetHandleByUUID(uuid); r != nvml.ERROR_NOT_FOUND {
		t.Errorf("a MIG device of the last boot answers %v", name(r))
	}
	if after.GPUs[1].RecoveryAction != "none" {
		t.Errorf("recovery action %s after a reboot", after.GPUs[1].RecoveryAction)
	}
	volatile, _ := ampere.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	aggregate, _ := ampere.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC)
	if volatile != 0 || aggregate != 3 {
		t.Errorf("ECC counts %d volatile, %d aggregate: want 0 and 3", volatile, aggregate)
	}
}

// TestNewMachineInPlace: init over a living machine ends its sessions.
func TestNewMachineInPlace(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	if _, err := m.ctl(strings.NewReader(NoMIG), "init", "-"); err != nil {
		t.Fatal(err)
	}
	_, r := d.GetName()
	expect(t, "a call on the replaced machine", r, nvml.ERROR_UNINITIALIZED)
}

// TestExitCodes: 1 is refused, 2 is wrong usage, and both say why.
func TestExitCodes(t *testing.T) {
	m := New(t, ThreeH200)
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"xid", "--help"}, 0, ""},
		{nil, 2, "Usage"},
		{[]string{"frobnicate"}, 2, "unknown"},
		{[]string{"xid", "3", "79"}, 2, "allowed are 0 to 2"},
		{[]string{"xid", "0"}, 2, "too few"},
		{[]string{"xid", "0", "1", "2"}, 2, "too much"},
		{[]string{"xid", "0", "x"}, 2, "CODE"},
		{[]string{"xid", "0", "79", "--gi"}, 2, "needs a value"},
		{[]string{"state", "-o", "yaml"}, 2, "table and json"},
		{[]string{"fail", "DeviceGetName", "BROKEN"}, 2, "IN_USE"},
		{[]string{"fail", "DeviceGetNames", "IN_USE"}, 2, "gpusim calls"},
		{[]string{"process", "add", "0", "1", "--memory", "5MB"}, 2, "512MiB"},
		{[]string{"process", "add", "0/1/0", "1"}, 1, "MIG mode is off"},
		{[]string{"process", "add", "0", "1", "--memory", "150GiB"}, 1, "used up"},
		{[]string{"process", "rm", "0", "1"}, 1, "no client"},
		{[]string{"recover", "0"}, 1, "not lost"},
		{[]string{"caps-nodes"}, 1, "install-root"},
		{[]string{"init", "/nonexistent"}, 1, "/nonexistent"},
		{[]string{"--dir", "/nonexistent", "state"}, 1, "gpusim init"},
	} {
		cmd := exec.Command(m.ToolPath(), tc.args...)
		cmd.Env = append(os.Environ(), m.Env()...)
		out, err := cmd.CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != tc.code || !strings.Contains(string(out), tc.says) {
			t.Errorf("gpusim %q: code %d, said %q; want %d and %q", tc.args, code, out, tc.code, tc.says)
		}
	}
}
