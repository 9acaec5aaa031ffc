// SPDX-License-Identifier: Apache-2.0

package node

import (
	"maps"

	"aipub.io/aipub/gpu"
)

// Claim takes slices of one set for a container that is not known yet: all of
// them, or none and a *ClaimError. It is called for each Allocate.
//
// A slice that is held already may be claimed again: the kubelet gives its own
// IDs away only when it knows that the last holder has ended, which it may know
// before an observation does, and it reuses an init container's slices for the
// containers after it. Such a claim begins a new holding. Only a retired slice
// whose holder is known cannot be claimed again.
func (s *State) Claim(set string, ids []gpu.SliceID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := maps.Clone(s.snap.Left)
	foreign := s.foreign()
	seen := make(map[gpu.SliceID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		if err := s.check(set, id, left, foreign); err != nil {
			return err
		}
	}
	now := s.now()
	s.seq++
	for id := range seen {
		s.entries[id].hold = &hold{seq: s.seq, since: now, claimed: now}
	}
	s.commit(false)
	return nil
}

// check decides on one slice of a claim and takes it from left if it was free.
func (s *State) check(set string, id gpu.SliceID, left map[gpu.Counter]int64, foreign map[string]gpu.Counter) error {
	fail := &ClaimError{Set: set, Slice: id}
	e := s.entries[id]
	if e == nil {
		fail.Reason = ReasonUnknown
		return fail
	}
	if e.slice.Set != set {
		fail.Reason, fail.OtherSet = ReasonWrongSet, e.slice.Set
		return fail
	}
	if h := s.health(e); !h.OK {
		fail.Reason, fail.Health = ReasonUnhealthy, h
		return fail
	}
	if e.preparing() {
		fail.Reason = ReasonPreparing
		return fail
	}
	if e.hold != nil {
		if e.planned == nil && !e.hold.holder.IsZero() {
			fail.Reason = ReasonRetired
			return fail
		}
		return nil
	}
	short, ok := fits(e.slice, left, foreign)
	if !ok {
		fail.Reason, fail.Counter, fail.Left = ReasonOverlap, short, left[short]
		for _, u := range e.slice.Uses {
			if u.Counter == short {
				fail.Needed = u.Amount
			}
		}
		fail.Overlaps = s.overlaps(short)
		return fail
	}
	take(e.slice, left)
	return nil
}

// overlaps lists what is held of a counter, in order.
func (s *State) overlaps(c gpu.Counter) []Overlap {
	var found []Overlap
	for _, id := range s.order {
		e := s.entries[id]
		if e.hold == nil {
			continue
		}
		for _, u := range e.slice.Uses {
			if u.Counter == c {
				found = append(found, Overlap{Slice: id, Set: e.slice.Set, Holder: e.hold.holder, Amount: u.Amount})
				break
			}
		}
	}
	return found
}
