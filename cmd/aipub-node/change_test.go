// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/gpusim"
)

func TestAHeldGPUKeepsItsCutUntilItsHolderEnds(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("large", 1)
	pod, ids := r.pod("large", 1)

	r.want(allBlocks)
	r.reason("WaitingForIdle")
	if !strings.Contains(r.reports.message(), ids[0]) {
		t.Errorf("message %q does not name %s", r.reports.message(), ids[0])
	}
	r.allocatable("small", 8) // the other two GPUs do not wait
	r.allocatable("mig", 0)
	if st := r.slice(ids[0]); st.State != gpu.StateHeld {
		t.Errorf("the held slice is %s", st.State)
	}

	r.delete(pod)
	r.allocatable("small", 12)
	r.reason("Applied")
	if _, err := os.Stat(filepath.Join(r.options.cdiDir, cdi.FileName(gpu.SliceID(ids[0])))); !os.IsNotExist(err) {
		t.Errorf("container edits of the slice that is gone: %v", err)
	}
	if !r.news.has("Normal", "WaitingForIdle") || !r.news.has("Normal", "Applied") {
		t.Errorf("events: %v", r.news.list)
	}
}

func TestModesOfIdleGPUsChangeBackAndForth(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.machine.Ctl("latency", "DeviceCreateGpuInstanceWithPlacement", "20")
	r.machine.Ctl("latency", "DeviceSetMigMode", "50")
	r.start()
	steps := []struct {
		policy, set string
		n           int
	}{
		{allWhole, "large", 3}, {allMIG, "mig", 21}, {allBlocks, "small", 12},
		{allMIG, "mig", 21}, {allWhole, "large", 3}, {threeWays, "mig", 7},
	}
	for _, s := range steps {
		r.want(s.policy)
		r.allocatable(s.set, s.n)
		r.reason("Applied")
	}
	r.want("")
	r.reason("NoPolicy")
	r.allocatable("mig", 0)
	if n := len(r.specs()); n != 0 {
		t.Errorf("%d spec files are left of a policy that is gone", n)
	}
}

// TestNothingIsOfferedBeforeItExists stops a change of mode in its middle: what
// the old mode had is gone, and nothing of the new one is there.
func TestNothingIsOfferedBeforeItExists(t *testing.T) {
	tests := map[string]struct {
		from, to, set string
		n             int
	}{
		"MIG on":  {allWhole, allMIG, "mig", 21},
		"MIG off": {allMIG, allBlocks, "medium", 6},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gpusim.ThreeH200)
			r.want(tc.from)
			r.start()
			r.reason("Applied")

			r.machine.Ctl("fail", "DeviceSetMigMode", "UNKNOWN")
			r.want(tc.to)
			r.reason("Hardware")
			if !strings.Contains(r.reports.message(), "(and 2 more)") {
				t.Errorf("message %q does not count the other GPUs", r.reports.message())
			}
			snap := r.agent.state.Snapshot()
			for _, st := range snap.Slices {
				if st.State == gpu.StateFree {
					t.Errorf("slice %s of %s is free while its GPU has the wrong mode", st.Slice.ID, st.Slice.Set)
				}
			}
			r.machine.Ctl("fail", "DeviceSetMigMode", "SUCCESS")
			r.allocatable(tc.set, tc.n)
			r.reason("Applied")
		})
	}
}

func TestAStepThatFailsLeavesTheRestServed(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.machine.Ctl("fail", "GpuInstanceCreateComputeInstance", "UNKNOWN")
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	r.allocatable("large", 1)
	r.reason("Hardware")
	if msg := r.reports.message(); !strings.Contains(msg, "CreateInstance on GPU "+r.gpus[1].UUID) {
		t.Errorf("message %q does not name the step and the GPU", msg)
	}
	r.allocatable("mig", 0)
	r.eventually("slices that are being prepared are shown to the kubelet", func() bool {
		return len(r.kubelet.Devices(gpu.ResourceName("mig"))) == 7
	})
	if !r.news.has("Warning", "Hardware") {
		t.Errorf("events: %v", r.news.list)
	}

	r.machine.Ctl("fail", "GpuInstanceCreateComputeInstance", "SUCCESS")
	r.allocatable("mig", 7)
	r.reason("Applied")
}

func TestHalfACutOffersWhatExists(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.machine.Ctl("latency", "DeviceCreateGpuInstanceWithPlacement", "100")
	r.want(threeWays)
	r.start()
	r.eventually("three instances", func() bool { return strings.Count(r.machine.Ctl("state", "-o", "json"), `"MIG-`) >= 3 })
	r.machine.Ctl("fail", "DeviceCreateGpuInstanceWithPlacement", "UNKNOWN")
	r.reason("Hardware")
	made := strings.Count(r.machine.Ctl("state", "-o", "json"), `"MIG-`)
	r.allocatable("mig", made)
	r.machine.Ctl("fail", "DeviceCreateGpuInstanceWithPlacement", "SUCCESS")
	r.allocatable("mig", 7)
}

