// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

// everything are the kubelet's devices by set, with how many are allocatable.
func (r *rig) everything() map[string][]string {
	all := map[string][]string{}
	for _, set := range []string{"small", "medium", "mig", "large"} {
		all[set] = r.kubelet.Devices(gpu.ResourceName(set))
	}
	return all
}

func TestARestartBeforeTheDriverAnswersAdvertisesTheSameIDs(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	r.reason("Applied")
	_, ids := r.pod("mig", 1)
	since := r.slice(ids[0]).Since
	want := r.everything()
	r.end()

	library := r.options.nvmlLibrary
	r.options.nvmlLibrary = filepath.Join(r.options.driverRoot, "missing.so")
	r.must(r.kubelet.Restart()) // it has forgotten all that is healthy
	r.start()
	r.reason("Hardware")
	r.allocatable("mig", 7)
	r.allocatable("large", 1)
	r.allocatable("medium", 2)
	r.allocatable("small", 4)
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices without a driver (-want +got):\n%s", diff)
	}
	if st := r.slice(ids[0]); st.Holder.Pod != "pod-1" || !st.Since.Equal(since) {
		t.Errorf("%s is held by %q since %v; want pod-1 since %v", ids[0], st.Holder.Pod, st.Since, since)
	}
	r.end()

	r.options.nvmlLibrary = library
	r.start()
	r.reason("Applied")
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices with the driver (-want +got):\n%s", diff)
	}
	if n := r.news.count("Normal", "Applied"); n != 0 {
		t.Errorf("%d events say Applied; an agent that finds all in order has no news", n)
	}
}

func TestARebootMakesTheInstancesAgainUnderTheSameIDs(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, ids := r.pod("mig", 1)
	want := r.everything()
	uuid := r.slice(ids[0]).Instance.UUID
	r.end()

	r.machine.Ctl("reboot")
	r.must(os.RemoveAll(r.options.cdiDir)) // it is on a tmpfs
	r.machine.Ctl("latency", "DeviceSetMigMode", "300")
	r.cluster.reach(false)
	r.must(r.kubelet.Reboot())
	r.start()
	if diff := cmp.Diff(want, r.everything()); r.kubelet.Allocatable(gpu.ResourceName("mig")) > 0 && diff != "" {
		t.Errorf("devices after the boot (-want +got):\n%s", diff)
	}
	for _, id := range want["mig"] { // who holds what is asked of the kubelet after the start
		state := map[bool]gpu.State{true: gpu.StateHeld, false: gpu.StatePreparing}[id == ids[0]]
		r.eventually(fmt.Sprintf("%s to be %s before its instance exists", id, state), func() bool { return r.slice(id).State == state })
	}
	r.cluster.reach(true)
	r.allocatable("mig", 7)
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if in := r.slice(ids[0]).Instance; in == nil || in.UUID == uuid {
		t.Errorf("the held slice has instance %v; want a new one", in)
	}
	r.reason("Applied")
}

func TestSetsWithoutSizeAreWaitedFor(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	d, _ := r.cluster.now()
	sized := d.Sets
	d.Sets = nil
	r.cluster.set(d)
	r.start()
	r.reason("Pending")
	r.eventually("all sets to be named", func() bool { return strings.Contains(r.reports.message(), "small, medium, mig, large") })
	d.Sets = sized
	r.cluster.set(d)
	r.allocatable("mig", 7)
	r.reason("Applied")
}

