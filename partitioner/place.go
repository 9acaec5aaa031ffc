// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu"
)

// migInstance is one instance of an option at its place.
type migInstance struct {
	option    int
	placement gpu.Placement
}

// placeAll finds a legal placement for every instance of a mixture, whatever
// the order in which they are named, or reports that there is none. The search
// is exhaustive and always finds the same one.
func placeAll(options []migOption, counts []int) ([]migInstance, bool) {
	var s placeSearch
	s.options = options
	for i, n := range counts {
		for range n {
			s.todo = append(s.todo, i)
		}
	}
	// The most constrained first: large ones, then those with few places.
	slices.SortStableFunc(s.todo, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(options[b].memory(), options[a].memory()),
			cmp.Compare(len(options[a].profile.Placements), len(options[b].profile.Placements)),
		)
	})
	s.placed = make([]migInstance, 0, len(s.todo))
	ok := s.place(0)
	return s.placed, ok
}

// placeSearch is a depth-first search over placements.
type placeSearch struct {
	options []migOption
	todo    []int // option of each instance
	placed  []migInstance
}

// place finds places for the instances from i on.
func (s *placeSearch) place(i int) bool {
	if i == len(s.todo) {
		return true
	}
	o := s.todo[i]
	for _, pl := range s.options[o].profile.Placements {
		if !s.free(i, o, pl) {
			continue
		}
		s.placed = append(s.placed[:i], migInstance{o, pl})
		if s.place(i + 1) {
			return true
		}
	}
	return false
}

// free reports whether nothing placed so far overlaps pl. Instances of one
// option take ascending places, so that no two orders of them are tried.
func (s *placeSearch) free(i, option int, pl gpu.Placement) bool {
	for _, q := range s.placed[:i] {
		if q.placement.Overlaps(pl) || q.option == option && q.placement.Start > pl.Start {
			return false
		}
	}
	return true
}
