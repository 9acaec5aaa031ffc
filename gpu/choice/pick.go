// SPDX-License-Identifier: Apache-2.0

package choice

import (
	"errors"
	"fmt"
	"slices"

	"aipub.io/aipub/gpu"
)

// Prefer chooses n of the available slices, those in must among them. It keeps
// large slices whole: one after the other it takes, of those that can be taken,
// the slice that
//
//  1. makes the least of other sets impossible on the same GPUs,
//  2. lies on the GPU of which the most is used already (best fit),
//  3. is near to what was chosen before: the same NUMA nodes, then the nearest
//     neighbour in the layout's order; for the first one, a NUMA node that can
//     take all n, and of those the one with the least to spare,
//
// and after that the first in the layout's order. The same input gives the same
// choice. Available IDs that the snapshot does not have are ignored. The error
// says that must has more than n or is not known, or that too few are.
func Prefer(s gpu.Snapshot, available, must []gpu.SliceID, n int) ([]gpu.SliceID, error) {
	if len(must) > n {
		return nil, fmt.Errorf("prefer %d slices: %d must be among them", n, len(must))
	}
	b, state := boardOf(s)
	var offer []int
	for _, id := range available {
		if i, ok := b.pos[id]; ok {
			offer = append(offer, i)
		}
	}
	slices.Sort(offer)
	p := newPick(b, state, slices.Compact(offer), n)
	for _, id := range must {
		i, ok := b.pos[id]
		if !ok {
			return nil, fmt.Errorf("prefer slices: %s must be among them but is not known", id)
		}
		p.take(i)
	}
	for len(p.chosen) < n {
		i, _, ok := p.best()
		if !ok {
			return nil, errors.New("prefer slices: fewer are known than asked for")
		}
		p.take(i)
	}
	ids := make([]gpu.SliceID, len(p.chosen))
	for k, i := range p.chosen {
		ids[k] = b.ids[i]
	}
	return ids, nil
}

// boardOf compiles a snapshot.
func boardOf(s gpu.Snapshot) (*Board, State) {
	all := make([]gpu.Slice, len(s.Slices))
	for i := range s.Slices {
		all[i] = s.Slices[i].Slice
	}
	b := NewBoard(s.Totals, all)
	state := b.Empty()
	for c, name := range b.counters {
		state.Left[c] = s.Left[name]
	}
	for i := range s.Slices {
		state.Marks[i] = markOf(&s.Slices[i])
	}
	return b, state
}

func markOf(st *gpu.Status) Mark {
	switch st.State {
	case gpu.StateHeld, gpu.StateRetired:
		if st.Health.OK {
			return Taken
		}
		return TakenUnfit
	case gpu.StateFree, gpu.StateBlocked:
		return Open
	default:
		return Out
	}
}

// pick is a choice in progress. Slices are named by their position.
type pick struct {
	*Board
	state   State
	n       int
	offer   []int // ascending
	perNUMA map[int]int
	chosen  []int
	isIn    []bool // chosen
	loss    lossOf
}

func newPick(b *Board, state State, offer []int, n int) *pick {
	p := &pick{Board: b, state: state, n: n, offer: offer, isIn: make([]bool, len(b.slices)), loss: newLossOf(b)}
	if n > 1 {
		p.perNUMA = map[int]int{}
		for _, i := range offer {
			for _, node := range b.slices[i].numa {
				p.perNUMA[node]++
			}
		}
	}
	return p
}

// take adds a slice to the choice. One that is held already (the kubelet knows
// first that its holder has ended) takes nothing more.
func (p *pick) take(i int) {
	if p.isIn[i] {
		return
	}
	p.isIn[i] = true
	p.chosen = append(p.chosen, i)
	if !p.taken(i) {
		p.state.Marks[i] = Taken
		p.Change(i, p.state.Left, -1)
	}
}

func (p *pick) taken(i int) bool { return p.state.Marks[i] == Taken || p.state.Marks[i] == TakenUnfit }

// best is the candidate of the lowest cost.
func (p *pick) best() (position int, lowest cost, ok bool) {
	p.loss.reset()
	alike := -1
	for _, i := range p.offer {
		if p.isIn[i] {
			continue
		}
		if len(p.chosen) == 0 && p.state.Marks[i] == Open {
			// While there is nothing to be near to, slices that are alike cost
			// the same, and the first of them wins.
			if p.slices[i].group == alike {
				continue
			}
			alike = p.slices[i].group
		}
		if c := p.cost(i); !ok || c.less(lowest) {
			lowest, position, ok = c, i, true
		}
	}
	return position, lowest, ok
}