func TestABadRecordIsKeptAndTheHardwareBelieved(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, small := r.pod("small", 1)
	_, mig := r.pod("mig", 1)
	want := r.everything()
	uuid := r.slice(mig[0]).Instance.UUID
	r.end()

	record := filepath.Join(r.options.stateDir, "partition.json")
	r.must(os.WriteFile(record, []byte("{ rubbish"), 0o600))
	r.cluster.reach(false) // so that the kubelet is heard first
	r.start()
	r.eventually("the kubelet's word on what is held", func() bool {
		return r.slice(small[0]).State == gpu.StateRetired && r.slice(mig[0]).State == gpu.StateRetired
	})
	r.cluster.reach(true)
	r.allocatable("mig", 7)
	r.reason("Applied")
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	r.allocatable("medium", 1) // what is held counts
	if st := r.slice(mig[0]); st.State != gpu.StateHeld || st.Instance == nil || st.Instance.UUID != uuid {
		t.Errorf("the held MIG slice is %s on %v, want Held on %s", st.State, st.Instance, uuid)
	}
	kept, err := filepath.Glob(record + ".corrupt-*")
	if err != nil || len(kept) != 1 {
		t.Errorf("kept files: %v, %v; want one", kept, err)
	}
}

func TestAMachineWithoutGPUsServesCPUSets(t *testing.T) {
	r := newRig(t, "")
	r.options.nvmlLibrary = filepath.Join(r.options.driverRoot, "missing.so")
	r.want(`sets: [{name: cpu, cpu: "2", memory: 8Gi}]`)
	r.start()
	r.allocatable("cpu", 24)
	pod, ids := r.pod("cpu", 1)
	resp := r.kubelet.Response(pod.UID, "main", gpu.ResourceName("cpu"))
	if len(resp.CdiDevices) != 1 || resp.CdiDevices[0].Name != "aipub.io/set="+ids[0] {
		t.Errorf("CDI devices %v", resp.CdiDevices)
	}
	r.reason("Applied")
}

func TestTheDriverIsWaitedFor(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	late := filepath.Join(r.options.driverRoot, "late.so.1")
	r.options.nvmlLibrary = late
	r.want(threeWays)
	r.start()
	r.reason("Hardware")
	if msg := r.reports.message(); !strings.Contains(msg, "does not answer yet") {
		t.Errorf("message %q", msg)
	}
	r.must(os.Symlink(r.machine.LibraryPath(), late))
	r.allocatable("mig", 7)
	r.allocatable("large", 1)
	r.reason("Applied")
}

func TestAReloadedDriverIsOpenedAnew(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("mig", 7)
	_, ids := r.pod("large", 1)
	want := r.everything()
	r.machine.Ctl("reboot") // sessions end as they do when the driver is reloaded
	r.eventually("instances that were made again", func() bool { return strings.Count(r.machine.Ctl("state", "-o", "json"), `"MIG-`) == 7 })
	r.allocatable("mig", 7)
	r.reason("Applied")
	if diff := cmp.Diff(want, r.everything()); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	if st := r.slice(ids[0]); st.State != gpu.StateHeld {
		t.Errorf("%s is %s", ids[0], st.State)
	}
}

func TestAnAgentThatEndsLeavesNothingRunning(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	for range 2 {
		r.start()
		r.allocatable("mig", 7)
		r.reason("Applied")
		r.end()
	}
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if left = running(); len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind:\n%s", strings.Join(left, "\n\n"))
}

// running are the goroutines in product code.
func running() []string {
	buf := make([]byte, 1<<22)
	buf = buf[:runtime.Stack(buf, true)]
	return slices.DeleteFunc(strings.Split(string(buf), "\n\n"), func(stack string) bool {
		return !strings.Contains(stack, "aipub.io/aipub/") || strings.Contains(stack, "aipub.io/aipub/test/") || strings.Contains(stack, "testing.tRunner")
	})
}

func TestAnAgentEndsInTheMiddleOfASlowStep(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.machine.Ctl("latency", "DeviceCreateGpuInstanceWithPlacement", "500")
	r.want(threeWays)
	r.start()
	r.eventually("a step under way", func() bool { return strings.Contains(r.machine.Ctl("state", "-o", "json"), `"migMode":1`) })
	r.end()
	r.machine.Ctl("latency", "DeviceCreateGpuInstanceWithPlacement", "0")
	r.start()
	r.allocatable("mig", 7)
}
