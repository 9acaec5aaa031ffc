// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/test/kit"
)

// makeNode is a usable node with a layout.
func makeNode(name string, l gpu.Layout) Node {
	return Node{Name: name, Usable: true, Layout: l, Labels: map[string]string{"kubernetes.io/hostname": name},
		Held: map[gpu.SliceID]string{}, Down: map[gpu.SliceID]bool{}, NotOffered: map[string]bool{}}
}

// makeAsk reads "small" or "small=2,large=1".
func makeAsk(t testing.TB, name, sets string) Ask {
	t.Helper()
	a := Ask{UID: "uid-" + name, Namespace: "team", Name: name, Sets: map[string]int64{}}
	for _, word := range strings.Split(sets, ",") {
		set, count, given := strings.Cut(word, "=")
		a.Sets[set] = 1
		if given {
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			a.Sets[set] = n
		}
	}
	return a
}

// mustPlace places a pod and takes its seat.
func mustPlace(t testing.TB, r *Room, a Ask) Seat {
	t.Helper()
	s, why := r.Place(a)
	if why != nil {
		t.Fatalf("place %s: %s: %s", a.Name, why.Reason, why.Message)
	}
	r.Take(s)
	return s
}

// mixed is GPUs that small, medium and large sets share.
func mixed(gpus int) gpu.Layout {
	return kit.MakeLayout(gpus).Block("small", 25).Block("medium", 50).Whole("large", 1).Obj()
}

// checkLedgers fails if any node holds more than it has, or a slice twice.
func checkLedgers(t testing.TB, nodes []Node, seats map[string]Seat) {
	t.Helper()
	for _, n := range nodes {
		held := map[gpu.SliceID]bool{}
		for id := range n.Held {
			held[id] = true
		}
		for uid, s := range seats {
			for _, id := range s.Slices {
				if s.Node != n.Name {
					continue
				}
				if held[id] {
					t.Fatalf("slice %s of node %s is given to %s and to another", id, n.Name, uid)
				}
				held[id] = true
			}
		}
		for c, left := range n.Layout.Remaining(held) {
			if left < 0 {
				t.Fatalf("node %s: counter %s is exceeded by %d", n.Name, c, -left)
			}
		}
	}
}

// cards are GPUs with seven compute and eight memory slices.
func cards(n int, zones bool) []gpu.GPU {
	profile := func(id int, name string, compute, size, most int, starts ...int) gpu.Profile {
		p := gpu.Profile{Enum: id, ID: id, Name: name, ComputeSlices: compute, MemorySlices: size, MemoryBytes: int64(size) * 17 << 30, MaxCount: most}
		for _, s := range starts {
			p.Placements = append(p.Placements, gpu.Placement{Start: s, Size: size})
		}
		return p
	}
	profiles := []gpu.Profile{
		profile(1, "1g", 1, 1, 7, 0, 1, 2, 3, 4, 5, 6), profile(2, "2g", 2, 2, 3, 0, 2, 4), profile(3, "3g", 3, 4, 2, 0, 4), profile(7, "7g", 7, 8, 1, 0),
	}
	all := make([]gpu.GPU, n)
	for i := range all {
		all[i] = gpu.GPU{Index: i, Minor: i, UUID: fmt.Sprintf("GPU-%04d", i), Model: "card", MemoryBytes: 136 << 30,
			NUMANode: gpu.NUMAUnknown, PCIBusID: fmt.Sprintf("00000000:%02X:00.0", 16+i), MIG: &gpu.MIG{LiveToggle: true, Profiles: profiles}}
		if zones {
			all[i].NUMANode = i * 2 / n
		}
	}
	return all
}

// randomNodes are up to three nodes of one pool whose GPUs are whole, blocks and
// MIG, as the partitioner cuts them, and partly held.
func randomNodes(r *rand.Rand) []Node {
	var machines []partitioner.Node
	for k := range 1 + r.IntN(3) {
		zones := r.IntN(2) == 0
		m := partitioner.Node{Name: fmt.Sprintf("n%d", k), CPUMilli: int64(8+r.IntN(56)) * 1000, MemoryBytes: int64(64+r.IntN(448)) << 30, GPUs: cards(1+r.IntN(4), zones)}
		if zones {
			m.NUMA = []partitioner.NUMANode{{ID: 0, CPUs: 32, MemoryBytes: m.MemoryBytes / 2}, {ID: 1, CPUs: 32, MemoryBytes: m.MemoryBytes / 2}}
		}
		machines = append(machines, m)
	}
	spec := api.PartitionPolicySpec{GPUs: []api.GPURule{
		{Indices: []int32{int32(r.IntN(4))}, Mode: api.GPUMIG}, {Indices: []int32{int32(r.IntN(4)), int32(r.IntN(4))}, Mode: api.GPUBlock}}}
	for k := range 2 + r.IntN(4) {
		set := api.SetTemplate{Name: fmt.Sprintf("s%d", k), GPU: &api.SetGPU{}}
		percent, count := int32(15+r.IntN(86)), int32(1+r.IntN(2))
		switch r.IntN(4) {
		case 0:
			set.GPU.Count = &count
		case 1:
			set.GPU.MIG = &api.MIGSize{ComputeSlices: int32(1 + r.IntN(3))}
		default:
			set.GPU.BlockPercent = &percent
		}
		spec.Sets = append(spec.Sets, set)
	}
	division := partitioner.Divide(spec, machines)
	nodes := make([]Node, len(machines))
	for k, m := range machines {
		layout, _ := partitioner.Plan(m, spec, division.Sets)
		nodes[k] = makeNode(m.Name, layout)
		left := layout.Remaining(nil)
		for _, s := range layout.Slices {
			if _, fits := s.Fits(left); fits && r.IntN(5) == 0 {
				nodes[k].Held[s.ID] = fmt.Sprintf("others/%s", s.ID)
				for _, u := range s.Uses {
					left[u.Counter] -= u.Amount
				}
			} else if s.MIG != nil && r.IntN(8) == 0 {
				nodes[k].Down[s.ID] = true // its instance does not exist yet
			}
		}
	}
	return nodes
}

func withPod(a Ask, pod corev1.PodSpec) Ask {
	a.Pod = &pod
	return a
}
