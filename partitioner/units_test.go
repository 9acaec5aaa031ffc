// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

func TestDivideCountsEachSetInUnitsOfAGPU(t *testing.T) {
	a30s := []gpu.GPU{a30GPU()}
	a30s[0].UUID, a30s[0].NUMANode = "GPU-a30", gpu.NUMAUnknown
	mig := []api.GPURule{{Mode: api.GPUMIG}}
	h200Box, a30Box := box("h", 28, 256, h200s(1, false), false), box("a", 28, 256, a30s, false)
	for name, tc := range map[string]struct {
		spec  api.PartitionPolicySpec
		nodes []Node
		want  map[string]int64
	}{
		"whole GPUs and CPU": {policy(nil, wholeSet("one", 1), wholeSet("four", 4), cpuSet("cpu", "1", "1Gi", 1)),
			[]Node{box("n", 64, 512, h200s(4, false), false)},
			map[string]int64{"one": 25200, "four": 100800, "cpu": 0}},
		"every percent is exact": {policy([]api.GPURule{{Mode: api.GPUBlock}}, blockSet("quarter", 25), blockSet("third", 33), blockSet("percent", 1)),
			[]Node{box("n", 100, 200, h200s(1, false), false)},
			map[string]int64{"quarter": 6300, "third": 8316, "percent": 252}},
		"a seventh of an H200":           {policy(mig, migSet("m", 1, "")), []Node{h200Box}, map[string]int64{"m": 3600}},
		"a quarter of an A30":            {policy(mig, migSet("m", 1, "")), []Node{a30Box}, map[string]int64{"m": 6300}},
		"the larger where models differ": {policy(mig, migSet("m", 1, "")), []Node{a30Box, h200Box}, map[string]int64{"m": 6300}},
		"all of the GPU as one instance": {policy(mig, migSet("m", 7, "")), []Node{h200Box}, map[string]int64{"m": 25200}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]int64{}
			for _, s := range Divide(tc.spec, tc.nodes).Sets {
				got[s.Name] = s.GPUUnits
				if back := SetOf(s.Name, s.Spec()); back.GPUUnits != s.GPUUnits {
					t.Errorf("set %s: the ResourceSet says %d units, the division %d", s.Name, back.GPUUnits, s.GPUUnits)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

// No set counts for more than its part of a GPU: what is held of one adds up to at
// most the whole, whatever the mixture. Nodes with several models are left out,
// since there the largest fraction counts on all of them.
func TestUnitsOfWhatIsHeldStayWithinTheGPUs(t *testing.T) {
	checked := 0
	for seed := range uint64(300) {
		g := newGenerator(seed)
		n, spec := g.node("n"), g.policy(false)
		if len(n.GPUs) == 0 || slices.ContainsFunc(n.GPUs, func(b gpu.GPU) bool { return b.Model != n.GPUs[0].Model }) {
			continue
		}
		d := Divide(spec, []Node{n})
		layout, _ := Plan(n, spec, d.Sets)
		held, _ := g.fill(layout)
		perGPU := map[string]int64{}
		for id := range held {
			slice, _ := layout.Find(id)
			set, _ := d.Set(slice.Set)
			for _, uuid := range slice.GPUs {
				perGPU[uuid] += set.GPUUnits / int64(len(slice.GPUs))
				checked++
			}
		}
		for uuid, sum := range perGPU {
			if sum > gpu.UnitsPerGPU {
				t.Fatalf("seed %d: slices of %d units are held on GPU %s of %d", seed, sum, uuid, gpu.UnitsPerGPU)
			}
		}
	}
	if checked == 0 {
		t.Error("no slice was ever held")
	}
}
