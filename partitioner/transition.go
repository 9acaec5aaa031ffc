// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"maps"
	"slices"

	"aipub.io/aipub/gpu"
)

// Waiting is a GPU that cannot be cut anew yet, because somebody holds slices
// of its present cut.
type Waiting struct {
	// GPU is its UUID.
	GPU string
	// Held are the slices in the way, in the layout's order.
	Held []gpu.SliceID
}

// Transition is how far a node can go from one layout towards another while
// some of its slices are held.
//
// A GPU waits when what is held on it has no place in its new cut: its mode
// changes, or a held MIG instance is not at the same place. It keeps its mode
// and the slices that are held, and offers nothing else, so that it becomes
// idle. Every other GPU takes the new layout; there a held slice that the new
// layout knows under the same ID keeps its present size until its holder ends.
// A held slice that the new layout does not know is left out: whoever keeps
// track of holders retires it.
func Transition(from, to gpu.Layout, held map[gpu.SliceID]bool) (gpu.Layout, []Waiting) {
	waiting := waitingGPUs(from, to, held)
	waits := func(u string) bool {
		return slices.ContainsFunc(waiting, func(w Waiting) bool { return w.GPU == u })
	}
	next := gpu.Layout{Modes: map[string]gpu.Mode{}, Totals: map[gpu.Counter]int64{}}
	maps.Copy(next.Modes, to.Modes)
	maps.Copy(next.Totals, to.Totals)
	for _, s := range to.Slices {
		if !slices.ContainsFunc(s.GPUs, waits) {
			next.Slices = append(next.Slices, keepHeld(from, s, held))
		}
	}
	for _, s := range from.Slices {
		others := func(u string) bool { return !waits(u) }
		if held[s.ID] && len(s.GPUs) > 0 && !slices.ContainsFunc(s.GPUs, others) {
			next.Slices = append(next.Slices, s)
		}
	}
	for _, w := range waiting {
		next.Modes[w.GPU] = from.Modes[w.GPU]
	}
	fitTotals(from, to, &next)
	return next, waiting
}

// fitTotals gives next the counters that its slices use, from the layout that
// has them, and drops those that only left-out slices of to used.
func fitTotals(from, to gpu.Layout, next *gpu.Layout) {
	used := map[gpu.Counter]bool{}
	for _, s := range next.Slices {
		for _, use := range s.Uses {
			used[use.Counter] = true
			if _, ok := next.Totals[use.Counter]; !ok {
				next.Totals[use.Counter] = from.Totals[use.Counter]
			}
		}
	}
	for _, s := range to.Slices {
		for _, use := range s.Uses {
			if !used[use.Counter] {
				delete(next.Totals, use.Counter)
			}
		}
	}
}

// keepHeld returns the present form of a slice that is held, and the new form
// of any other.
func keepHeld(from gpu.Layout, s gpu.Slice, held map[gpu.SliceID]bool) gpu.Slice {
	if held[s.ID] {
		if old, ok := from.Find(s.ID); ok {
			return old
		}
	}
	return s
}

// waitingGPUs lists the GPUs that wait, in the order of their first slice, with
// everything that is held on them.
func waitingGPUs(from, to gpu.Layout, held map[gpu.SliceID]bool) []Waiting {
	var out []Waiting
	for _, s := range from.Slices {
		for _, u := range s.GPUs {
			if held[s.ID] && !hasPlace(from, to, s, u) && !slices.ContainsFunc(out, func(w Waiting) bool { return w.GPU == u }) {
				out = append(out, Waiting{GPU: u, Held: heldOn(from, u, held)})
			}
		}
	}
	return out
}

// hasPlace reports whether a held slice can stay as it is on a GPU's new cut.
func hasPlace(from, to gpu.Layout, s gpu.Slice, uuid string) bool {
	if from.Modes[uuid] != to.Modes[uuid] {
		return false
	}
	if s.MIG == nil {
		return true
	}
	same, ok := to.Find(s.ID)
	return ok && same.MIG != nil && same.MIG.Placement == s.MIG.Placement
}

func heldOn(l gpu.Layout, uuid string, held map[gpu.SliceID]bool) []gpu.SliceID {
	var ids []gpu.SliceID
	for _, s := range l.Slices {
		if held[s.ID] && slices.Contains(s.GPUs, uuid) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
