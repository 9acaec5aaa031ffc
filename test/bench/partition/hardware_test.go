// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

const gib = int64(1) << 30

// profile is a MIG profile as a driver reports it.
func profile(enum, id, compute, size, most int, starts ...int) gpu.Profile {
	p := gpu.Profile{Enum: enum, ID: id, Name: fmt.Sprintf("%dg/%d", compute, size), ComputeSlices: compute,
		MemorySlices: size, MemoryBytes: int64(size) * 16 * gib, MaxCount: most}
	for _, s := range starts {
		p.Placements = append(p.Placements, gpu.Placement{Start: s, Size: size})
	}
	return p
}

// hopper are the profiles of A100, H100 and H200: 7 compute of 8 memory slices,
// 723 layouts.
func hopper() []gpu.Profile {
	return []gpu.Profile{
		profile(0, 19, 1, 1, 7, 0, 1, 2, 3, 4, 5, 6),
		profile(9, 15, 1, 2, 4, 0, 2, 4, 6),
		profile(1, 14, 2, 2, 3, 0, 2, 4),
		profile(2, 9, 3, 4, 2, 0, 4),
		profile(3, 5, 4, 4, 1, 0),
		profile(4, 0, 7, 8, 1, 0),
	}
}

// a30 are the profiles of an A30: 4 of 4, 26 layouts.
func a30() []gpu.Profile {
	return []gpu.Profile{
		profile(0, 14, 1, 1, 4, 0, 1, 2, 3),
		profile(1, 5, 2, 2, 2, 0, 2),
		profile(3, 0, 4, 4, 1, 0),
	}
}

// gpus are n GPUs on two NUMA nodes.
func gpus(n int, model string, memory int64, profiles []gpu.Profile) []gpu.GPU {
	list := make([]gpu.GPU, n)
	for i := range list {
		list[i] = gpu.GPU{Index: i, UUID: fmt.Sprintf("GPU-%s-%d", model, i), Model: model, MemoryBytes: memory,
			NUMANode: i * 2 / n, PCIBusID: fmt.Sprintf("%02X", i), MIG: &gpu.MIG{Profiles: profiles}}
	}
	return list
}

// node has its CPU and memory on two NUMA nodes.
func node(name string, cores, memory int64, list []gpu.GPU) partitioner.Node {
	return partitioner.Node{Name: name, CPUMilli: cores * 1000, MemoryBytes: memory, GPUs: list, NUMA: []partitioner.NUMANode{
		{ID: 0, CPUs: int(cores / 2), MemoryBytes: memory / 2}, {ID: 1, CPUs: int(cores / 2), MemoryBytes: memory / 2},
	}}
}

// board takes MIG instances as strictly as hardware does.
type board struct {
	compute int
	made    []gpu.MIGTarget
}

func (b *board) create(t gpu.MIGTarget) error {
	compute, same := t.Profile.ComputeSlices, 1
	for _, m := range b.made {
		if m.Placement.Overlaps(t.Placement) {
			return fmt.Errorf("%s at %d: occupied", t.Profile.Name, t.Placement.Start)
		}
		compute += m.Profile.ComputeSlices
		if m.Profile.ID == t.Profile.ID {
			same++
		}
	}
	if !slices.Contains(t.Profile.Placements, t.Placement) || compute > b.compute || same > t.Profile.MaxCount {
		return fmt.Errorf("%s at %d: not legal", t.Profile.Name, t.Placement.Start)
	}
	b.made = append(b.made, t)
	return nil
}

// layouts are all layouts that the board accepts, and the counts by profile of
// each; full ones are those to which nothing can be added.
func layouts(profiles []gpu.Profile, compute int) (all, full [][]int) {
	b := &board{compute: compute}
	var walk func(from int)
	walk = func(from int) {
		counts := make([]int, len(profiles))
		for _, m := range b.made {
			counts[slices.IndexFunc(profiles, func(p gpu.Profile) bool { return p.ID == m.Profile.ID })]++
		}
		all = append(all, counts)
		extendable, at := false, 0
		for _, p := range profiles {
			for _, pl := range p.Placements {
				if b.create(gpu.MIGTarget{Profile: p, Placement: pl}) == nil {
					extendable = true
					if at >= from {
						walk(at + 1)
					}
					b.made = b.made[:len(b.made)-1]
				}
				at++
			}
		}
		if !extendable && !slices.ContainsFunc(full, func(c []int) bool { return slices.Equal(c, counts) }) {
			full = append(full, counts)
		}
	}
	walk(0)
	return all, full
}

// fixed is a policy that cuts every GPU into the given counts.
func fixed(profiles []gpu.Profile, counts []int) api.PartitionPolicySpec {
	rule := api.GPURule{Mode: api.GPUMIG}
	var spec api.PartitionPolicySpec
	for i, p := range profiles {
		spec.Sets = append(spec.Sets, api.SetTemplate{Name: setName(i), GPU: &api.SetGPU{MIG: &api.MIGSize{
			ComputeSlices: int32(p.ComputeSlices), Memory: resource.NewQuantity(p.MemoryBytes, resource.BinarySI)}}})
		if counts[i] > 0 {
			rule.Layout = append(rule.Layout, api.SetCount{Set: setName(i), Count: int32(counts[i])})
		}
	}
	spec.GPUs = []api.GPURule{rule}
	return spec
}

func setName(i int) string { return fmt.Sprintf("mig-%d", i) }
