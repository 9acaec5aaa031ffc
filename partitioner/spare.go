// SPDX-License-Identifier: Apache-2.0

package partitioner

import "aipub.io/aipub/gpu"

// spareRoom is what each zone has left when the GPU sets use the most that any
// legal combination of them can.
func (p *plan) spareRoom() []amount {
	heaviest := p.heaviest()
	spare := make([]amount, len(p.zones))
	for z, room := range p.room {
		spare[z] = room.minus(heaviest[z].min(room))
	}
	return spare
}

// heaviest is the most CPU and the most memory that any legal combination of
// the kept seats takes of each zone. It adds up an upper bound for each GPU.
func (p *plan) heaviest() []amount {
	total := make([]amount, len(p.zones))
	load := make([]cutLoad, len(p.cuts))
	for _, k := range p.kept {
		for _, c := range k.cuts {
			load[c].add(p.parts[k.part], k, p.perGPU(k, p.cuts[c].zone))
		}
	}
	for i, c := range p.cuts {
		total[c.zone] = total[c.zone].plus(load[i].most())
	}
	return total
}

// cutLoad gathers what the slices of one GPU take of its zone.
type cutLoad struct {
	blocks []blockItem
	sum    amount // of MIG instances, which can all be held at once
	whole  amount // the heaviest of those that take the GPU whole
}

func (l *cutLoad) add(p part, k *keptSeat, perGPU amount) {
	switch p.kind {
	case gpu.KindBlock:
		if k.rank == 0 { // one entry for each size
			l.blocks = append(l.blocks, blockItem{percent: int(k.num), amount: p.size})
		}
	case gpu.KindMIG:
		l.sum = l.sum.plus(p.size)
	case gpu.KindWhole:
		l.whole = l.whole.max(perGPU)
	case gpu.KindCPU: // has no seats
	}
}

func (l *cutLoad) most() amount {
	return heaviestBlocks(l.blocks).plus(l.sum).plus(l.whole)
}

// perGPU is what a slice takes of a zone, divided over its GPUs there and
// rounded up.
func (p *plan) perGPU(k *keptSeat, zone int) amount {
	n := int64(0)
	for _, c := range k.cuts {
		if p.cuts[c].zone == zone {
			n++
		}
	}
	for _, d := range k.draws {
		if d.zone == zone {
			return amount{(d.cpu + n - 1) / n, (d.mem + n - 1) / n}
		}
	}
	return amount{}
}
