// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/test/gpusim"
)

// desired is the node as the API server shows it.
func (r *rig) desired() kube.Desired {
	return kube.Desired{
		NodeUID: "uid-gpu-1", Labels: map[string]string{"pool": "test"},
		CPUMilli: 48_000, MemoryBytes: 384 << 30,
	}
}

// The policies of the tests. GPU 0 is in blocks, GPU 1 in MIG instances, GPU 2
// whole.
const (
	sets = `
sets:
- {name: small, gpu: {blockPercent: 25}}
- {name: medium, gpu: {blockPercent: 50}}
- {name: mig, gpu: {mig: {computeSlices: 1}}}
- {name: large, gpu: {count: 1}}
`
	threeWays = `
gpus:
- {indices: [0], mode: Block}
- {indices: [1], mode: MIG}` + sets
	allWhole  = `gpus: [{mode: Whole}]` + sets
	allBlocks = `gpus: [{mode: Block}]` + sets
	allMIG    = `gpus: [{mode: MIG}]` + sets
)

func TestFirstApplyDividesAndAdvertises(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	r.want(threeWays)
	r.start()
	r.allocatable("small", 4)
	r.allocatable("medium", 2)
	r.allocatable("mig", 7)
	r.allocatable("large", 1)
	r.reason("Applied")

	if n := strings.Count(r.machine.Ctl("state", "-o", "json"), `"MIG-`); n != 7 {
		t.Errorf("%d MIG instances exist, want 7", n)
	}
	var all []string
	for _, set := range []string{"large", "medium", "mig", "small"} {
		all = append(all, r.kubelet.Devices(gpu.ResourceName(set))...)
	}
	if diff := cmp.Diff(len(all), len(r.specs())); diff != "" {
		t.Errorf("spec files (-want +got):\n%s", diff)
	}
	s := r.reports.status()
	if s.GPUCount != 3 || s.Policy != "pool" || len(s.Slices) != len(all) {
		t.Errorf("report: %d GPUs, policy %q, %d slices; want 3, pool, %d", s.GPUCount, s.Policy, len(s.Slices), len(all))
	}

	// A second size of the same GPU runs beside the first, and what overlaps goes
	// and comes back.
	small, _ := r.pod("small", 1)
	r.allocatable("medium", 1)
	medium, _ := r.pod("medium", 1)
	r.allocatable("small", 2)
	r.delete(small)
	r.delete(medium)
	r.allocatable("small", 4)
	r.allocatable("medium", 2)
}
