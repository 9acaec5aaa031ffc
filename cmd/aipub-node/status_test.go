// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/test/gpusim"
)

// Whoever reads the NodePartition alone must come to the agent's own decision
// about every slice that nobody holds.
func TestTheReportSaysWhatFitsBesideWhatIsHeld(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	r.pod("small", 3)
	r.eventually("three small slices are reported as held", func() bool { return countState(r.reports.status().Slices, api.SliceState(gpu.StateHeld)) == 3 })
	s := r.reports.status()
	left := maps.Clone(s.Counters)
	for _, sl := range s.Slices {
		if len(sl.Uses) == 0 {
			t.Errorf("slice %s takes nothing from any counter", sl.ID)
		}
		for c, n := range sl.Uses {
			if _, ok := s.Counters[c]; !ok {
				t.Errorf("slice %s takes from %s, which is not a counter", sl.ID, c)
			}
			if sl.State == api.SliceState(gpu.StateHeld) {
				left[c] -= n
			}
		}
	}
	free, blocked := 0, 0
	for _, sl := range s.Slices {
		fits := true
		for c, n := range sl.Uses {
			fits = fits && left[c] >= n
		}
		switch sl.State {
		case api.SliceState(gpu.StateFree):
			free++
			if !fits {
				t.Errorf("slice %s is free, but by the counters it does not fit", sl.ID)
			}
		case api.SliceState(gpu.StateBlocked):
			blocked++
			if fits {
				t.Errorf("slice %s is blocked, but by the counters it fits", sl.ID)
			}
		default:
		}
	}
	if free == 0 || blocked == 0 {
		t.Errorf("%d slices are free and %d blocked; the test needs both", free, blocked)
	}
}

func countState(all []api.NodeSlice, state api.SliceState) (n int) {
	for _, s := range all {
		if s.State == state {
			n++
		}
	}
	return n
}

// The largest node that we plan for must stay far from what etcd takes in one
// request (1.5 MiB by default).
func TestTheReportOfALargeNodeIsSmallEnough(t *testing.T) {
	const most = 512 << 10
	gpus := make([]gpu.GPU, 16)
	for i := range gpus {
		gpus[i] = gpu.GPU{Index: i, Minor: i, UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i), Model: "NVIDIA H200",
			MemoryBytes: 141 << 30, NUMANode: i / 8, PCIBusID: fmt.Sprintf("00000000:%02X:00.0", 16+i)}
	}
	machine := partitioner.Node{Name: "n", CPUMilli: 512_000, MemoryBytes: 4 << 40, GPUs: gpus,
		NUMA: []partitioner.NUMANode{{ID: 0, CPUs: 256, MemoryBytes: 2 << 40}, {ID: 1, CPUs: 256, MemoryBytes: 2 << 40}}}
	spec := api.PartitionPolicySpec{GPUs: []api.GPURule{{Mode: api.GPUBlock}}}
	for _, percent := range []int32{5, 25, 50, 100} {
		spec.Sets = append(spec.Sets, api.SetTemplate{Name: fmt.Sprintf("percent-%d", percent), GPU: &api.SetGPU{BlockPercent: &percent}})
	}
	layout, _ := partitioner.Plan(machine, spec, partitioner.Divide(spec, []partitioner.Node{machine}).Sets)
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	state := node.New(node.Config{Now: func() time.Time { return noon }})
	state.SetLayout(layout)
	snap := state.Snapshot()
	s := api.NodePartitionStatus{Models: kube.Models(gpus), GPUs: kube.GPUs(gpus, layout.Modes, snap.GPUs), Counters: kube.Counters(snap), Slices: kube.Slices(snap), Sets: kube.Sets(snap)}
	for i := range s.Slices {
		s.Slices[i].Holder = &api.Holder{Namespace: "a-team-with-a-long-name", Pod: "a-workload-with-a-long-name-7f9c6d5b8-x2k4q", Container: "main"}
	}
	with := size(t, s)
	s.Counters = nil
	for i := range s.Slices {
		s.Slices[i].Uses = nil
	}
	t.Logf("%d slices on 16 GPUs: %d bytes, %d of them for counters and uses", len(s.Slices), with, with-size(t, s))
	if len(s.Slices) < 400 || with > most {
		t.Errorf("%d slices make a report of %d bytes; want at least 400 slices in at most %d bytes", len(s.Slices), with, most)
	}
}

func size(t *testing.T, s api.NodePartitionStatus) int {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}
