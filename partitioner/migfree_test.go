// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// TestTheFullestMixtureIsChosen tries every choice of sets against a search
// through all layouts.
func TestTheFullestMixtureIsChosen(t *testing.T) {
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			all := exhaust(table.profiles)
			n := migNode(table.profiles)
			for chosen := uint(1); chosen < 1<<len(table.profiles); chosen++ {
				var sets []api.SetTemplate
				for i, p := range table.profiles {
					if chosen&(1<<i) != 0 {
						sets = append(sets, setFor(p))
					}
				}
				l, _ := planned(t, n, policy([]api.GPURule{{Mode: api.GPUMIG}}, sets...))
				compute, memory, spread := usedBy(table.profiles, countProfiles(table.profiles, l), chosen)
				for _, m := range all.multisets {
					if !usesOnly(m, chosen) {
						continue
					}
					c, mem, sp := usedBy(table.profiles, m, chosen)
					if c > compute || c == compute && (mem > memory || mem == memory && sp < spread) {
						t.Fatalf("sets %b: chose %d compute, %d memory, unevenness %d; %v has %d, %d, %d",
							chosen, compute, memory, spread, m, c, mem, sp)
					}
				}
			}
		})
	}
}

func countProfiles(profiles []gpu.Profile, l gpu.Layout) []int {
	counts := make([]int, len(profiles))
	for _, s := range l.Slices {
		for i, p := range profiles {
			if p.ID == s.MIG.Profile.ID {
				counts[i]++
			}
		}
	}
	return counts
}

