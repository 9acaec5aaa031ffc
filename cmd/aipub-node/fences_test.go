// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/attach"
	"aipub.io/aipub/sharer/fence"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/test/gpusim"
)

const (
	containerID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	podCgroup   = "/kubepods/pod11111111-2222-3333-4444-555555555555"
)

// process writes what /proc says of one.
func process(t *testing.T, proc string, pid int, start uint64, cgroup string) {
	t.Helper()
	dir := filepath.Join(proc, strconv.Itoa(pid))
	stat := strconv.Itoa(pid) + " (python3) S" + strings.Repeat(" 0", 18) + " " + strconv.FormatUint(start, 10) + " 0\n"
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644),
		os.WriteFile(filepath.Join(dir, "cgroup"), []byte("0::"+cgroup+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestAContainerIsFencedByTheSumOfItsSlices(t *testing.T) {
	own := podCgroup + "/" + containerID
	slice := func(id, uuid string, bytes uint64, processes ...socket.Process) socket.SliceView {
		return socket.SliceView{Slice: socket.Slice{ID: gpu.SliceID(id), GPU: uuid, MemoryBytes: bytes}, Processes: processes}
	}
	tenant := func(id string, held ...gpu.SliceID) socket.TenantView {
		return socket.TenantView{Stat: sharer.Stat{Tenant: sharer.TenantID(id)}, Slices: held}
	}
	alive := socket.Process{HostPID: 10, StartTime: 77}
	proc := t.TempDir()
	process(t, proc, 10, 77, own)
	a := &agent{options: options{pids: proc}, log: testr.New(t)}
	a.told.gpus = []gpu.GPU{{UUID: "GPU-0", PCIBusID: "00000000:3B:00.0"}, {UUID: "GPU-1", PCIBusID: "00000000:3C:00.0"}}
	whole := []fence.Container{{Cgroup: own, Shares: []fence.Share{{PCIBusID: "00000000:3B:00.0", Bytes: 100}, {PCIBusID: "00000000:3B:00.0", Bytes: 50}}}}
	for _, tc := range []struct {
		name string
		view socket.View
		want []fence.Container
	}{
		{
			"attached to the first of two slices so far",
			socket.View{Slices: []socket.SliceView{slice("a", "GPU-0", 100, alive), slice("b", "GPU-0", 50)}, Tenants: []socket.TenantView{tenant("team/p/main", "a", "b")}},
			whole,
		},
		{
			"nothing attached yet",
			socket.View{Slices: []socket.SliceView{slice("a", "GPU-0", 100)}, Tenants: []socket.TenantView{tenant("team/p/main", "a")}},
			nil,
		},
		{
			"the kubelet has not named the container",
			socket.View{Slices: []socket.SliceView{slice("a", "GPU-0", 100, alive)}, Tenants: []socket.TenantView{tenant(string(tenantOf(gpu.Status{Slice: gpu.Slice{ID: "a"}})), "a")}},
			nil,
		},
		{
			"a namespace with an odd name",
			socket.View{Slices: []socket.SliceView{slice("a", "GPU-0", 100, alive), slice("b", "GPU-0", 50)}, Tenants: []socket.TenantView{tenant("slice/p/main", "a", "b")}},
			whole,
		},
		{
			"the PID is another process by now",
			socket.View{Slices: []socket.SliceView{slice("a", "GPU-0", 100, socket.Process{HostPID: 10, StartTime: 5})}, Tenants: []socket.TenantView{tenant("team/p/main", "a")}},
			nil,
		},
	} {
		if diff := cmp.Diff(tc.want, a.containers(tc.view, attach.NewProc(proc))); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestTheKernelIsToldOfAnAttachedContainer(t *testing.T) {
	own := podCgroup + "/" + containerID
	proc, root := t.TempDir(), t.TempDir()
	process(t, proc, 10, 77, own+"/below")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("dmem.capacity", "drm/0000:3b:00.0/vram0 151397597184\n")
	for dir := own; dir != "/"; dir = filepath.Dir(dir) {
		write(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), "cpu memory")
	}
	a := &agent{options: options{pids: proc}, log: testr.New(t)}
	a.told.gpus = []gpu.GPU{{UUID: "GPU-0", PCIBusID: "00000000:3B:00.0"}}
	view := socket.View{
		Slices: []socket.SliceView{{
			Slice:     socket.Slice{ID: "a", GPU: "GPU-0", MemoryBytes: 4096},
			Processes: []socket.Process{{HostPID: 10, StartTime: 77}},
		}},
		Tenants: []socket.TenantView{{Stat: sharer.Stat{Tenant: "team/p/main"}, Slices: []gpu.SliceID{"a"}}},
	}
	k := &kernelFence{cgroups: fence.NewCgroups(root), proc: attach.NewProc(proc)}
	write(own+"/cgroup.procs", "")
	if got := a.limitByCgroup(k, view); got != nil {
		t.Errorf("the limit could not be written, and counts as a fence: %v", got)
	}
	write(own+"/dmem.max", "")
	if got := a.limitByCgroup(k, view); len(got) != 1 {
		t.Errorf("%v, want the GPU's region", got)
	}
	if got, err := os.ReadFile(filepath.Join(root, own, "dmem.max")); string(got) != "drm/0000:3b:00.0/vram0 4096\n" || err != nil {
		t.Errorf("dmem.max is %q, %v", got, err)
	}
}

func TestTheNodeSaysWhatFencesItsBlockGPUs(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	r.options.cgroupRoot = t.TempDir()
	r.want(threeWays)
	r.start()
	fences := func() map[int32][]api.Fence {
		got := map[int32][]api.Fence{}
		for _, g := range r.agent.status().GPUs {
			if len(g.Fences) > 0 {
				got[g.Index] = g.Fences
			}
		}
		return got
	}
	r.eventually("the limiter alone, and only on the block GPU", func() bool {
		return cmp.Equal(fences(), map[int32][]api.Fence{0: {api.FenceLimiter}})
	})
	capacity := "drm/" + strings.ToLower(strings.TrimPrefix(r.gpus[0].PCIBusID, "0000")) + "/vram0 151397597184\n"
	r.must(os.WriteFile(filepath.Join(r.options.cgroupRoot, "dmem.capacity"), []byte(capacity), 0o644))
	r.eventually("the kernel too, from outside", func() bool {
		return slices.Equal(fences()[0], []api.Fence{api.FenceCgroupMemory, api.FenceLimiter})
	})
	r.must(os.WriteFile(filepath.Join(r.options.cgroupRoot, "dmem.capacity"), []byte("nonsense\n"), 0o644))
	r.eventually("a fence that cannot be used is none", func() bool { return slices.Equal(fences()[0], []api.Fence{api.FenceLimiter}) })
}

func TestTheNodeSaysThatMPSRuns(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	r.options.cgroupRoot, r.options.pids = t.TempDir(), t.TempDir()
	for pid, comm := range map[string]string{"4711": "nvidia-cuda-mps\n", "4712": "python3\n"} {
		r.must(os.MkdirAll(filepath.Join(r.options.pids, pid), 0o755))
		r.must(os.WriteFile(filepath.Join(r.options.pids, pid, "comm"), []byte(comm), 0o644))
	}
	r.machine.Ctl("process", "add", "0", "4711", "--memory", "30MiB")
	r.machine.Ctl("process", "add", "1", "4712", "--memory", "30MiB")
	r.want(threeWays)
	r.start()
	r.eventually("MPS beside the limiter", func() bool {
		gpus := r.agent.status().GPUs
		return len(gpus) > 0 && slices.Equal(gpus[0].Fences, []api.Fence{api.FenceMPS, api.FenceLimiter})
	})
}
