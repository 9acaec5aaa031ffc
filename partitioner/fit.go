// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"maps"
	"slices"
	"strings"

	"aipub.io/aipub/gpu"
)

// exhaustive is how many slices with draws of their own Free tries in every
// combination; beyond, it takes them as they come.
const exhaustive = 12

// Fit reports whether n more slices of a set can be held beside those that are.
func Fit(layout gpu.Layout, held map[gpu.SliceID]bool, set string, n int) bool {
	return n <= 0 || freeOf(layout, held, layout.Remaining(held), set) >= n
}

// Holds reports whether the given slices can be held together beside those that
// are: each is in the layout, nobody holds it, and no counter is exceeded. It is
// what every decision about a node comes down to.
func Holds(layout gpu.Layout, held map[gpu.SliceID]bool, more []gpu.SliceID) bool {
	left := layout.Remaining(held)
	found := map[gpu.SliceID]bool{}
	for _, s := range layout.Slices {
		if !slices.Contains(more, s.ID) {
			continue
		}
		if _, ok := s.Fits(left); !ok || held[s.ID] || found[s.ID] {
			return false
		}
		found[s.ID] = true
		change(left, s, -1)
	}
	return len(found) == len(more)
}

// Free is how many more slices of each set of the layout can be held beside
// those that are, if no other set takes any: the sets share counters, so the
// numbers do not add up.
//
// It is exact. Slices of one set take the same from counters that are nested
// (a GPU within its zone), where taking them as they come is best. Only slices
// that span several zones differ; their combinations are all tried, up to 12.
func Free(layout gpu.Layout, held map[gpu.SliceID]bool) map[string]int {
	left := layout.Remaining(held)
	free := map[string]int{}
	for _, set := range layout.Sets() {
		free[set] = freeOf(layout, held, left, set)
	}
	return free
}

func freeOf(layout gpu.Layout, held map[gpu.SliceID]bool, left map[gpu.Counter]int64, set string) int {
	var own, spanning []gpu.Slice
	for _, s := range layout.Slices {
		if s.Set != set || held[s.ID] {
			continue
		}
		if _, ok := s.Fits(left); !ok {
			continue
		}
		if zonesIn(s) > 1 && len(spanning) < exhaustive {
			spanning = append(spanning, s)
		} else {
			own = append(own, s)
		}
	}
	return mostOf(spanning, own, maps.Clone(left))
}

// mostOf is the largest number of slices that left has room for: it tries with
// and without each of the spanning ones. It leaves left as it was.
func mostOf(spanning, own []gpu.Slice, left map[gpu.Counter]int64) int {
	if len(spanning) == 0 {
		return takeAll(own, left)
	}
	first, rest := spanning[0], spanning[1:]
	most := mostOf(rest, own, left)
	if _, ok := first.Fits(left); ok {
		change(left, first, -1)
		most = max(most, 1+mostOf(rest, own, left))
		change(left, first, +1)
	}
	return most
}

// takeAll counts how many of the slices fit one after the other, and puts them
// back.
func takeAll(list []gpu.Slice, left map[gpu.Counter]int64) int {
	var taken []gpu.Slice
	for _, s := range list {
		if _, ok := s.Fits(left); ok {
			change(left, s, -1)
			taken = append(taken, s)
		}
	}
	for _, s := range taken {
		change(left, s, +1)
	}
	return len(taken)
}

// change gives a slice's uses back to left (sign +1) or takes them (-1).
func change(left map[gpu.Counter]int64, s gpu.Slice, sign int64) {
	for _, u := range s.Uses {
		left[u.Counter] += sign * u.Amount
	}
}

// zonesIn is the number of zones that a slice takes CPU or memory from.
func zonesIn(s gpu.Slice) int {
	var zones []string
	for _, u := range s.Uses {
		group := string(u.Counter[:strings.LastIndexByte(string(u.Counter), '/')+1])
		if !strings.HasPrefix(group, "gpu/") && !slices.Contains(zones, group) {
			zones = append(zones, group)
		}
	}
	return len(zones)
}
