// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

func TestPlanCounts(t *testing.T) {
	block := []api.GPURule{{Mode: api.GPUBlock}}
	eight := box("n", 128, 1024, h200s(8, true), true)
	cases := map[string]struct {
		node            Node
		spec            api.PartitionPolicySpec
		alone, together map[string]int
	}{
		"the example of the README": {
			box("n", 96, 1024, h200s(3, false), false), example(),
			map[string]int{"small": 4, "medium": 2, "mig-small": 7, "large": 1},
			map[string]int{"small": 2, "medium": 1, "mig-small": 7, "large": 1},
		},
		"sizes that share a GPU are counted as if alone": {
			eight, policy(block, blockSet("a", 30), blockSet("b", 45)),
			map[string]int{"a": 24, "b": 16}, map[string]int{"a": 8, "b": 8},
		},
		"groups of whole GPUs nest": {
			eight, policy(nil, wholeSet("one", 1), wholeSet("two", 2), wholeSet("four", 4), wholeSet("eight", 8)),
			map[string]int{"one": 8, "two": 4, "four": 2, "eight": 1}, map[string]int{"one": 2, "two": 1, "four": 1},
		},
		"a cpu of its own limits how many there are": {
			eight, policy(nil, with(wholeSet("greedy", 1), "30", "")),
			map[string]int{"greedy": 4}, map[string]int{"greedy": 4},
		},
		"as does memory": {
			eight, policy(nil, with(wholeSet("greedy", 1), "", "200Gi")),
			map[string]int{"greedy": 4}, map[string]int{"greedy": 4},
		},
		"CPU-only sets get what the GPU sets leave at their fullest": {
			box("n", 31, 250, h200s(4, false), false), policy(nil, with(wholeSet("large", 1), "", "60Gi"), cpuSet("cpu", "1", "2Gi", 0)),
			map[string]int{"large": 4, "cpu": 3}, map[string]int{"large": 4, "cpu": 3},
		},
		"device memory is shared by all block sets once one gives its own": {
			box("n", 64, 512, h200s(1, false), false), policy(block, blockSet("a", 25), func() api.SetTemplate {
				s := blockSet("b", 20)
				s.GPU.Memory = quantity("100Gi")
				return s
			}()),
			map[string]int{"a": 4, "b": 1}, map[string]int{"a": 1, "b": 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, r := planned(t, tc.node, tc.spec)
			alone, together := map[string]int{}, map[string]int{}
			for _, s := range r.Sets {
				if s.Alone > 0 {
					alone[s.Name] = s.Alone
				}
				if s.Together > 0 {
					together[s.Name] = s.Together
				}
			}
			if diff := cmp.Diff(tc.alone, countsOf(l)); diff != "" {
				t.Errorf("slices (-want +got): %s", diff)
			}
			if diff := cmp.Diff(tc.alone, alone); diff != "" {
				t.Errorf("alone (-want +got): %s", diff)
			}
			if diff := cmp.Diff(tc.together, together); diff != "" {
				t.Errorf("together (-want +got): %s", diff)
			}
		})
	}
}

func TestWhatASliceTakes(t *testing.T) {
	n := box("n", 96, 1024, h200s(3, true), true)
	l, _ := planned(t, n, example())
	want := map[gpu.SliceID][]gpu.Use{
		"e74c83d3-small-0": {{Counter: "gpu/e74c83d3/blocks", Amount: 25}, {Counter: "numa0/cpu", Amount: 5000}, {Counter: "numa0/memory", Amount: 63 * gibibyte}},
		"8e96ec66-mig-small-6": {{Counter: "gpu/8e96ec66/mig-compute", Amount: 1}, {Counter: "gpu/8e96ec66/mig-memory", Amount: 1},
			{Counter: "numa0/cpu", Amount: 3000}, {Counter: "numa0/memory", Amount: 36 * gibibyte}},
		"795a44f2-large-0": {{Counter: "gpu/795a44f2/whole", Amount: 1}, {Counter: "numa1/cpu", Amount: 46000}, {Counter: "numa1/memory", Amount: 504 * gibibyte}},
	}
	for id, uses := range want {
		s, ok := l.Find(id)
		if !ok {
			t.Errorf("no slice %s", id)
		}
		if diff := cmp.Diff(uses, s.Uses); diff != "" {
			t.Errorf("%s (-want +got): %s", id, diff)
		}
	}
}

