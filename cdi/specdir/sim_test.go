// SPDX-License-Identifier: Apache-2.0

package specdir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/cdi/driver"
	"aipub.io/aipub/cdi/specdir"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/partitioner/mig"
	"aipub.io/aipub/test/gpusim"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostRoot is where the container runtime would find the driver root.
const hostRoot = "/run/driver"

// node is a simulated node with a spec directory.
type node struct {
	t       *testing.T
	machine *gpusim.Machine
	nvml    *nvml.Driver
	root    string
	dir     string
	gpus    []gpu.GPU
}

func newNode(t *testing.T) *node {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "node")
	if err := syscall.Mknod(probe, syscall.S_IFCHR|0o600, 195<<8); errors.Is(err, syscall.EPERM) {
		t.Skip("device nodes cannot be made: the test needs CAP_MKNOD; run it as root")
	}
	n := &node{t: t, machine: gpusim.New(t, gpusim.ThreeH200), root: filepath.Join(t.TempDir(), "root"), dir: filepath.Join(t.TempDir(), "cdi")}
	n.machine.Activate()
	n.machine.Ctl("install-root", n.root)
	var err error
	n.nvml, err = nvml.Open(nvml.Config{LibraryPath: n.machine.LibraryPath(), Sysfs: filepath.Join(n.root, "sys")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.nvml.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	inv, err := n.nvml.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.gpus = inv.GPUs
	return n
}

// limiter is where the tests' limiter lies.
var limiter = cdi.Limiter{
	Slices: "/run/aipub/slices", Library: "/var/lib/aipub/shim/libaipub-0123.so",
	Hook: "/var/lib/aipub/bin/aipub-cdi-hook", Work: "/var/lib/aipub/preload",
}

// publisher makes a publisher; edit changes how the driver is looked for.
func (n *node) publisher(edit func(*driver.Config)) *specdir.Publisher {
	n.t.Helper()
	c := driver.Config{
		Root:     n.root,
		HostRoot: hostRoot,
		Version:  "580.95.05",
		Lend:     n.nvml.Lend,
	}
	if edit != nil {
		edit(&c)
	}
	p, err := specdir.New(n.dir, driver.New(c), limiter)
	if err != nil {
		n.t.Fatal(err)
	}
	return p
}

// instance makes a MIG instance on the last GPU.
func (n *node) instance(start int) (gpu.MIGTarget, gpu.Instance) {
	n.t.Helper()
	g := n.gpus[2]
	m := mig.New(n.nvml)
	if _, err := m.Apply(n.t.Context(), partitioner.Step{Kind: partitioner.EnableMIG, GPU: g.UUID}); err != nil {
		n.t.Fatal(err)
	}
	target := gpu.MIGTarget{Profile: g.MIG.Profiles[0], Placement: gpu.Placement{Start: start, Size: 1}}
	inst, err := m.Apply(n.t.Context(), partitioner.Step{
		Kind: partitioner.CreateInstance, GPU: g.UUID, Profile: target.Profile, Placement: target.Placement})
	if err != nil {
		n.t.Fatal(err)
	}
	return target, inst
}

// target makes a slice on some GPUs with the hardware behind it.
func (n *node) target(id gpu.SliceID, set string, kind gpu.Kind, indices ...int) specdir.Target {
	t := specdir.Target{Slice: gpu.Slice{ID: id, Set: set, Kind: kind}}
	for _, i := range indices {
		t.GPUs = append(t.GPUs, n.gpus[i])
		t.Slice.GPUs = append(t.Slice.GPUs, n.gpus[i].UUID)
	}
	return t
}

// golden compares a spec file with testdata.
func (n *node) golden(file, name string) {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, file))
	if err != nil {
		n.t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, data, "", "  "); err != nil {
		n.t.Fatal(err)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			n.t.Fatal(err)
		}
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			n.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		n.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		n.t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", name, diff)
	}
}

func put(t *testing.T, p *specdir.Publisher, target specdir.Target) {
	t.Helper()
	if err := p.Put(t.Context(), target); err != nil {
		t.Fatal(err)
	}
}