func TestAGPUThatMustBeResetSaysSo(t *testing.T) {
	r := newRig(t, "[machine]\nname = two-a100\n[gpu]\nmodel = A100-80\ncount = 2\nmig-activation = reset\nnuma-node = 0\n")
	r.want("gpus: [{indices: [1], mode: MIG}]" + sets)
	r.start()
	r.allocatable("large", 1)
	r.reason("Hardware")
	if msg := r.reports.message(); !strings.Contains(msg, "reset") || !strings.Contains(msg, r.gpus[1].UUID) {
		t.Errorf("message %q", msg)
	}
	r.machine.Ctl("reset", "1")
	r.allocatable("mig", 7)
	r.reason("Applied")
}

func TestAProcessOutsideOfKubernetesIsWaitedFor(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(allMIG)
	r.start()
	r.allocatable("mig", 21)
	r.machine.Ctl("process", "add", "1/7/0", "4711")
	r.want(allWhole)
	r.reason("WaitingForIdle")
	r.allocatable("large", 2)
	r.machine.Ctl("process", "rm", "1/7/0", "4711")
	r.allocatable("large", 3)
	r.reason("Applied")
}

func TestAHeldSliceTakesItsNewSizeWhenItsHolderEnds(t *testing.T) {
	const roomy = "reserve: {cpu: \"0\"}\n" + allBlocks
	const tight = "reserve: {cpu: \"24\"}\n" + allBlocks
	r := newRig(t, gpusim.ThreeH200)
	r.want(roomy)
	r.start()
	r.allocatable("small", 12)
	pod, ids := r.pod("small", 1)
	before := r.slice(ids[0]).Slice.CPUMilli

	r.want(tight)
	r.eventually("smaller slices", func() bool {
		for _, st := range r.agent.state.Snapshot().Slices {
			if st.Slice.Set == "small" && st.State == gpu.StateFree {
				return st.Slice.CPUMilli < before
			}
		}
		return false
	})
	if got := r.slice(ids[0]).Slice.CPUMilli; got != before {
		t.Errorf("the held slice shrank from %d to %d", before, got)
	}
	r.end()
	r.start() // the size under which it was given away is remembered
	if got := r.slice(ids[0]).Slice.CPUMilli; got != before {
		t.Errorf("after a restart the held slice has %d, not %d", got, before)
	}
	r.reason("Applied")
	r.delete(pod)
	r.eventually("the new size", func() bool { return r.slice(ids[0]).Slice.CPUMilli < before })
}

func TestResponseWithoutCDI(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.options.cdi = false
	r.want(threeWays)
	r.start()
	for set, device := range map[string]string{"small": "/dev/nvidia0", "large": "/dev/nvidia2"} {
		r.eventually("a free slice of "+set, func() bool { return r.kubelet.Allocatable(gpu.ResourceName(set)) > 0 })
		pod, ids := r.pod(set, 1)
		resp := r.kubelet.Response(pod.UID, "main", gpu.ResourceName(set))
		if len(resp.CdiDevices) > 0 {
			t.Errorf("%s: CDI devices %v", set, resp.CdiDevices)
		}
		devices := map[string]string{}
		for _, d := range resp.Devices {
			devices[d.ContainerPath] = d.HostPath
		}
		if host := filepath.Join(r.options.driverRoot, device); devices[device] != host || devices["/dev/nvidiactl"] == "" {
			t.Errorf("%s: devices %v; want %s from %s, and nvidiactl", set, devices, device, host)
		}
		for other := range devices {
			if strings.HasPrefix(other, "/dev/nvidia") && len(other) == len("/dev/nvidia0") && other != device {
				t.Errorf("%s: it gets %s as well", set, other)
			}
		}
		if len(resp.Mounts) == 0 {
			t.Errorf("%s: no mounts; the driver's libraries are missing", set)
		}
		if diff := cmp.Diff([]string{set, ids[0], "void"}, []string{resp.Envs["AIPUB_SET"], resp.Envs["AIPUB_SLICE"], resp.Envs["NVIDIA_VISIBLE_DEVICES"]}); diff != "" {
			t.Errorf("%s: environment (-want +got):\n%s", set, diff)
		}
	}
}

func TestADriverSpecThatSomebodyRemovedIsWrittenAgain(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.reason("Applied")
	path := filepath.Join(r.options.cdiDir, cdi.DriverFile)
	r.must(os.Remove(path))
	r.want(threeWays) // the next look
	r.eventually("the driver's spec to be there again", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}
