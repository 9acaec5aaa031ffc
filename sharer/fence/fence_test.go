// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	id  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	pod = "/kubepods.slice/kubepods-podaaaa.slice"
)

func TestAGPUsRegionsAreFoundByItsPCIAddress(t *testing.T) {
	regions, err := ParseRegions("drm/0000:03:00.0/vram0 8514437120\ndrm/0000:03:00.0/stolen 67108864\nnvidia/0001:3b:00.0 150\n\nsystem 5\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, bus string
		want      []string
	}{
		{"NVML's spelling", "00000000:03:00.0", []string{"drm/0000:03:00.0/vram0", "drm/0000:03:00.0/stolen"}},
		{"capital letters", "00000001:3B:00.0", []string{"nvidia/0001:3b:00.0"}},
		{"another domain", "00000000:3B:00.0", nil},
		{"another function", "0000:03:00.1", nil},
		{"no address", "", nil},
	} {
		var got []string
		for _, r := range Of(regions, tc.bus) {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	for _, bad := range []string{"vram0", "vram0 many", "a 1 2"} {
		if _, err := ParseRegions(bad); err == nil {
			t.Errorf("%q is read as a region", bad)
		}
	}
}

func TestAContainerMayUseTheSumOfItsSlices(t *testing.T) {
	regions := []Region{{"drm/0000:03:00.0/vram0", 100}, {"drm/0000:04:00.0/vram0", 100}}
	got := Plan(regions, []Container{
		{Cgroup: "/b", Shares: []Share{{"0000:03:00.0", 10}, {"0000:03:00.0", 15}, {"0000:04:00.0", 7}}},
		{Cgroup: "/a", Shares: []Share{{"0000:03:00.0", 30}, {"0000:09:00.0", 5}}},
		{Cgroup: "/free", Shares: []Share{{"0000:03:00.0", 10}, {"0000:03:00.0", 0}, {"0000:03:00.0", 5}}},
	})
	want := []Limit{
		{"/a", "drm/0000:03:00.0/vram0", 30},
		{"/b", "drm/0000:03:00.0/vram0", 25},
		{"/b", "drm/0000:04:00.0/vram0", 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheContainersOwnCgroup(t *testing.T) {
	own := pod + "/cri-containerd-" + id + ".scope"
	for _, tc := range []struct{ name, text, want string }{
		{"systemd", "0::" + own + "\n", own},
		{"cgroupfs", "0::/kubepods/podaaaa/" + id + "\n", "/kubepods/podaaaa/" + id},
		{"below its own", "0::" + own + "/init/worker\n", own},
		{"both versions", "4:memory:/kubepods/podaaaa/" + id + "\n0::" + own + "\n", own},
	} {
		if got, err := CgroupOf(tc.text, id); err != nil || got != tc.want {
			t.Errorf("%s: %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ name, text, id, says string }{
		{"version 1", "4:memory:/kubepods/podaaaa/" + id + "\n", id, "version 2"},
		{"no container", "0::/user.slice\n", id, "version 2"},
		{"no ID", "0::" + own + "\n", "", "version 2"},
		{"the agent in a namespace of its own", "0::/../../" + id + "\n", id, "privileged"},
	} {
		if got, err := CgroupOf(tc.text, tc.id); !errors.Is(err, ErrNoCgroup) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

// tree is a cgroup hierarchy of plain files.
type tree struct {
	t    *testing.T
	root string
}

func newTree(t *testing.T, cgroups ...string) tree {
	x := tree{t, t.TempDir()}
	x.write("dmem.capacity", "drm/0000:03:00.0/vram0 8514437120\n")
	for _, c := range cgroups {
		for dir := c; dir != "/"; dir = filepath.Dir(dir) {
			x.write(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), "cpu memory\n")
		}
		x.write(filepath.Join(c, "dmem.max"), "")
	}
	return x
}

func (x tree) write(name, text string) {
	x.t.Helper()
	path := filepath.Join(x.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		x.t.Fatal(err)
	}
}

func (x tree) expect(name, want string) {
	x.t.Helper()
	got, err := os.ReadFile(filepath.Join(x.root, name))
	if err != nil || !strings.HasPrefix(string(got), want) {
		x.t.Errorf("%s is %q, %v, want %q", name, got, err, want)
	}
}

func TestLimitsAreWrittenWhenTheyChange(t *testing.T) {
	x := newTree(t, pod+"/one", pod+"/two")
	c := NewCgroups(x.root)
	limit := func(cgroup string, bytes uint64) Limit {
		return Limit{pod + cgroup, "drm/0000:03:00.0/vram0", bytes}
	}
	apply := func(limits ...Limit) {
		t.Helper()
		if err := c.Apply(limits); err != nil {
			t.Error(err)
		}
	}
	apply(limit("/one", 4096))
	x.expect(pod+"/one/dmem.max", "drm/0000:03:00.0/vram0 4096\n")
	for _, dir := range []string{"", "/kubepods.slice", pod} {
		x.expect(dir+"/cgroup.subtree_control", "+dmem")
	}
	x.write(pod+"/one/dmem.max", "")
	apply(limit("/one", 4096))
	if got, _ := os.ReadFile(filepath.Join(x.root, pod, "one/dmem.max")); len(got) > 0 {
		t.Errorf("what is written already is written again: %q", got)
	}
	apply(limit("/one", 8192), limit("/two", 4096)) // a new size, and the container's next life
	x.expect(pod+"/one/dmem.max", "drm/0000:03:00.0/vram0 8192\n")
	x.expect(pod+"/two/dmem.max", "drm/0000:03:00.0/vram0 4096\n")

	// It went away and came back, as an agent that restarts sees it.
	apply()
	apply(limit("/one", 8192))
	x.expect(pod+"/one/dmem.max", "drm/0000:03:00.0/vram0 8192\n")
}

func TestWhatCannotBeLimitedIsSaid(t *testing.T) {
	x := newTree(t, pod+"/one")
	c := NewCgroups(x.root)
	if err := c.Apply([]Limit{{pod + "/gone", "r", 1}}); err != nil {
		t.Errorf("a container that has ended is an error: %v", err)
	}
	if err := os.Remove(filepath.Join(x.root, pod, "one/dmem.max")); err != nil {
		t.Fatal(err)
	}
	err := c.Apply([]Limit{{pod + "/one", "r", 1}})
	if err == nil || !strings.Contains(err.Error(), "limit r of cgroup "+pod+"/one to 1 bytes") {
		t.Errorf("a limit that was not written: %v", err)
	}
	x.write(pod+"/one/dmem.max", "")
	if err := c.Apply([]Limit{{pod + "/one", "r", 1}}); err != nil {
		t.Error(err)
	}
	x.expect(pod+"/one/dmem.max", "r 1\n") // it was tried again
}

func TestAKernelWithoutTheControllerHasNoRegions(t *testing.T) {
	if got, err := NewCgroups(t.TempDir()).Regions(); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	x := newTree(t)
	got, err := NewCgroups(x.root).Regions()
	if diff := cmp.Diff([]Region{{"drm/0000:03:00.0/vram0", 8514437120}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestTheMPSServerIsKnownByItsName(t *testing.T) {
	for comm, want := range map[string]bool{"nvidia-cuda-mps\n": true, "nvidia-smi\n": false, "python3\n": false} {
		if got := IsMPSServer(comm); got != want {
			t.Errorf("%q: %v", comm, got)
		}
	}
}
