// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

// eighths are the places of the profiles of all GPUs with 7 compute and 8
// memory slices.
var eighths = []string{
	"19 1c 1m x7 at 0 1 2 3 4 5 6 size 1",
	"14 2c 2m x3 at 0 2 4 size 2",
	"9 3c 4m x2 at 0 4 size 4",
	"5 4c 4m x1 at 0 size 4",
	"0 7c 8m x1 at 0 size 8",
	"20 1c 1m x1 at 0 1 2 3 4 5 6 size 1 +me",
	"15 1c 2m x4 at 0 2 4 6 size 2",
}

func TestInventoryReadsEveryModel(t *testing.T) {
	quarters := []string{
		"14 1c 1m x4 at 0 1 2 3 size 1",
		"5 2c 2m x2 at 0 2 size 2",
		"0 4c 4m x1 at 0 size 4",
		"21 1c 1m x1 at 0 1 2 3 size 1 +me",
		"6 2c 2m x1 at 0 2 size 2 +me",
	}
	tests := []struct {
		model, names string
		live         bool
		numa         int
		places       []string
	}{
		{"NVIDIA A30", "1g.6gb 2g.12gb 4g.24gb 1g.6gb+me 2g.12gb+me", false, 0, quarters},
		{"NVIDIA A100-SXM4-40GB", "1g.5gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb 1g.5gb+me 1g.10gb", false, 0, eighths},
		{"NVIDIA A100-SXM4-80GB", "1g.10gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb 1g.10gb+me 1g.20gb", false, 0, eighths},
		{"NVIDIA H100 80GB HBM3", "1g.10gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb 1g.10gb+me 1g.20gb", true, 1, eighths},
		{"NVIDIA H200", "1g.18gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb 1g.18gb+me 1g.35gb", true, 1, eighths},
		{"NVIDIA B200", "1g.23gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb 1g.23gb+me 1g.45gb", true, 1, eighths},
	}
	d, _ := openSim(t, gpusim.Mixed)
	inv := mustInventory(t, d)
	if len(inv.GPUs) != len(tests) {
		t.Fatalf("%d GPUs, want %d", len(inv.GPUs), len(tests))
	}
	for i, tc := range tests {
		t.Run(tc.model, func(t *testing.T) {
			g := inv.GPUs[i]
			if g.Model != tc.model || g.Index != i || g.Minor != i || g.NUMANode != tc.numa {
				t.Errorf("GPU is %q, index %d, minor %d, NUMA node %d", g.Model, g.Index, g.Minor, g.NUMANode)
			}
			if g.MIG == nil || g.MIG.Enabled || g.MIG.LiveToggle != tc.live {
				t.Fatalf("MIG is %+v", g.MIG)
			}
			var names, places []string
			for _, p := range g.MIG.Profiles {
				names = append(names, p.Name)
				places = append(places, describeProfile(p))
				if p.MemoryBytes <= 0 || p.MemoryBytes > g.MemoryBytes || p.Multiprocessors < p.ComputeSlices {
					t.Errorf("profile %s has memory %d, %d SMs", p.Name, p.MemoryBytes, p.Multiprocessors)
				}
				if got := composedName(p, g.MemoryBytes); got != p.Name && !strings.HasPrefix(tc.model, "NVIDIA H200") && !strings.HasPrefix(tc.model, "NVIDIA B200") {
					t.Errorf("composed name %s, driver says %s", got, p.Name)
				}
			}
			if diff := cmp.Diff(tc.names, strings.Join(names, " ")); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.places, places); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func describeProfile(p gpu.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %dc %dm x%d at", p.ID, p.ComputeSlices, p.MemorySlices, p.MaxCount)
	for _, at := range p.Placements {
		fmt.Fprintf(&b, " %d", at.Start)
	}
	fmt.Fprintf(&b, " size %d", p.Placements[0].Size)
	if p.MediaExtensions {
		b.WriteString(" +me")
	}
	return b.String()
}

func TestInventoryOfGPUsWithoutMIG(t *testing.T) {
	d, _ := openSim(t, gpusim.NoMIG)
	inv := mustInventory(t, d)
	for _, g := range inv.GPUs {
		if g.MIG != nil {
			t.Errorf("%s has MIG %+v", g.Model, g.MIG)
		}
		instances, err := d.Instances(testContext(t), g.UUID)
		if err != nil || len(instances) > 0 {
			t.Errorf("instances of %s: %v, %v", g.Model, instances, err)
		}
	}
	if got := inv.GPUs[0].NUMANode; got != gpu.NUMAUnknown {
		t.Errorf("NUMA node of a GPU of unknown locality is %d", got)
	}
	if inv.DriverVersion != "580.95.05" || inv.CUDAVersion != "13.0" || inv.NVMLVersion == "" {
		t.Errorf("versions %q, %q, %q", inv.DriverVersion, inv.CUDAVersion, inv.NVMLVersion)
	}
}

func TestDriverThatTellsNoProfilesWhileMIGIsOff(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	m.Ctl("fail", "DeviceGetGpuInstanceProfileInfo", "NOT_SUPPORTED")
	for _, g := range mustInventory(t, d).GPUs {
		if g.MIG == nil || len(g.MIG.Profiles) > 0 {
			t.Errorf("MIG of GPU %d: %+v", g.Index, g.MIG)
		}
	}
}

func TestInventoryWithoutPrivilege(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	m.Ctl("fail", "DeviceGetGpuInstancePossiblePlacements", "NO_PERMISSION")
	inv, err := d.Inventory(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Failed) != 3 || !errors.Is(inv.Failed[0].Err, ErrDenied) || !strings.Contains(inv.Failed[0].Err.Error(), "placements") {
		t.Errorf("failed: %+v", inv.Failed)
	}
}

func TestKernelKnowsNUMANodeBest(t *testing.T) {
	d, _ := openSim(t, gpusim.ThreeH200) // nodes 0, 0, 1 by the driver
	for i, node := range []string{"1\n", "-1\n"} {
		dir := filepath.Join(d.sysfs, "bus/pci/devices", []string{"0000:0a:00.0", "0000:11:00.0"}[i])
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte(node), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for _, g := range mustInventory(t, d).GPUs {
		got = append(got, g.NUMANode)
	}
	if diff := cmp.Diff([]int{1, 0, 1}, got); diff != "" {
		t.Errorf("NUMA nodes (-want +got):\n%s", diff)
	}
}

func TestLostGPUDoesNotHideOthers(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	lost := mustInventory(t, d).GPUs[1].UUID
	m.Ctl("lose", "1")
	inv, err := d.Inventory(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.GPUs) != 2 || len(inv.Failed) != 1 {
		t.Fatalf("%d GPUs, failed %+v", len(inv.GPUs), inv.Failed)
	}
	f := inv.Failed[0]
	if f.Index != 1 || f.UUID != lost || !errors.Is(f.Err, ErrLost) {
		t.Errorf("failure %+v", f)
	}
}

func TestSlowDriverGivesWayToContext(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	uuid := mustInventory(t, d).GPUs[0].UUID
	m.Ctl("latency", "DeviceGetMigMode", "600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Instances(ctx, uuid); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "outcome is unknown") {
		t.Errorf("error %v", err)
	}
	// The late call still owns the GPU: the next one waits for it, in vain.
	short, cancelShort := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelShort()
	if _, err := d.Instances(short, uuid); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for GPU") {
		t.Errorf("error %v", err)
	}
	m.Ctl("latency", "DeviceGetMigMode", "0")
	if _, err := d.Instances(testContext(t), uuid); err != nil {
		t.Errorf("after the slow call: %v", err)
	}
}

func TestOpenSaysWhatToDo(t *testing.T) {
	_, err := Open(Config{LibraryPath: "/does/not/exist/libnvidia-ml.so.1"})
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") || !strings.Contains(err.Error(), "install the NVIDIA driver") {
		t.Errorf("error %v", err)
	}
	d, _ := openSim(t, gpusim.NoMIG)
	if _, err := d.Instances(testContext(t), "GPU-00000000-0000-0000-0000-000000000000"); !errors.Is(err, ErrNoGPU) {
		t.Errorf("unknown GPU: %v", err)
	}
}

func TestProcesses(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	uuid := mustInventory(t, d).GPUs[2].UUID
	m.Ctl("process", "add", "2", "4711", "--memory", "512MiB")
	m.Ctl("process", "add", "2", "4712", "--memory", "1MiB", "--kind", "graphics")
	m.Ctl("process", "add", "2", "4713", "--memory", "2MiB", "--kind", "mps")
	got, err := d.Processes(testContext(t), uuid)
	if err != nil {
		t.Fatal(err)
	}
	want := []Process{
		{PID: 4711, GIID: -1, CIID: -1, MemoryBytes: 512 << 20},
		{PID: 4712, GIID: -1, CIID: -1, MemoryBytes: 1 << 20},
		{PID: 4713, GIID: -1, CIID: -1, MemoryBytes: 2 << 20},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
}

func TestCloseWaitsForCallsThatWereGivenUp(t *testing.T) {
	m := gpusim.New(t, gpusim.ThreeH200)
	m.Activate()
	d, err := Open(Config{LibraryPath: m.LibraryPath(), Sysfs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	uuid := mustInventory(t, d).GPUs[0].UUID
	m.Ctl("latency", "DeviceGetMigMode", "200")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Instances(ctx, uuid); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Instances(testContext(t), uuid); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Inventory(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCloseWaitsForWhoWasLentTheLibrary(t *testing.T) {
	m := gpusim.New(t, gpusim.ThreeH200)
	m.Activate()
	d, err := Open(Config{LibraryPath: m.LibraryPath(), Sysfs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	unread := errors.New("nothing was read")
	err = d.Lend(func(lib gonvml.Interface) error {
		go func() { closed <- d.Close() }()
		for d.open.TryRLock() { // until Close waits
			d.open.RUnlock()
			runtime.Gosched()
		}
		if n, ret := lib.DeviceGetCount(); ret != gonvml.SUCCESS || n != 3 {
			t.Errorf("%d GPUs, %v", n, ret)
		}
		return unread
	})
	if !errors.Is(err, unread) {
		t.Errorf("Lend returned %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := d.Lend(func(gonvml.Interface) error { t.Error("it is lent after it was closed"); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