// TestIDsSurvive checks that a slice keeps its ID when the driver numbers the
// GPUs anew, when another GPU fails, and when sets are added.
func TestIDsSurvive(t *testing.T) {
	rules := []api.GPURule{
		{UUIDs: []string{h200(0, 0).UUID, h200(1, 0).UUID}, Mode: api.GPUBlock},
		{UUIDs: []string{h200(2, 0).UUID, h200(3, 0).UUID}, Mode: api.GPUMIG},
	}
	sets := []api.SetTemplate{blockSet("small", 25), migSet("mig", 1, "18Gi"), wholeSet("pair", 2), cpuSet("cpu", "1", "1Gi", 2)}
	before, _ := planned(t, box("n", 128, 1024, h200s(8, true), true), policy(rules, sets...))

	renumbered := h200s(8, true)
	for i := range renumbered {
		renumbered[i].Index = 7 - i
	}
	cases := map[string]struct {
		gpus []gpu.GPU
		sets []api.SetTemplate
		gone int // slices of GPUs that are gone
	}{
		"new indices":     {renumbered, sets, 0},
		"a GPU fell off":  {h200s(8, true)[1:], sets, 4},
		"sets were added": {h200s(8, true), append([]api.SetTemplate{blockSet("half", 50), wholeSet("one", 1)}, sets...), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after, _ := planned(t, box("n", 128, 1024, tc.gpus, true), policy(rules, tc.sets...))
			gone := 0
			for _, s := range before.Slices {
				now, ok := after.Find(s.ID)
				if !ok {
					gone++
				} else if slices.Sort(now.GPUs); ok && !slices.Equal(now.GPUs, sorted(s.GPUs)) {
					t.Errorf("%s lives on %v, before on %v", s.ID, now.GPUs, s.GPUs)
				}
			}
			if gone != tc.gone {
				t.Errorf("%d slices are gone, want %d", gone, tc.gone)
			}
		})
	}
}

