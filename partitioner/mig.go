// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu"
)

// migOption is a set that a GPU model can hold, and the profile it means there.
type migOption struct {
	part    int // index of the set
	profile gpu.Profile
	most    int // how many may be used at most
}

// compute and memory are what one instance occupies.
func (o migOption) compute() int { return o.profile.ComputeSlices }
func (o migOption) memory() int  { return o.profile.Placements[0].Size }

// board is the space of a MIG GPU: how many compute and memory slices it has.
type board struct{ compute, memory int }

func boardOf(profiles []gpu.Profile) board {
	var b board
	for _, p := range profiles {
		b.compute = max(b.compute, p.ComputeSlices)
		for _, pl := range p.Placements {
			b.memory = max(b.memory, pl.Start+pl.Size)
		}
	}
	return b
}

// mixture is a number of instances of each option.
type mixture struct {
	counts          []int
	compute, memory int // what they occupy
}

// bestMixture searches all numbers of the options that the board can hold, and
// returns the one to prefer, with its instances placed. It is empty when
// nothing fits.
func bestMixture(options []migOption, b board) (mixture, []migInstance) {
	s := mixtureSearch{options: options, board: b, now: mixture{counts: make([]int, len(options))}}
	s.best = mixture{counts: make([]int, len(options))}
	s.from(0, 0)
	return s.best, s.placed
}

// mixtureSearch walks through all mixtures depth first.
type mixtureSearch struct {
	options []migOption
	board   board
	now     mixture
	best    mixture
	placed  []migInstance
}

// from tries every number of option i and the ones after it. media counts the
// instances with media extensions, of which a GPU has at most one.
func (s *mixtureSearch) from(i, media int) {
	if i == len(s.options) {
		s.consider()
		return
	}
	o, before := s.options[i], s.now
	for n := 0; n <= min(o.most, o.profile.MaxCount); n++ {
		s.now.counts[i] = n
		s.now.compute = before.compute + n*o.compute()
		s.now.memory = before.memory + n*o.memory()
		m := media
		if o.profile.MediaExtensions {
			m += n
		}
		if s.now.compute > s.board.compute || s.now.memory > s.board.memory || m > 1 {
			break
		}
		s.from(i+1, m)
	}
	s.now.counts[i] = 0
	s.now.compute, s.now.memory = before.compute, before.memory
}

// consider keeps the present mixture if it is preferred and can be placed.
func (s *mixtureSearch) consider() {
	if compareMixtures(s.now, s.best) <= 0 {
		return
	}
	if placed, ok := placeAll(s.options, s.now.counts); ok {
		s.best, s.placed = s.now, placed
		s.best.counts = slices.Clone(s.now.counts)
	}
}

// compareMixtures is above zero when a is preferred: it uses more compute, then
// more memory, is more even, and has more of the large ones. Preconditions: the
// options are ordered from large to small.
func compareMixtures(a, b mixture) int {
	return cmp.Or(
		cmp.Compare(a.compute, b.compute),
		cmp.Compare(a.memory, b.memory),
		cmp.Compare(unevenness(b.counts), unevenness(a.counts)),
		slices.Compare(a.counts, b.counts),
	)
}

// unevenness is how far the counts are from each other: the sum of the squared
// differences of all pairs.
func unevenness(counts []int) int {
	sum := 0
	for i, a := range counts {
		for _, b := range counts[:i] {
			sum += (a - b) * (a - b)
		}
	}
	return sum
}

// sortOptions orders options from large to small.
func sortOptions(options []migOption) {
	slices.SortStableFunc(options, func(a, b migOption) int {
		return cmp.Or(
			cmp.Compare(b.compute(), a.compute()),
			cmp.Compare(b.memory(), a.memory()),
			cmp.Compare(a.profile.ID, b.profile.ID),
		)
	})
}
