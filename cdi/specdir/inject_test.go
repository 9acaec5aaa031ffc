// SPDX-License-Identifier: Apache-2.0

package specdir_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	cdilib "tags.cncf.io/container-device-interface/pkg/cdi"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/cdi/driver"
	"aipub.io/aipub/gpu"
)

// TestRuntimeGivesExactlyTheSlice resolves the names as a container runtime does
// and looks at the container that comes out.
func TestRuntimeGivesExactlyTheSlice(t *testing.T) {
	n := newNode(t)
	p := n.publisher(func(c *driver.Config) { c.HostRoot = n.root })
	if err := p.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	migTarget, inst := n.instance(6)
	migSlice := n.target("0c-mig-6", "mig", gpu.KindMIG, 2)
	migSlice.Slice.MIG, migSlice.Instance = &migTarget, &inst
	control := []string{"/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidiactl"}
	tests := map[string]struct {
		nodes []string
	}{
		"whole": {nodes: append([]string{"/dev/nvidia1"}, control...)},
		"multi": {nodes: append([]string{"/dev/nvidia0", "/dev/nvidia1"}, control...)},
		"mig":   {nodes: append([]string{"/dev/nvidia-caps/nvidia-cap390", "/dev/nvidia-caps/nvidia-cap391", "/dev/nvidia2"}, control...)},
		"cpu":   {},
	}
	targets := map[string]gpu.Slice{}
	for name, target := range map[string]struct {
		kind    gpu.Kind
		indices []int
	}{"whole": {gpu.KindWhole, []int{1}}, "multi": {gpu.KindWhole, []int{0, 1}}, "cpu": {gpu.KindCPU, nil}} {
		x := n.target(gpu.SliceID("0-"+name+"-0"), name, target.kind, target.indices...)
		put(t, p, x)
		targets[name] = x.Slice
	}
	put(t, p, migSlice)
	targets["mig"] = migSlice.Slice

	runtime, err := cdilib.NewCache(cdilib.WithSpecDirs(n.dir), cdilib.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if errs := runtime.GetErrors(); len(errs) > 0 {
		t.Fatalf("specs that the runtime refuses: %v", errs)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			container := oci.Spec{Process: &oci.Process{Env: []string{"LD_LIBRARY_PATH=/opt/lib"}}, Linux: &oci.Linux{}}
			if missing, err := runtime.InjectDevices(&container, cdi.Names(targets[name])...); err != nil {
				t.Fatalf("%v: %v", missing, err)
			}
			var nodes []string
			for _, d := range container.Linux.Devices {
				nodes = append(nodes, d.Path)
				if d.Major == 0 {
					t.Errorf("%s has no number", d.Path)
				}
			}
			slices.Sort(nodes)
			slices.Sort(tc.nodes)
			if diff := cmp.Diff(tc.nodes, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			for _, want := range []string{"LD_LIBRARY_PATH=/opt/lib", "AIPUB_SET=" + name, "NVIDIA_VISIBLE_DEVICES=void"} {
				if !slices.Contains(container.Process.Env, want) {
					t.Errorf("environment %v lacks %s", container.Process.Env, want)
				}
			}
			loads := slices.ContainsFunc(container.Mounts, func(m oci.Mount) bool {
				return m.Destination == "/usr/lib64/libcuda.so.1" && strings.HasPrefix(m.Source, filepath.Clean(n.root))
			})
			if want := name != "cpu"; loads != want {
				t.Errorf("driver library is there: %v, want %v", loads, want)
			}
		})
	}
}

// TestABlockSliceComesWithItsLimiter looks at what makes a share a limit: the
// slice's own folder, which the container cannot write but for its page, and the
// library with the hook that makes programs load it.
func TestABlockSliceComesWithItsLimiter(t *testing.T) {
	n := newNode(t)
	p := n.publisher(func(c *driver.Config) { c.HostRoot = n.root })
	if err := p.PutDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	block := n.target("0-small-3", "small", gpu.KindBlock, 0)
	block.Slice.Block = &gpu.Block{Percent: 25, MemoryBytes: 1 << 30}
	put(t, p, block)
	whole := n.target("0-large-0", "large", gpu.KindWhole, 1)
	put(t, p, whole)
	runtime, err := cdilib.NewCache(cdilib.WithSpecDirs(n.dir), cdilib.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	inject := func(s gpu.Slice) oci.Spec {
		container := oci.Spec{Process: &oci.Process{}, Linux: &oci.Linux{}}
		if missing, err := runtime.InjectDevices(&container, cdi.Names(s)...); err != nil {
			t.Fatalf("%v: %v", missing, err)
		}
		return container
	}
	container := inject(block.Slice)
	want := map[string]string{ // by destination: source and access
		"/run/aipub/slices/0-small-3":      "/run/aipub/slices/0-small-3 ro",
		"/run/aipub/slices/0-small-3/page": "/run/aipub/slices/0-small-3/page rw",
		"/run/aipub/libaipub.so":           "/var/lib/aipub/shim/libaipub-0123.so ro",
	}
	got := map[string]string{}
	for _, m := range container.Mounts {
		if strings.HasPrefix(m.Destination, "/run/aipub") {
			got[m.Destination] = m.Source + " " + m.Options[0]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if c := container.Hooks; c == nil || !slices.ContainsFunc(c.CreateContainer, func(h oci.Hook) bool {
		return h.Path == limiter.Hook && slices.Contains(h.Args, "--library=/run/aipub/libaipub.so")
	}) {
		t.Errorf("no hook loads the library: %+v", c)
	}
	other := inject(whole.Slice)
	if slices.ContainsFunc(other.Mounts, func(m oci.Mount) bool { return strings.HasPrefix(m.Destination, "/run/aipub") }) {
		t.Error("a whole GPU has the limiter")
	}
}