func TestSpecsOfEveryKind(t *testing.T) {
	n := newNode(t)
	p := n.publisher(nil)
	if err := p.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.golden(cdi.DriverFile, "driver-without-hooks")

	block := n.target("0a-small-1", "small", gpu.KindBlock, 0)
	block.Slice.Block = &gpu.Block{Percent: 25, MemoryBytes: 35 << 30}
	migTarget, inst := n.instance(3)
	migSlice := n.target("0c-mig-3", "mig", gpu.KindMIG, 2)
	migSlice.Slice.MIG, migSlice.Instance = &migTarget, &inst
	for name, target := range map[string]specdir.Target{
		"whole": n.target("0b-large-0", "large", gpu.KindWhole, 1),
		"multi": n.target("0a-pair-0", "pair", gpu.KindWhole, 0, 1),
		"block": block,
		"mig":   migSlice,
		"cpu":   n.target("cpu-0", "cpu", gpu.KindCPU),
	} {
		put(t, p, target)
		n.golden(cdi.FileName(target.Slice.ID), name)
	}

	hooks := n.publisher(func(c *driver.Config) { c.HookPath = "/usr/bin/nvidia-cdi-hook" })
	if err := hooks.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.golden(cdi.DriverFile, "driver-with-hooks")

	plain := n.publisher(func(c *driver.Config) { c.Lend = nil })
	if err := plain.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.golden(cdi.DriverFile, "driver-without-toolkit")
}

func TestMIGSpecFollowsTheInstance(t *testing.T) {
	n := newNode(t)
	p := n.publisher(nil)
	migTarget, old := n.instance(3)
	slice := n.target("0c-mig-3", "mig", gpu.KindMIG, 2)
	slice.Slice.MIG, slice.Instance = &migTarget, &old
	put(t, p, slice)
	path := filepath.Join(n.dir, cdi.FileName(slice.Slice.ID))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, _ := os.Stat(path)
	put(t, p, slice)
	if again, _ := os.Stat(path); !os.SameFile(stat, again) {
		t.Error("a spec that did not change was written again")
	}

	// Made anew, and given another number by the driver.
	fresh := old
	fresh.GIID, fresh.UUID = old.GIID+1, "MIG-00000000-0000-4000-8000-000000000000"
	slice.Instance = &fresh
	put(t, p, slice)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before, after) {
		t.Error("the spec still opens the old instance")
	}
	for _, uuid := range []string{old.UUID, fresh.UUID, old.GPU} {
		if strings.Contains(string(after), uuid) {
			t.Errorf("the spec contains %s", uuid)
		}
	}
}

func TestMissingNodesKeepASpecFromBeingPublished(t *testing.T) {
	n := newNode(t)
	migTarget, inst := n.instance(0)
	migSlice := n.target("0c-mig-0", "mig", gpu.KindMIG, 2)
	migSlice.Slice.MIG = &migTarget
	migLost := migSlice
	migLost.Instance = &inst
	half := migLost
	halfInst := inst
	halfInst.CIID = -1
	half.Instance = &halfInst
	tests := map[string]struct {
		damage func()
		target specdir.Target
		edit   func(*driver.Config)
		words  string
	}{
		"no instance yet":    {target: migSlice, words: "MIG instance does not exist yet"},
		"half-made instance": {target: half, words: "no compute instance"},
		"no right to make caps": {
			target: migLost,
			edit:   func(c *driver.Config) { c.MakeNode = func(string, uint32, uint32) error { return syscall.EPERM } },
			words:  "CAP_MKNOD",
		},
		"a GPU of a set is missing": {
			target: func() specdir.Target {
				x := n.target("0a-pair-0", "pair", gpu.KindWhole, 0, 1)
				x.GPUs = x.GPUs[:1]
				return x
			}(),
			words: "1 of its 2 GPUs",
		},
		"the node of one GPU is missing": {
			damage: func() { _ = os.Remove(filepath.Join(n.root, "dev/nvidia1")) },
			target: n.target("0a-pair-0", "pair", gpu.KindWhole, 0, 1),
			words:  "/dev/nvidia1",
		},
		"the node is a plain file": {
			damage: func() {
				node := filepath.Join(n.root, "dev/nvidia1")
				_ = os.Remove(node)
				_ = os.WriteFile(node, nil, 0o600)
			},
			target: n.target("0b-large-0", "large", gpu.KindWhole, 1),
			words:  "not a character device",
		},
		"an ID that CDI does not allow": {
			target: n.target("-x", "cpu", gpu.KindCPU),
			words:  "name CDI device",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.damage != nil {
				tc.damage()
			}
			err := n.publisher(tc.edit).Put(t.Context(), tc.target)
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("error %v, want it to say %q", err, tc.words)
			}
			if files, _ := os.ReadDir(n.dir); len(files) > 0 {
				t.Errorf("published: %v", files)
			}
		})
	}
}

