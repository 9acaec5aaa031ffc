// SPDX-License-Identifier: Apache-2.0

package choice

import (
	"cmp"
	"slices"
)

// Need is how many slices of one set are asked for.
type Need struct {
	Set string
	N   int
}

// Choice is what Seat found.
type Choice struct {
	// Slices are positions, as many as all needs together.
	Slices []int
	// Lost is what other sets on the same GPUs can no longer take, Unused what
	// was free of the GPUs before, both in millionths of a GPU and summed up over
	// the slices: the less, the better the place.
	Lost, Unused int64
}

// Less reports whether c is the better place.
func (c Choice) Less(d Choice) bool {
	return cmp.Or(cmp.Compare(c.Lost, d.Lost), cmp.Compare(c.Unused, d.Unused)) < 0
}

// Seat chooses slices for all needs together, each as Prefer does, the set with
// the largest slices first. Where that order finds no place it searches the
// others, with a bound: so it may miss a place that exists, but never gives one
// that does not. It reports false if it finds none. The state stays as it was.
//
// It chooses among the slices that the agent shows as free, because the kubelet
// can take no others: see offer.
func (b *Board) Seat(state State, needs []Need) (Choice, bool) {
	needs = b.Ordered(needs)
	offers := make([][]int, len(needs))
	for k, need := range needs {
		if offers[k] = b.offer(state, need.Set); len(offers[k]) < need.N {
			return Choice{}, false
		}
	}
	if c, ok := b.greedy(state.Clone(), needs, offers); ok {
		return c, true
	}
	if len(needs) == 1 {
		return Choice{}, false // all on offer fit together
	}
	s := search{b: b, state: state.Clone(), offers: offers, steps: maxSteps}
	if !s.from(needs, 0, 0, -1) {
		return Choice{}, false
	}
	return Choice{Slices: s.chosen, Lost: perGPU * int64(len(s.chosen)), Unused: perGPU * int64(len(s.chosen))}, true
}

// offer is what the agent shows as free of a set: it goes through the slices in
// order and takes each that fits, so that all it shows can be held together.
func (b *Board) offer(state State, set string) []int {
	var free []int
	left := slices.Clone(state.Left)
	for _, i := range b.Members(set) {
		if state.Marks[i] == Open && b.Fits(i, left) {
			b.Change(i, left, -1)
			free = append(free, i)
		}
	}
	return free
}

// greedy takes the best slice, one after the other; it changes the state.
func (b *Board) greedy(state State, needs []Need, offers [][]int) (Choice, bool) {
	var c Choice
	for k, need := range needs {
		p := newPick(b, state, offers[k], need.N)
		for range need.N {
			i, cost, ok := p.best()
			if !ok || cost.unfit > 0 {
				return Choice{}, false
			}
			c.Lost += cost.lost
			c.Unused += cost.unused
			p.take(i)
		}
		c.Slices = append(c.Slices, p.chosen...)
	}
	return c, true
}

// maxSteps bounds the search for a place; the kubelet does not search at all, so
// only rare mixtures get here.
const maxSteps = 4096

// search tries the slices of all needs, depth first. Those that are alike are
// tried once at each point, and in ascending order within a set.
type search struct {
	b      *Board
	state  State
	offers [][]int // by need
	steps  int
	chosen []int
}

// from places what is left of needs: done slices of need k are placed, the last
// one at position last.
func (s *search) from(needs []Need, k, done, last int) bool {
	for k < len(needs) && done == needs[k].N {
		k, done, last = k+1, 0, -1
	}
	if k == len(needs) {
		return true
	}
	tried := make(map[int]bool)
	for _, i := range s.offers[k] {
		group := s.b.slices[i].group
		if i <= last || tried[group] || s.state.Marks[i] != Open || !s.b.Fits(i, s.state.Left) {
			continue
		}
		if s.steps--; s.steps < 0 {
			return false
		}
		tried[group] = true
		s.state.Marks[i] = Taken
		s.b.Change(i, s.state.Left, -1)
		s.chosen = append(s.chosen, i)
		if s.from(needs, k, done+1, i) {
			return true
		}
		s.chosen = s.chosen[:len(s.chosen)-1]
		s.b.Change(i, s.state.Left, +1)
		s.state.Marks[i] = Open
	}
	return false
}
