// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"

	"aipub.io/aipub/gpu"
)

// layout writes the plan down as slices and counters.
func (p *plan) layout() gpu.Layout {
	l := gpu.Layout{
		Modes:  map[string]gpu.Mode{},
		Totals: map[gpu.Counter]int64{},
		Slices: make([]gpu.Slice, 0, len(p.kept)+len(p.aside)+len(p.loose)),
	}
	for _, c := range p.cuts {
		if c.refusal == "" {
			l.Modes[c.gpu.UUID] = c.mode
			c.countersInto(l.Totals)
		}
	}
	for z, zone := range p.zones {
		l.Totals[gpu.Counter(zone.name+"/cpu")] = p.room[z].cpu
		l.Totals[gpu.Counter(zone.name+"/memory")] = p.room[z].mem
	}
	keys := p.groupKeys()
	kept := p.kept
	for i := range p.parts {
		for ; len(kept) > 0 && kept[0].part == i; kept = kept[1:] {
			l.Slices = append(l.Slices, p.sliceLike(l.Slices, kept[0], keys))
		}
		p.unitsInto(&l, i, p.aside, "/aside/"+p.parts[i].name)
		p.unitsInto(&l, i, p.loose, "/spare")
	}
	p.spareInto(l.Totals)
	return l
}

// countersInto adds the counters of one GPU.
func (c cut) countersInto(totals map[gpu.Counter]int64) {
	switch c.mode {
	case gpu.ModeBlock:
		totals[c.counter("blocks")] = gpu.BlocksPerGPU
		if c.ownMemory {
			totals[c.counter("memory")] = c.gpu.MemoryBytes
		}
	case gpu.ModeMIG:
		totals[c.counter("mig-compute")] = int64(c.model.board.compute)
		totals[c.counter("mig-memory")] = int64(c.model.board.memory)
	case gpu.ModeWhole:
		totals[c.counter("whole")] = 1
	}
}

func (c cut) counter(what string) gpu.Counter {
	return gpu.Counter("gpu/" + c.key + "/" + what)
}

// groupKeys names the groups of several GPUs, by their identity.
func (p *plan) groupKeys() map[string]string {
	var ids []string
	for _, k := range p.kept {
		if len(k.cuts) > 1 {
			if id := groupIdentity(p.uuids(*k.seat)); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	keys := map[string]string{}
	for i, key := range keysOf(ids, keyWidth) {
		keys[ids[i]] = key
	}
	return keys
}

func (p *plan) uuids(st seat) []string {
	uuids := make([]string, len(st.cuts))
	for i, c := range st.cuts {
		uuids[i] = p.cuts[c].gpu.UUID
	}
	return uuids
}

// sliceLike is the slice at a seat. Block slices of one set on one GPU differ in
// their ID only and share the rest with the one before.
func (p *plan) sliceLike(before []gpu.Slice, k *keptSeat, groupKeys map[string]string) gpu.Slice {
	first, part := p.cuts[k.cuts[0]], p.parts[k.part]
	if part.kind == gpu.KindBlock && k.rank > 0 && len(before) > 0 {
		s := before[len(before)-1]
		if s.Set == part.name && s.GPUs[0] == first.gpu.UUID {
			s.ID = sliceID(first.key, part.name, k.slot)
			return s
		}
	}
	return p.slice(k, groupKeys)
}

// slice is the slice at a seat.
func (p *plan) slice(k *keptSeat, groupKeys map[string]string) gpu.Slice {
	part, first := p.parts[k.part], p.cuts[k.cuts[0]]
	s := gpu.Slice{
		Set: part.name, Kind: part.kind,
		GPUs:     p.uuids(*k.seat),
		CPUMilli: part.size.cpu, MemoryBytes: part.size.mem,
		NUMANodes: p.numaNodes(*k.seat),
	}
	key := first.key
	if len(k.cuts) > 1 {
		key = groupKeys[groupIdentity(s.GPUs)]
	}
	s.ID = sliceID(key, part.name, k.slot)
	s.Uses = make([]gpu.Use, 0, 4)
	switch part.kind {
	case gpu.KindBlock:
		s.Block = block(part, k.memory, first.gpu.MemoryBytes)
		s.Uses = append(s.Uses, gpu.Use{Counter: first.counter("blocks"), Amount: int64(s.Block.Percent)})
		if first.ownMemory {
			s.Uses = append(s.Uses, gpu.Use{Counter: first.counter("memory"), Amount: k.memory})
		}
	case gpu.KindMIG:
		s.MIG = k.target
		s.Uses = append(s.Uses,
			gpu.Use{Counter: first.counter("mig-compute"), Amount: int64(k.target.Profile.ComputeSlices)},
			gpu.Use{Counter: first.counter("mig-memory"), Amount: int64(k.target.Placement.Size)})
	case gpu.KindWhole:
		for _, c := range k.cuts {
			s.Uses = append(s.Uses, gpu.Use{Counter: p.cuts[c].counter("whole"), Amount: 1})
		}
	case gpu.KindCPU: // see unitsInto
	}
	s.Uses = append(s.Uses, p.uses(k.draws, "")...)
	return s
}

// block is the GPU part of a block slice, with the defaults of sharing; whole is
// the GPU's memory.
func block(p part, memory, whole int64) *gpu.Block {
	b := &gpu.Block{Percent: int(*p.gpu.BlockPercent), MemoryBytes: memory,
		Lend: true, Borrow: true, MaxPercent: gpu.BlocksPerGPU}
	if s := p.sharing; s != nil {
		if s.Lend != nil {
			b.Lend = *s.Lend
		}
		if s.Borrow != nil {
			b.Borrow = *s.Borrow
		}
		if s.MaxPercent != nil {
			b.MaxPercent = max(int(*s.MaxPercent), b.Percent)
		}
		if s.BorrowMemory != nil && *s.BorrowMemory {
			b.MaxMemoryBytes = whole
		}
		if b.MaxMemoryBytes > 0 && s.MaxMemory != nil {
			b.MaxMemoryBytes = max(min(s.MaxMemory.Value(), whole), memory)
		}
	}
	return b
}

// uses are the host counters that draws take from.
func (p *plan) uses(draws []draw, group string) []gpu.Use {
	uses := make([]gpu.Use, 0, 2*len(draws))
	for _, d := range draws {
		name := p.zones[d.zone].name + group
		if d.cpu > 0 {
			uses = append(uses, gpu.Use{Counter: gpu.Counter(name + "/cpu"), Amount: d.cpu})
		}
		if d.mem > 0 {
			uses = append(uses, gpu.Use{Counter: gpu.Counter(name + "/memory"), Amount: d.mem})
		}
	}
	return uses
}

// numaNodes are the NUMA nodes of a seat's GPUs, or none if one is unknown.
func (p *plan) numaNodes(st seat) []int {
	var nodes []int
	for _, c := range st.cuts {
		n := p.cuts[c].gpu.NUMANode
		if n < 0 {
			return nil
		}
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	slices.Sort(nodes)
	return nodes
}
