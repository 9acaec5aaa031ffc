// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aipub.io/aipub/sharer/attach"
)

const uid = "0f2a1b3c-1111-2222-3333-444455556666"

var id = strings.Repeat("0123456789abcdef", 4)

// proc is a tree like /proc.
type proc struct {
	testing.TB
	root string
}

func newProc(t testing.TB) proc { return proc{t, t.TempDir()} }

// process writes a process, over one with the same PID.
func (p proc) process(pid int, start uint64, cgroup string, files ...string) {
	p.Helper()
	dir := filepath.Join(p.root, strconv.Itoa(pid))
	if err := os.RemoveAll(dir); err != nil {
		p.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o755); err != nil {
		p.Fatal(err)
	}
	stat := fmt.Sprintf("%d (a ) b (c) S %s%d 0 0\n", pid, strings.Repeat("1 ", 18), start)
	for name, text := range map[string]string{"stat": stat, "cgroup": cgroup} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			p.Fatal(err)
		}
	}
	for i, file := range files {
		if err := os.Symlink(file, filepath.Join(dir, "fd", strconv.Itoa(i))); err != nil {
			p.Fatal(err)
		}
	}
}

func TestContainerOfProcess(t *testing.T) {
	systemd := strings.ReplaceAll(uid, "-", "_")
	pod := attach.Container{ID: id, PodUID: uid}
	for name, tc := range map[string]struct {
		cgroup string
		want   attach.Container
	}{
		"v2, systemd, containerd": {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemd + ".slice/cri-containerd-" + id + ".scope\n", pod},
		"v2, guaranteed, CRI-O":   {"0::/kubepods.slice/kubepods-pod" + systemd + ".slice/crio-" + id + ".scope/container\n", pod},
		"v2, cgroupfs":            {"0::/kubepods/besteffort/pod" + uid + "/" + id + "\n", pod},
		"v2, other namespace":     {"0::/../../kubepods-besteffort-pod" + systemd + ".slice/cri-containerd-" + id + ".scope\n", pod},
		"v2, below the container": {"0::/kubepods/pod" + uid + "/" + id + "/user.slice/x:y\n", pod},
		"v1, cgroupfs":            {"12:pids:/kubepods/burstable/pod" + uid + "/" + id + "\n4:memory:/kubepods/burstable/pod" + uid + "/" + id + "\n0::/\n", pod},
		"v1, docker":              {"3:cpu,cpuacct:/kubepods.slice/kubepods-pod" + systemd + ".slice/docker-" + id + ".scope\n", pod},
		"kind":                    {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + systemd + ".slice/cri-containerd-" + id + ".scope\n", pod},
		"static pod": {
			"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + id + "\n",
			attach.Container{ID: id, PodUID: "0123456789abcdef0123456789abcdef"},
		},
		"a container outside of Kubernetes": {"0::/system.slice/docker-" + id + ".scope\n", attach.Container{}},
		"a pod's own cgroup":                {"0::/kubepods/pod" + uid + "\n", attach.Container{}},
		"host":                              {"0::/user.slice/user-0.slice/session-1.scope\n", attach.Container{}},
		"a service with pod in its name":    {"0::/system.slice/podman-" + id + ".service\n", attach.Container{}},
		"nothing":                           {"", attach.Container{}},
		"garbage":                           {"::\n:\n0\n//pod/\n", attach.Container{}},
	} {
		p := newProc(t)
		p.process(42, 777, tc.cgroup)
		process, container, err := attach.NewProc(p.root).Process(42)
		if err != nil || container != tc.want || process != (attach.ProcessID{PID: 42, Start: 777}) {
			t.Errorf("%s: %v in %+v, %v; want %+v", name, process, container, err, tc.want)
		}
	}
}

func TestProcessThatIsGone(t *testing.T) {
	if _, _, err := attach.NewProc(newProc(t).root).Process(42); err == nil {
		t.Error("read a process that does not exist")
	}
}

func TestUsers(t *testing.T) {
	p := newProc(t)
	pod := "0::/kubepods/pod" + uid + "/" + id + "\n"
	p.process(10, 1, pod, "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia1", "socket:[1]")
	p.process(11, 1, pod, "/dev/nvidia0", "/dev/nvidiactl")                                      // asks for the state
	p.process(12, 1, "0::/system.slice/x.service\n", "/dev/nvidia0", "/dev/nvidia-uvm")          // of the host
	p.process(13, 1, strings.ReplaceAll(pod, "4444", "9999"), "/dev/nvidia0", "/dev/nvidia-uvm") // of another pod
	p.process(14, 1, pod, "/dev/nvidia-uvm")
	r := attach.NewProc(p.root)
	users := func() []attach.User {
		t.Helper()
		users, err := r.Users(func(c attach.Container) bool { return c.PodUID == uid })
		if err != nil {
			t.Fatal(err)
		}
		return users
	}
	got := users()
	if len(got) != 1 || got[0].Process.PID != 10 || !slices.Equal(got[0].Minors, []int{0, 1}) || got[0].Container.ID != id {
		t.Fatalf("users are %+v, want process 10 with GPUs 0 and 1", got)
	}
	// The runtime makes a process outside of the container, and moves it.
	p.process(20, 2, "0::/system.slice/containerd.service\n", "/dev/nvidia0", "/dev/nvidia-uvm")
	users()
	p.process(20, 2, pod, "/dev/nvidia0", "/dev/nvidia-uvm")
	if got := users(); len(got) != 2 {
		t.Fatalf("users are %+v, want the one that was moved too", got)
	}
	// A PID that is used again, long after, by the host.
	for range 20 {
		users()
	}
	p.process(10, 99, "0::/system.slice/x.service\n", "/dev/nvidia0", "/dev/nvidia-uvm")
	for range 10 {
		got = users()
	}
	if len(got) != 1 || got[0].Process.PID != 20 {
		t.Fatalf("users are %+v, want only process 20", got)
	}
}

// BenchmarkUsers scans a node with 1000 processes, of which 50 are of containers
// of interest with 20 files each.
func BenchmarkUsers(b *testing.B) {
	p := proc{b, b.TempDir()}
	files := slices.Repeat([]string{"/dev/null"}, 18)
	files = append(files, "/dev/nvidia0", "/dev/nvidia-uvm")
	for pid := range 1000 {
		if pid < 50 {
			p.process(pid, 1, "0::/kubepods/pod"+uid+"/"+id+"\n", files...)
		} else {
			p.process(pid, 1, "0::/system.slice/x.service\n")
		}
	}
	r := attach.NewProc(p.root)
	for b.Loop() {
		users, err := r.Users(func(c attach.Container) bool { return c.PodUID == uid })
		if err != nil || len(users) != 50 {
			b.Fatalf("%d users, %v", len(users), err)
		}
	}
}
