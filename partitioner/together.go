// SPDX-License-Identifier: Apache-2.0

package partitioner

import "aipub.io/aipub/gpu"

// ledger is a plan's GPU counters by position instead of by name, to be used up
// quickly.
type ledger struct {
	blocks []int64 // of each GPU; a whole GPU and a MIG GPU count as 100
	memory []int64 // device memory, where it is counted apart
	room   []amount
	spare  []amount
}

// together lets every set take one slice in turn until nothing more fits, and
// counts them.
func (p *plan) together() []int {
	l := p.ledger()
	got := make([]int, len(p.parts))
	queues := make([][]*keptSeat, len(p.parts))
	for _, k := range p.kept {
		queues[k.part] = append(queues[k.part], k)
	}
	for _, u := range p.aside {
		got[u.part]++
	}
	loose := make([][]unit, len(p.parts))
	for _, u := range p.loose {
		loose[u.part] = append(loose[u.part], u)
	}
	for more := true; more; {
		more = false
		for i := range p.parts {
			if p.takeNext(l, &queues[i]) || takeUnitOf(l, &loose[i]) {
				got[i]++
				more = true
			}
		}
	}
	return got
}

func (p *plan) ledger() *ledger {
	l := &ledger{
		blocks: make([]int64, len(p.cuts)),
		memory: make([]int64, len(p.cuts)),
		room:   append([]amount(nil), p.room...),
		spare:  append([]amount(nil), p.spare...),
	}
	for i, c := range p.cuts {
		l.blocks[i] = gpu.BlocksPerGPU
		l.memory[i] = c.gpu.MemoryBytes
	}
	return l
}

// takeNext takes the first seat of the queue that fits and drops it and all
// before it: what does not fit now will not fit later.
func (p *plan) takeNext(l *ledger, queue *[]*keptSeat) bool {
	for i, k := range *queue {
		if p.take(l, k) {
			*queue = (*queue)[i+1:]
			return true
		}
	}
	*queue = nil
	return false
}

// take takes one slice from the ledger.
func (p *plan) take(l *ledger, k *keptSeat) bool {
	blocks, memory := int64(0), int64(0)
	switch p.parts[k.part].kind {
	case gpu.KindBlock:
		blocks = k.num
		if p.cuts[k.cuts[0]].ownMemory {
			memory = k.memory
		}
	case gpu.KindWhole:
		blocks = gpu.BlocksPerGPU
	case gpu.KindMIG, gpu.KindCPU: // instances do not overlap
	}
	for _, c := range k.cuts {
		if l.blocks[c] < blocks || l.memory[c] < memory {
			return false
		}
	}
	if !takeDraws(l.room, k.draws) {
		return false
	}
	for _, c := range k.cuts {
		l.blocks[c] -= blocks
		l.memory[c] -= memory
	}
	return true
}

// takeUnitOf takes the first CPU-only slice of the queue that fits.
func takeUnitOf(l *ledger, queue *[]unit) bool {
	for i, u := range *queue {
		if takeDraws(l.spare, u.draws) {
			*queue = (*queue)[i+1:]
			return true
		}
	}
	*queue = nil
	return false
}