// TestASetWithoutSizeKeepsItsPlace checks that MIG GPUs are not cut otherwise
// while the ResourceSets of a policy appear one after the other.
func TestASetWithoutSizeKeepsItsPlace(t *testing.T) {
	n := box("n", 64, 512, h200s(1, false), false)
	spec := policy([]api.GPURule{{Mode: api.GPUMIG}}, migSet("a", 1, "18Gi"), migSet("b", 3, ""), cpuSet("cpu", "1", "1Gi", 2))
	sets := Divide(spec, []Node{n}).Sets
	all, _ := Plan(n, spec, sets)
	for i, s := range sets {
		some, r := Plan(n, spec, slices.Delete(slices.Clone(sets), i, i+1))
		want := slices.DeleteFunc(slices.Clone(all.Slices), func(x gpu.Slice) bool { return x.Set == s.Name })
		if diff := cmp.Diff(want, some.Slices); diff != "" {
			t.Errorf("without %s (-want +got): %s", s.Name, diff)
		}
		pending := func(x api.Rejection) bool { return x.Set == s.Name && x.Reason == api.ReasonPending }
		if !slices.ContainsFunc(r.Absent, pending) {
			t.Errorf("without %s nothing says that it is pending: %v", s.Name, r.Absent)
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func TestKeysThatCollide(t *testing.T) {
	var ids []string
	for i := range 16 {
		ids = append(ids, h200(i, 0).UUID)
	}
	keys := keysOf(ids, 1) // 16 of 16 single digits: some collide
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k] {
			t.Errorf("key %s twice", k)
		}
		seen[k] = true
	}
	alone := keysOf(ids[:1], keyWidth)[0]
	if all := keysOf(ids, keyWidth)[0]; all != alone || len(alone) != keyWidth {
		t.Errorf("key %s alone, %s beside others", alone, all)
	}
}

func TestWholeGroups(t *testing.T) {
	other := func(g gpu.GPU) gpu.GPU { g.Model = "NVIDIA A30"; return g }
	cases := map[string]struct {
		gpus []gpu.GPU
		n    int
		want [][]int
	}{
		"within NUMA nodes":             {h200s(8, true), 2, [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		"across them for what is over":  {h200s(6, true), 2, [][]int{{0, 1}, {3, 4}, {2, 5}}},
		"across them when one is small": {h200s(8, true), 8, [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}},
		"never of different models":     {[]gpu.GPU{h200(0, 0), other(h200(1, 0)), h200(2, 0), other(h200(3, 0))}, 2, [][]int{{1, 3}, {0, 2}}},
		"none where there are too few":  {h200s(3, true), 4, nil},
		"by bus address, not by index":  {[]gpu.GPU{at(h200(0, 0), "3"), at(h200(1, 0), "1"), at(h200(2, 0), "2"), at(h200(3, 0), "0")}, 2, [][]int{{3, 1}, {2, 0}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var all []int
			for i := range tc.gpus {
				all = append(all, i)
			}
			if diff := cmp.Diff(tc.want, groupsOf(tc.gpus, all, tc.n)); diff != "" {
				t.Errorf("groups (-want +got): %s", diff)
			}
		})
	}
}

func at(g gpu.GPU, bus string) gpu.GPU { g.PCIBusID = bus; return g }

func TestBlockDefaults(t *testing.T) {
	quiet := blockSet("quiet", 20)
	quiet.Sharing = &api.Sharing{Lend: ptr(false), MaxPercent: ptr[int32](60)}
	greedy, bounded := blockSet("greedy", 10), blockSet("bounded", 10)
	greedy.Sharing = &api.Sharing{BorrowMemory: ptr(true)}
	bounded.Sharing = &api.Sharing{BorrowMemory: ptr(true), MaxMemory: quantity("60Gi")}
	l, _ := planned(t, box("n", 64, 512, h200s(1, false), false), policy([]api.GPURule{{Mode: api.GPUBlock}}, blockSet("plain", 50), quiet, greedy, bounded))
	got := map[string]gpu.Block{}
	for _, s := range l.Slices {
		got[s.Set] = *s.Block
	}
	want := map[string]gpu.Block{
		"plain":   {Percent: 50, MemoryBytes: 72192 * mebibyte, Lend: true, Borrow: true, MaxPercent: 100},
		"quiet":   {Percent: 20, MemoryBytes: 28876 * mebibyte, Borrow: true, MaxPercent: 60},
		"greedy":  {Percent: 10, MemoryBytes: 14438 * mebibyte, Lend: true, Borrow: true, MaxPercent: 100, MaxMemoryBytes: h200(0, 0).MemoryBytes},
		"bounded": {Percent: 10, MemoryBytes: 14438 * mebibyte, Lend: true, Borrow: true, MaxPercent: 100, MaxMemoryBytes: 60 * gibibyte},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got): %s", diff)
	}
}

func TestRemainder(t *testing.T) {
	spec := policy([]api.GPURule{{Indices: []int32{0}, Mode: api.GPUBlock}, {Indices: []int32{1}, Mode: api.GPUMIG}},
		blockSet("b", 30), migSet("m", 3, ""))
	_, r := planned(t, box("n", 31, 250, h200s(3, false), false), spec)
	want := Remainder{
		// 15.5 cores each: 3 × 5 of blocks, 2 × 7 of MIG.
		CPUMilli: 2000, MemoryBytes: 250*gibibyte - 3*roundMemory(125*gibibyte/3) - 2*roundMemory(125*gibibyte/2),
		GPUs: []GPURemainder{
			{UUID: h200(0, 0).UUID, Mode: gpu.ModeBlock, Blocks: 10},
			{UUID: h200(1, 0).UUID, Mode: gpu.ModeMIG, ComputeSlices: 1},
			{UUID: h200(2, 0).UUID, Mode: gpu.ModeWhole, Whole: true},
		},
	}
	if diff := cmp.Diff(want, r.Remainder); diff != "" {
		t.Errorf("remainder (-want +got): %s", diff)
	}
}
