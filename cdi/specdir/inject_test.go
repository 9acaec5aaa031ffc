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
