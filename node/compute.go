// SPDX-License-Identifier: Apache-2.0

package node

import (
	"maps"
	"time"

	"aipub.io/aipub/gpu"
)

// commit makes a new snapshot and wakes the watchers if anything is different.
// force says that it is, whatever the slices look like. s.mu is held.
func (s *State) commit(force bool) {
	now := s.now()
	left := s.remaining()
	next := gpu.Snapshot{
		Version: s.snap.Version + 1,
		Slices:  s.statuses(left, now),
		GPUs:    s.gpuHealth(),
		Totals:  s.layout.Totals,
		Left:    left,
		At:      now,
	}
	if !force && same(s.snap, next) {
		return
	}
	s.snap = next
	s.notify()
}

// remaining is what the held slices leave of every counter of the layout.
func (s *State) remaining() map[gpu.Counter]int64 {
	left := make(map[gpu.Counter]int64, len(s.layout.Totals))
	maps.Copy(left, s.layout.Totals)
	for _, e := range s.entries {
		if e.hold == nil {
			continue
		}
		for _, u := range e.slice.Uses {
			if _, ok := left[u.Counter]; ok {
				left[u.Counter] -= u.Amount
			}
		}
	}
	return left
}

// foreign finds the GPUs on which somebody holds a slice by a counter that the
// layout does not have, as after a change of mode. How much of the GPU is left
// cannot be told, so nothing else is given away on it.
func (s *State) foreign() map[string]gpu.Counter {
	var found map[string]gpu.Counter
	for _, id := range s.order {
		e := s.entries[id]
		if e.hold == nil {
			continue
		}
		for _, u := range e.slice.Uses {
			if _, ok := s.layout.Totals[u.Counter]; ok {
				continue
			}
			for _, uuid := range e.slice.GPUs {
				if found == nil {
					found = map[string]gpu.Counter{}
				}
				found[uuid] = u.Counter
			}
		}
	}
	return found
}

// statuses says what is true of each slice. Each set is counted on its own copy
// of what is left.
func (s *State) statuses(left map[gpu.Counter]int64, now time.Time) []gpu.Status {
	before := s.earlier()
	foreign := s.foreign()
	perSet := map[string]map[gpu.Counter]int64{}
	all := make([]gpu.Status, 0, len(s.order))
	for i, id := range s.order {
		e := s.entries[id]
		work, ok := perSet[e.slice.Set]
		if !ok {
			work = maps.Clone(left)
			perSet[e.slice.Set] = work
		}
		st := s.status(e, work, foreign)
		switch old := before(i, id); {
		case e.hold != nil:
			st.Since = e.hold.since
		case old != nil && old.State == st.State:
			st.Since = old.Since
		default:
			st.Since = now
		}
		all = append(all, st)
	}
	return all
}

// earlier looks slices up in the last snapshot: first at the same place, and
// through an index only when something has moved.
func (s *State) earlier() func(i int, id gpu.SliceID) *gpu.Status {
	last := s.snap.Slices
	var index map[gpu.SliceID]*gpu.Status
	return func(i int, id gpu.SliceID) *gpu.Status {
		if i < len(last) && last[i].Slice.ID == id {
			return &last[i]
		}
		if index == nil {
			index = make(map[gpu.SliceID]*gpu.Status, len(last))
			for k := range last {
				index[last[k].Slice.ID] = &last[k]
			}
		}
		return index[id]
	}
}

// status decides on one slice. A free one is taken from left.
func (s *State) status(e *entry, left map[gpu.Counter]int64, foreign map[string]gpu.Counter) gpu.Status {
	st := gpu.Status{Slice: e.slice, Health: s.health(e), Instance: e.instance}
	if e.hold != nil {
		st.State, st.Holder = gpu.StateHeld, e.hold.holder
		if e.planned == nil {
			st.State = gpu.StateRetired
		}
		return st
	}
	if !st.Health.OK {
		st.State = gpu.StateUnhealthy
		return st
	}
	if e.preparing() {
		st.State = gpu.StatePreparing
		return st
	}
	short, ok := fits(e.slice, left, foreign)
	if !ok {
		st.State, st.BlockedBy = gpu.StateBlocked, short
		return st
	}
	st.State = gpu.StateFree
	take(e.slice, left)
	return st
}

// preparing reports whether the slice waits for its hardware.
func (e *entry) preparing() bool {
	return e.slice.Kind == gpu.KindMIG && (e.instance == nil || e.instance.CIID < 0)
}

// fits reports whether a slice can be taken, and if not, what is short.
func fits(sl gpu.Slice, left map[gpu.Counter]int64, foreign map[string]gpu.Counter) (gpu.Counter, bool) {
	for _, uuid := range sl.GPUs {
		if c, ok := foreign[uuid]; ok {
			return c, false
		}
	}
	return sl.Fits(left)
}

// take subtracts what a slice uses.
func take(sl gpu.Slice, left map[gpu.Counter]int64) {
	for _, u := range sl.Uses {
		left[u.Counter] -= u.Amount
	}
}

// same reports whether two snapshots of one layout say the same.
func same(a, b gpu.Snapshot) bool {
	if len(a.Slices) != len(b.Slices) || !maps.Equal(a.GPUs, b.GPUs) {
		return false
	}
	for i := range a.Slices {
		if !sameStatus(&a.Slices[i], &b.Slices[i]) {
			return false
		}
	}
	return true
}

func sameStatus(a, b *gpu.Status) bool {
	if (a.Instance == nil) != (b.Instance == nil) || a.Instance != nil && *a.Instance != *b.Instance {
		return false
	}
	return a.Slice.ID == b.Slice.ID && a.State == b.State && a.Health == b.Health &&
		a.Holder == b.Holder && a.Since.Equal(b.Since) && a.BlockedBy == b.BlockedBy
}
