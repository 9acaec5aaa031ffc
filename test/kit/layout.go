// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"fmt"
	"slices"
	"strings"

	"aipub.io/aipub/gpu"
)

// LayoutBuilder builds a layout for a node of equal GPUs. Sets of different
// sizes share each GPU's counter of blocks.
type LayoutBuilder struct {
	layout gpu.Layout
	gpus   []string
	numa   int
}

// MakeLayout begins a layout for n GPUs on one NUMA node that is not known.
func MakeLayout(n int) *LayoutBuilder {
	b := &LayoutBuilder{layout: gpu.Layout{Modes: map[string]gpu.Mode{}, Totals: map[gpu.Counter]int64{}}}
	for i := range n {
		uuid := UUID(i)
		b.gpus = append(b.gpus, uuid)
		b.layout.Modes[uuid] = gpu.ModeBlock
		b.layout.Totals[Blocks(i)] = gpu.BlocksPerGPU
	}
	return b
}

// UUID is the UUID of the i-th GPU.
func UUID(i int) string { return fmt.Sprintf("GPU-%08x", i+1) }

// Blocks is the counter of the i-th GPU.
func Blocks(i int) gpu.Counter { return gpu.Counter(UUID(i) + "/blocks") }

// ID is the slice of a set in the given place on the i-th GPU.
func ID(i int, set string, slot int) gpu.SliceID {
	return gpu.SliceID(fmt.Sprintf("%08x-%s-%d", i+1, set, slot))
}

// NUMA spreads the GPUs evenly over n NUMA nodes, in order. Call it first.
func (b *LayoutBuilder) NUMA(n int) *LayoutBuilder {
	b.numa = n
	return b
}

// Block adds a set of shares of percent, as many as each GPU can hold.
func (b *LayoutBuilder) Block(set string, percent int) *LayoutBuilder {
	for i := range b.gpus {
		for slot := range gpu.BlocksPerGPU / percent {
			b.add(gpu.Slice{ID: ID(i, set, slot), Set: set, Kind: gpu.KindBlock, Block: &gpu.Block{Percent: percent},
				GPUs: b.gpus[i : i+1], Uses: []gpu.Use{{Counter: Blocks(i), Amount: int64(percent)}}}, i)
		}
	}
	return b
}

// Whole adds a set of groups of count neighbouring GPUs.
func (b *LayoutBuilder) Whole(set string, count int) *LayoutBuilder {
	for first := 0; first+count <= len(b.gpus); first += count {
		s := gpu.Slice{ID: ID(first, set, 0), Set: set, Kind: gpu.KindWhole, GPUs: b.gpus[first : first+count]}
		for i := first; i < first+count; i++ {
			s.Uses = append(s.Uses, gpu.Use{Counter: Blocks(i), Amount: gpu.BlocksPerGPU})
		}
		b.add(s, first)
	}
	return b
}

// MIG adds a set of n instances of the size of a seventh on each GPU.
func (b *LayoutBuilder) MIG(set string, n int) *LayoutBuilder {
	for i := range b.gpus {
		for slot := range n {
			b.add(gpu.Slice{ID: ID(i, set, slot), Set: set, Kind: gpu.KindMIG, GPUs: b.gpus[i : i+1],
				MIG:  &gpu.MIGTarget{Profile: gpu.Profile{ID: 19, Name: "1g", ComputeSlices: 1, MemorySlices: 1}, Placement: gpu.Placement{Start: slot, Size: 1}},
				Uses: []gpu.Use{{Counter: Blocks(i), Amount: 14}}}, i)
		}
	}
	return b
}

// CPU adds a set of n slices without a GPU, limited together to most.
func (b *LayoutBuilder) CPU(set string, n int, most int64) *LayoutBuilder {
	c := gpu.Counter("node/cpu-" + set)
	b.layout.Totals[c] = most
	for slot := range n {
		b.add(gpu.Slice{ID: gpu.SliceID(fmt.Sprintf("cpu-%s-%d", set, slot)), Set: set, Kind: gpu.KindCPU,
			Uses: []gpu.Use{{Counter: c, Amount: 1}}}, 0)
	}
	return b
}

func (b *LayoutBuilder) add(s gpu.Slice, i int) {
	if b.numa > 0 && s.Kind != gpu.KindCPU {
		for k := range s.GPUs {
			if node := (i + k) * b.numa / len(b.gpus); !slices.Contains(s.NUMANodes, node) {
				s.NUMANodes = append(s.NUMANodes, node)
			}
		}
	}
	b.layout.Slices = append(b.layout.Slices, s)
}

// Obj is the layout.
func (b *LayoutBuilder) Obj() gpu.Layout { return b.layout }

// States writes a set's slices as one letter each, in order: F free, H held,
// B blocked, U unhealthy, P preparing, R retired.
func States(s gpu.Snapshot, set string) string {
	var b strings.Builder
	for _, st := range s.Slices {
		if st.Slice.Set == set {
			b.WriteString(string(st.State)[:1])
		}
	}
	return b.String()
}
