// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
)

// root lays a driver root, and skips the test where device nodes or mount
// namespaces are not permitted.
func root(t *testing.T, m *Machine) string {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "node")
	if err := syscall.Mknod(probe, syscall.S_IFCHR|0o600, 195<<8); errors.Is(err, syscall.EPERM) {
		t.Skip("device nodes need CAP_MKNOD")
	}
	return m.InstallRoot()
}

// cdiDevice is what a test wants to know of a CDI device.
type cdiDevice struct {
	Nodes, Mounts []string
}

// specOf asks nvcdi, unchanged, for devices of a driver root.
func specOf(lib nvml.Interface, root string, ids ...string) (cdiDevice, error) {
	var d cdiDevice
	cdi, err := nvcdi.New(nvcdi.WithNvmlLib(lib), nvcdi.WithMode(nvcdi.ModeNvml), nvcdi.WithDriverRoot(root),
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils), nvcdi.WithLogger(quiet{}))
	if err != nil {
		return d, err
	}
	common, err := cdi.GetCommonEdits()
	if err != nil {
		return d, fmt.Errorf("common edits: %w", err)
	}
	devices, err := cdi.GetDeviceSpecsByID(ids...)
	if err != nil {
		return d, fmt.Errorf("device specs: %w", err)
	}
	for _, m := range common.Mounts {
		d.Mounts = append(d.Mounts, m.ContainerPath)
	}
	for _, n := range common.DeviceNodes {
		d.Nodes = append(d.Nodes, n.Path)
	}
	for _, dev := range devices {
		for _, n := range dev.ContainerEdits.DeviceNodes {
			d.Nodes = append(d.Nodes, n.Path)
		}
	}
	slices.Sort(d.Nodes)
	return d, nil
}

// quiet drops what nvcdi says of libraries that a stub installation lacks.
type quiet struct{}

func (quiet) Debugf(string, ...any)   {}
func (quiet) Errorf(string, ...any)   {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Tracef(string, ...any)   {}

var control = []string{"/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"}

// TestCDIWholeGPU: nvcdi finds libraries, control nodes and the GPU's node.
func TestCDIWholeGPU(t *testing.T) {
	m, lib := open(t, ThreeH200)
	dir := root(t, m)
	uuid, _ := deviceAt(t, lib, 1).GetUUID()
	got, err := specOf(lib, dir, uuid)
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(slices.Values(append(slices.Clone(control), "/dev/nvidia1"))); !slices.Equal(got.Nodes, want) {
		t.Errorf("nodes %v, want %v", got.Nodes, want)
	}
	for _, want := range []string{"libcuda.so.580.95.05", "libnvidia-ml.so.580.95.05", "/usr/bin/nvidia-smi"} {
		if !slices.ContainsFunc(got.Mounts, func(p string) bool { return strings.HasSuffix(p, want) }) {
			t.Errorf("no mount of %s among %v", want, got.Mounts)
		}
	}
}

// childCDI prints what nvcdi says of the device that the environment names.
func childCDI(lib nvml.Interface) error {
	d, err := specOf(lib, os.Getenv("TEST_ROOT"), os.Getenv("TEST_UUID"))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(d)
}

// TestCDIMIG: nvcdi reads /proc/driver/nvidia-caps/mig-minors by absolute path
// for MIG devices, so it runs under `gpusim run`; the nodes of the instance
// must have been made, which running nvidia-smi does.
func TestCDIMIG(t *testing.T) {
	m, lib := open(t, ThreeH200)
	dir := root(t, m)
	d := deviceAt(t, lib, 1)
	migOn(t, d)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_2_SLICE)
	info, _ := gi.GetInfo()
	_, uuid := migDevice(t, ci)

	run := func() (cdiDevice, error) {
		var got cdiDevice
		cmd := m.UnderRoot(os.Args[0])
		cmd.Env = append(cmd.Env, childVariable+"=cdi", "TEST_ROOT="+dir, "TEST_UUID="+uuid)
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return got, fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		if err != nil {
			return got, err
		}
		return got, json.Unmarshal(out, &got)
	}
	if got, err := run(); err == nil && len(got.Nodes) == len(control)+3 {
		t.Error("the instance's device nodes exist before anything made them")
	}
	smi := exec.Command(filepath.Join(dir, "usr/bin/nvidia-smi"), "-L")
	smi.Env = append(os.Environ(), m.Env()...)
	if out, err := smi.CombinedOutput(); err != nil || !strings.Contains(string(out), uuid) {
		t.Fatalf("nvidia-smi -L: %v: %s", err, out)
	}
	got, err := run()
	if err != nil {
		t.Fatal(err)
	}
	minor := 3 + (1*15+int(info.Id))*9 // the driver's table: GPU minor 1, this GI, CI 0
	want := append(slices.Clone(control), "/dev/nvidia1", fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor), fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor+1))
	slices.Sort(want)
	if !slices.Equal(got.Nodes, want) {
		t.Errorf("nodes %v, want %v", got.Nodes, want)
	}
}

// TestCapabilitiesFollow: the driver's capability files appear and vanish with
// instances, on resets and reboots.
func TestCapabilitiesFollow(t *testing.T) {
	m, lib := open(t, ThreeH200)
	dir := filepath.Join(t.TempDir(), "root")
	m.Ctl("install-root", dir, "--devices", "no")
	d := deviceAt(t, lib, 2)
	migOn(t, d)
	listed := func() []string {
		var out []string
		base := filepath.Join(dir, "proc/driver/nvidia/capabilities/gpu2/mig")
		_ = filepath.WalkDir(base, func(path string, e fs.DirEntry, _ error) error {
			if e != nil && e.Name() == "access" {
				out = append(out, strings.TrimPrefix(path, base+"/"))
			}
			return nil
		})
		return out
	}
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_7_SLICE)
	if got := listed(); !slices.Equal(got, []string{"gi0/access", "gi0/ci0/access"}) {
		t.Errorf("with an instance: %v", got)
	}
	must(t, "destroy CI", ci.Destroy())
	if got := listed(); !slices.Equal(got, []string{"gi0/access"}) {
		t.Errorf("without its CI: %v", got)
	}
	compute(t, gi, 1)
	m.Ctl("reset", "2")
	if got := listed(); len(got) != 0 {
		t.Errorf("after a reset: %v", got)
	}
	instance(t, d, nvml.GPU_INSTANCE_PROFILE_7_SLICE)
	m.Ctl("reboot")
	boot, err := os.ReadFile(filepath.Join(dir, "proc/sys/kernel/random/boot_id"))
	if got := listed(); len(got) != 0 || err != nil || strings.TrimSpace(string(boot)) != m.state(t).BootID {
		t.Errorf("after a reboot: %v, boot_id %s, %v", got, boot, err)
	}
	must(t, "Init", lib.Init())
	must(t, "Shutdown", lib.Shutdown())
}
