// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// started makes a pod's container one that runs: a process with a cgroup, and
// the ID in the pod's status. It returns the file with its CPU time.
func (r *rig) started(p fakekubelet.Pod) (cpu string) {
	r.t.Helper()
	id := strings.Repeat(strconv.Itoa(r.pods), 64)
	uid := strings.Repeat("a", 32)
	pid := filepath.Join(r.options.pids, strconv.Itoa(1000+r.pods))
	group := "/kubepods/pod" + uid + "/" + id
	cpu = filepath.Join(r.options.cgroupRoot, group, "cpu.stat")
	r.must(os.MkdirAll(pid, 0o755))
	r.must(os.MkdirAll(filepath.Dir(cpu), 0o755))
	r.must(os.WriteFile(filepath.Join(pid, "stat"), []byte("1 (x) S"+strings.Repeat(" 0", 18)+" 77 0 0\n"), 0o644))
	r.must(os.WriteFile(filepath.Join(pid, "cgroup"), []byte("0::"+group+"\n"), 0o644))
	r.must(os.WriteFile(cpu, []byte("usage_usec 0\n"), 0o644))
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.cluster.containers == nil {
		r.cluster.containers = map[string]string{}
	}
	r.cluster.containers[p.UID] = id
	return cpu
}

// activity is what was published last of a slice's holder.
func (r *rig) activity(id string) *api.SliceActivity {
	for _, s := range r.reports.status().Slices {
		if s.ID == id {
			return s.Activity
		}
	}
	return nil
}

func TestTheAgentSeesWhatHoldersDo(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.options.pids, r.options.cgroupRoot = t.TempDir(), t.TempDir()
	r.options.idle.CPUPercent, r.options.idle.GPUPercent = 10, 1
	r.want(threeWays)
	r.start()
	r.allocatable("large", 1)
	pod, ids := r.pod("large", 1)
	id := ids[0]
	index := slices.IndexFunc(r.gpus, func(g gpu.GPU) bool { return g.UUID == r.slice(id).Slice.GPUs[0] })
	r.eventually("its GPU is seen, its container is not", func() bool {
		a := r.activity(id)
		return a != nil && slices.Equal(a.Unknown, []string{"cpu", "terminal"}) && a.GPUAt == nil
	})
	cpu := r.started(pod)
	r.eventually("its CPU is seen", func() bool { a := r.activity(id); return slices.Equal(a.Unknown, []string{"terminal"}) })
	if a := r.activity(id); a.CPUAt != nil || a.GPUAt != nil {
		t.Errorf("idle, and it is said to work: %+v", a)
	}
	r.must(os.WriteFile(cpu, []byte("usage_usec 60000000\n"), 0o644))
	r.eventually("its CPU works", func() bool { a := r.activity(id); return a.CPUAt != nil && a.GPUAt == nil })
	r.machine.Ctl("util", strconv.Itoa(index), "40")
	r.eventually("its GPU works", func() bool { return r.activity(id).GPUAt != nil })
	_, body := get(t, newMetrics().handler(r.agent), "/metrics")
	for signal, want := range map[string]bool{"cpu": true, "gpu": true, "terminal": false} {
		series := `aipub_slice_idle_seconds{container="main",namespace="team",pod="` + pod.Name + `",set="large",signal="` + signal + `",slice="` + id + `"}`
		if strings.Contains(body, series) != want {
			t.Errorf("metric of %s: want %v in\n%s", signal, want, body)
		}
	}

	r.machine.Ctl("util", strconv.Itoa(index), "0")
	r.delete(pod)
	r.eventually("nobody's work is told of a slice that nobody holds", func() bool { return r.slice(id).State == gpu.StateFree && r.activity(id) == nil })
	r.pod("large", 1)
	r.eventually("the next holder has not worked", func() bool { a := r.activity(id); return a != nil && a.GPUAt == nil && a.CPUAt == nil })
}

func TestTheGPUOfAMIGInstanceIsUnknownAndNotIdle(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, ids := r.pod("mig", 1)
	r.eventually("it is told", func() bool { a := r.activity(ids[0]); return a != nil && slices.Contains(a.Unknown, "gpu") })
}

func TestABlockSlicesGPUIsSeenByItsShare(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	_, ids := r.pod("small", 1)
	r.eventually("it is seen and idle", func() bool {
		a := r.activity(ids[0])
		return a != nil && !slices.Contains(a.Unknown, "gpu") && a.GPUAt == nil
	})
}

func TestAClockThatIsSetBackDropsWhatWasRead(t *testing.T) {
	l := loads{seen: map[string]uint64{"g": 5}}
	now := time.Now()
	l.watch(now, time.Hour)
	l.watch(now.Add(time.Minute), time.Hour+time.Minute)
	l.watch(now.Add(48*time.Hour), time.Hour+2*time.Minute)
	if l.seen["g"] != 5 {
		t.Error("dropped without a step back")
	}
	l.watch(now, time.Hour+3*time.Minute)
	if _, ok := l.seen["g"]; ok {
		t.Error("samples after the step would be taken for older ones")
	}
}