func TestDriverMustBeThere(t *testing.T) {
	n := newNode(t)
	for _, toolkit := range []bool{true, false} {
		p := n.publisher(func(c *driver.Config) {
			c.Root = t.TempDir()
			c.DevRoot = n.root
			if !toolkit {
				c.Lend = nil
			}
		})
		if err := p.PutDriver(t.Context()); err == nil || !strings.Contains(err.Error(), "no driver library") {
			t.Errorf("without libraries: %v", err)
		}
	}
	p := n.publisher(func(c *driver.Config) { c.DevRoot = t.TempDir() })
	if err := p.PutDriver(t.Context()); err == nil || !strings.Contains(err.Error(), "/dev/nvidiactl") {
		t.Errorf("without control node: %v", err)
	}
}

func TestSweepRemovesOnlyOurOrphans(t *testing.T) {
	n := newNode(t)
	p := n.publisher(nil)
	if err := p.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []gpu.SliceID{"a", "b", "c"} {
		put(t, p, n.target(id, "cpu", gpu.KindCPU))
	}
	foreign := filepath.Join(n.dir, "nvidia.yaml")
	if err := os.WriteFile(foreign, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	removed, err := n.publisher(nil).Sweep(func(id gpu.SliceID) bool { return id == "b" })
	if err != nil || !slices.Equal(removed, []gpu.SliceID{"a", "c"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := p.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := p.Remove("b"); err != nil {
		t.Errorf("again: %v", err)
	}
	var left []string
	entries, _ := os.ReadDir(n.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{cdi.DriverFile, "nvidia.yaml"}, left); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := p.Withdraw(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(n.dir); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

func TestAccessWithoutCDI(t *testing.T) {
	n := newNode(t)
	p := n.publisher(nil)
	if err := p.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	block := n.target("0a-small-1", "small", gpu.KindBlock, 0)
	block.Slice.Block = &gpu.Block{Percent: 25, MemoryBytes: 1 << 30}
	put(t, p, block)
	put(t, p, n.target("cpu-0", "cpu", gpu.KindCPU))

	a, ok := p.Access("0a-small-1")
	if !ok {
		t.Fatal("not published")
	}
	wantEnv := map[string]string{
		"AIPUB_SET": "small", "AIPUB_SLICE": "0a-small-1", "AIPUB_BLOCK_PERCENT": "25", "AIPUB_MEMORY_BYTES": "1073741824",
		"NVIDIA_VISIBLE_DEVICES": "void", "NVIDIA_CTK_LIBCUDA_DIR": "/usr/lib/x86_64-linux-gnu",
	}
	if diff := cmp.Diff(wantEnv, a.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if !slices.Contains(a.Devices, cdi.Device{HostPath: hostRoot + "/dev/nvidia0", ContainerPath: "/dev/nvidia0", Permissions: "rw"}) {
		t.Errorf("devices %+v", a.Devices)
	}
	if slices.ContainsFunc(a.Devices, func(d cdi.Device) bool { return d.ContainerPath == "/dev/nvidia1" }) {
		t.Error("another GPU's node is there")
	}
	if !slices.Contains(a.Mounts, cdi.Mount{
		HostPath:      hostRoot + "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05",
		ContainerPath: "/usr/lib64/libcuda.so.1", ReadOnly: true}) {
		t.Errorf("mounts %+v", a.Mounts)
	}

	if a, ok = p.Access("cpu-0"); !ok || len(a.Devices)+len(a.Mounts) > 0 || a.Env["AIPUB_SET"] != "cpu" {
		t.Errorf("CPU set gets %+v", a)
	}
	if _, ok := p.Access("unknown"); ok {
		t.Error("an unknown slice has access")
	}
}
