// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"maps"
	"reflect"
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
// A GPU whose cut changes (its mode, or its MIG instances) while something on
// it is held keeps all of its present slices, and is reported as waiting. On
// every other GPU the new layout takes effect; there a held slice that the new
// layout knows under the same ID keeps its present size until its holder ends.
// A held slice that the new layout does not know is left out: whoever keeps
// track of holders retires it.
func Transition(from, to gpu.Layout, held map[gpu.SliceID]bool) (gpu.Layout, []Waiting) {
	waiting := waitingGPUs(from, to, held)
	kept := map[string]bool{}
	for _, w := range waiting {
		kept[w.GPU] = true
	}

	next := gpu.Layout{Modes: maps.Clone(to.Modes), Totals: maps.Clone(to.Totals)}
	if next.Totals == nil {
		next.Totals = map[gpu.Counter]int64{}
	}
	for _, s := range to.Slices {
		if !slices.ContainsFunc(s.GPUs, func(u string) bool { return kept[u] }) {
			next.Slices = append(next.Slices, keepHeld(from, s, held))
		}
	}
	for _, s := range from.Slices {
		if len(s.GPUs) > 0 && !slices.ContainsFunc(s.GPUs, func(u string) bool { return !kept[u] }) {
			next.Slices = append(next.Slices, s)
		}
	}
	for u := range kept {
		next.Modes[u] = from.Modes[u]
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

// waitingGPUs lists the GPUs whose cut differs and that hold something, in the
// order of their first slice.
func waitingGPUs(from, to gpu.Layout, held map[gpu.SliceID]bool) []Waiting {
	var out []Waiting
	for _, s := range from.Slices {
		if !held[s.ID] {
			continue
		}
		for _, u := range s.GPUs {
			if sameCut(from, to, u) {
				continue
			}
			i := slices.IndexFunc(out, func(w Waiting) bool { return w.GPU == u })
			if i < 0 {
				out = append(out, Waiting{GPU: u})
				i = len(out) - 1
			}
			out[i].Held = append(out[i].Held, s.ID)
		}
	}
	return out
}

func sameCut(a, b gpu.Layout, uuid string) bool {
	return a.Modes[uuid] == b.Modes[uuid] && reflect.DeepEqual(instances(a, uuid), instances(b, uuid))
}

// instances maps each MIG slice of a GPU to where it lies.
func instances(l gpu.Layout, uuid string) map[gpu.SliceID]gpu.Placement {
	out := map[gpu.SliceID]gpu.Placement{}
	for _, s := range l.Slices {
		if s.MIG != nil && slices.Contains(s.GPUs, uuid) {
			out[s.ID] = s.MIG.Placement
		}
	}
	return out
}
