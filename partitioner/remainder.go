// SPDX-License-Identifier: Apache-2.0

package partitioner

import "aipub.io/aipub/gpu"

// remainder is what the plan cannot hand out.
func (p *plan) remainder() Remainder {
	var left amount
	for _, s := range p.spare {
		left = left.plus(s)
	}
	used := make([]amount, len(p.parts))
	var most amount
	for _, u := range p.loose {
		used[u.part] = used[u.part].plus(p.parts[u.part].size)
		most = most.max(used[u.part])
	}
	left = left.minus(most)
	r := Remainder{CPUMilli: left.cpu, MemoryBytes: left.mem}
	seated := p.seated()
	for i, c := range p.cuts {
		if g, some := p.gpuRemainder(i, seated[i]); some {
			g.UUID, g.Mode = c.gpu.UUID, c.mode
			r.GPUs = append(r.GPUs, g)
		}
	}
	return r
}

// seated are the kept seats on each GPU.
func (p *plan) seated() [][]*keptSeat {
	on := make([][]*keptSeat, len(p.cuts))
	for _, k := range p.kept {
		for _, c := range k.cuts {
			on[c] = append(on[c], k)
		}
	}
	return on
}

// gpuRemainder is what the seats on a GPU never use of it.
func (p *plan) gpuRemainder(cut int, on []*keptSeat) (g GPURemainder, some bool) {
	c := p.cuts[cut]
	if len(on) == 0 {
		return GPURemainder{Whole: true}, true
	}
	switch c.mode {
	case gpu.ModeBlock:
		var items []blockItem
		for _, k := range on {
			if k.rank == 0 {
				items = append(items, blockItem{percent: int(k.num), memory: k.memory})
			}
		}
		g.Blocks = gpu.BlocksPerGPU - fullestBlocks(items, c.gpu.MemoryBytes)
	case gpu.ModeMIG:
		g.ComputeSlices, g.MemorySlices = c.model.board.compute, c.model.board.memory
		for _, k := range on {
			g.ComputeSlices -= k.target.Profile.ComputeSlices
			g.MemorySlices -= k.target.Placement.Size
		}
	case gpu.ModeWhole: // used entirely
	}
	return g, g != GPURemainder{}
}