// usesOnly reports whether a multiset uses chosen profiles only.
func usesOnly(counts []int, chosen uint) bool {
	for i, n := range counts {
		if n > 0 && chosen&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// usedBy is what a multiset occupies, and the sum of squared differences of the
// chosen sets' counts.
func usedBy(profiles []gpu.Profile, counts []int, chosen uint) (compute, memory, spread int) {
	for i, n := range counts {
		compute += n * profiles[i].ComputeSlices
		memory += n * profiles[i].Placements[0].Size
		for j := range i {
			if chosen&(1<<i) != 0 && chosen&(1<<j) != 0 {
				spread += (n - counts[j]) * (n - counts[j])
			}
		}
	}
	return compute, memory, spread
}

func TestFreeMixtures(t *testing.T) {
	eight := only(sevenOfEight(16.5), 19, 15, 14, 9, 5, 0)
	cases := map[string]struct {
		sets []api.SetTemplate
		want map[string]int
	}{
		"one size fills the GPU":                    {[]api.SetTemplate{migSet("a", 1, "18Gi")}, map[string]int{"a": 7}},
		"large ones waste a compute slice":          {[]api.SetTemplate{migSet("a", 3, "")}, map[string]int{"a": 2}},
		"a mixture that uses all memory wins":       {[]api.SetTemplate{migSet("a", 1, "18Gi"), migSet("b", 3, "")}, map[string]int{"a": 4, "b": 1}},
		"then the even one":                         {[]api.SetTemplate{migSet("a", 1, "18Gi"), migSet("b", 2, "")}, map[string]int{"a": 3, "b": 2}},
		"whatever the order of the sets":            {[]api.SetTemplate{migSet("b", 2, ""), migSet("a", 1, "18Gi")}, map[string]int{"a": 3, "b": 2}},
		"memory tells sizes of equal compute apart": {[]api.SetTemplate{migSet("a", 1, "35Gi")}, map[string]int{"a": 4}},
		"without memory the smallest is meant":      {[]api.SetTemplate{migSet("a", 1, "")}, map[string]int{"a": 7}},
		"what GPU-memory units round to is near":    {[]api.SetTemplate{migSet("a", 3, "71Gi")}, map[string]int{"a": 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, r := planned(t, migNode(eight), policy([]api.GPURule{{Mode: api.GPUMIG}}, tc.sets...))
			if diff := cmp.Diff(tc.want, countsOf(l)); diff != "" {
				t.Errorf("counts (-want +got): %s\n%v", diff, r.Rejections)
			}
		})
	}
}

func TestAtMostOneWithMediaExtensions(t *testing.T) {
	me := migSet("me", 1, "")
	me.GPU.MIG.MediaExtensions = true
	l, _ := planned(t, migNode(sevenOfEight(16.5)), policy([]api.GPURule{{Mode: api.GPUMIG}}, me, migSet("plain", 1, "")))
	if diff := cmp.Diff(map[string]int{"me": 1, "plain": 6}, countsOf(l)); diff != "" {
		t.Errorf("counts (-want +got): %s", diff)
	}
}

// TestRefusedMIG checks that each refusal names the field and what is allowed,
// and that the GPU is left as it is.
func TestRefusedMIG(t *testing.T) {
	small, big := migSet("small", 1, "18Gi"), migSet("big", 3, "")
	layout := func(counts ...api.SetCount) []api.GPURule { return []api.GPURule{{Mode: api.GPUMIG, Layout: counts}} }
	plain := migNode(sevenOfEight(16.5))
	noMIG := migNode(nil)
	noMIG.GPUs[0].MIG, noMIG.GPUs[0].Model = nil, "NVIDIA L4"
	cases := map[string]struct {
		node   Node
		spec   api.PartitionPolicySpec
		reason string
		says   []string
		left   bool // the GPU is left as it is
	}{
		"too many instances": {
			plain, policy(layout(api.SetCount{Set: "small", Count: 5}, api.SetCount{Set: "big", Count: 1}), small, big), api.ReasonLayoutDoesNotFit,
			[]string{"spec.gpus[0].layout: 5 × small + 1 × big needs 8 compute and 9 memory slices, the GPU has 7 and 8", "what fits of it: 1 × big + 4 × small"}, true,
		},
		"a layout that names a set of another kind": {
			plain, policy(layout(api.SetCount{Set: "blocks", Count: 5}), small, blockSet("blocks", 50)), api.ReasonLayoutDoesNotFit,
			[]string{`spec.gpus[0].layout: "blocks" is not one of the policy's MIG sets`, "small"}, true,
		},
		"a GPU without MIG": {
			noMIG, policy([]api.GPURule{{Mode: api.GPUMIG}}, small), api.ReasonLayoutDoesNotFit,
			[]string{"spec.gpus[0].mode: MIG, but NVIDIA L4 has no MIG", "Whole or Block"}, true,
		},
		"a size that the GPU does not offer": {
			plain, policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("odd", 1, "50Gi"), big), api.ReasonSetDoesNotFit,
			[]string{"spec.sets[0].gpu.mig: computeSlices 1, memory 50Gi is no instance of NVIDIA H200, which offers 1g (computeSlices 1, memory 17Gi)"}, false,
		},
		"no size that the GPU offers": {
			plain, policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("odd", 1, "50Gi")), api.ReasonLayoutDoesNotFit,
			[]string{"none of the policy's MIG sets is a size that NVIDIA H200 offers"}, true,
		},
		"a set that the fullest mixture leaves out": {
			plain, policy([]api.GPURule{{Mode: api.GPUMIG}}, small, migSet("all", 7, "")), api.ReasonNotInLayout,
			[]string{"spec.sets[0].gpu.mig", "is 1 × all", "spec.gpus[0].layout"}, false,
		},
		"two sets that mean the same instance": {
			plain, policy([]api.GPURule{{Mode: api.GPUMIG}}, small, migSet("again", 1, "16Gi")), api.ReasonSetDoesNotFit,
			[]string{"spec.sets[1].gpu.mig", `same instance as set "small"`}, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, r := planned(t, tc.node, tc.spec)
			found := false
			for _, rej := range append(r.Rejections, Divide(tc.spec, []Node{tc.node}).Rejections...) {
				all := rej.Reason == tc.reason
				for _, part := range tc.says {
					all = all && strings.Contains(rej.Message, part)
				}
				found = found || all
			}
			if !found {
				t.Errorf("no rejection %s that says %q in:\n%v", tc.reason, tc.says, r.Rejections)
			}
			_, has := l.Modes[tc.node.GPUs[0].UUID]
			if has == tc.left {
				t.Errorf("modes: %v, want the GPU left as it is: %v", l.Modes, tc.left)
			}
		})
	}
}
