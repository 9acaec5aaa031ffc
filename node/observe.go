// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	"aipub.io/aipub/gpu"
)

// Mark begins an observation: take it before the kubelet is asked, and put it
// into Observation.Mark. Claims made after it are not contradicted by what the
// observation does not list.
func (s *State) Mark() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	return s.seq
}

// Observe takes over who holds what; see the package's rules on when a slice is
// freed. What the kubelet lists is held, even when the node thought otherwise:
// its containers run. An observation with an older mark than one that was
// applied already is ignored.
//
// settled is false while the two witnesses disagree or a holder is still
// unknown, so that it is worth asking again soon.
func (s *State) Observe(o gpu.Observation) (settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Mark < s.applied {
		return false
	}
	s.applied = o.Mark
	v := newView(o)
	listed := map[gpu.SliceID]bool{}
	for _, h := range o.Holdings {
		h.Holder.PodUID = v.uid(h.Holder)
		for _, id := range h.Slices {
			if !listed[id] {
				listed[id] = true
				s.confirm(id, h, o.Mark)
			}
		}
	}
	settled = true
	for _, id := range append([]gpu.SliceID(nil), s.order...) {
		e := s.entries[id]
		switch {
		case e.hold == nil:
		case listed[id]:
			settled = settled && !e.hold.holder.IsZero() && v.mayBeActive(e.hold.holder)
		case e.hold.seq > o.Mark || s.keep(e, v):
			settled = false
		default:
			s.free(id)
		}
	}
	s.commit(false)
	return settled
}

// confirm enters a slice that the kubelet lists for a holder.
func (s *State) confirm(id gpu.SliceID, h gpu.Holding, mark uint64) {
	e := s.entries[id]
	if e == nil {
		// Given away under a plan of which nothing is recorded. It must stay
		// advertised, or its pod is refused when the kubelet restarts.
		e = &entry{slice: gpu.Slice{ID: id, Set: h.Set}}
		s.entries[id] = e
		s.order = append(s.order, id)
	}
	switch {
	case e.hold == nil:
		e.hold = &hold{seq: mark, since: s.now()}
	case e.hold.seq > mark:
		return // claimed since: this is the last holder, not the new one
	case !e.hold.holder.IsZero() && !sameContainer(e.hold.holder, h.Holder):
		e.hold = &hold{seq: mark, since: s.now()} // its claim was missed
	}
	if h.Holder.PodUID == "" {
		h.Holder.PodUID = e.hold.holder.PodUID
	}
	e.hold.holder = h.Holder
	e.hold.missing = time.Time{}
}

// keep decides on a held slice that the kubelet does not list.
func (s *State) keep(e *entry, v view) bool {
	now := s.now()
	if e.hold.holder.IsZero() {
		if v.known {
			return now.Sub(e.hold.claimed) < s.settle || v.unlisted[e.slice.Set] > 0
		}
		return now.Sub(e.hold.claimed) < s.grace
	}
	if v.known {
		return v.mayHold(e.hold.holder, e.slice.Set)
	}
	if e.hold.missing.IsZero() {
		e.hold.missing = now
	}
	return now.Sub(e.hold.missing) < s.grace
}

// sameContainer reports whether two holders are the same container; a UID that
// one of them lacks is not compared.
func sameContainer(a, b gpu.Holder) bool {
	if a.PodUID == "" || b.PodUID == "" {
		a.PodUID, b.PodUID = "", ""
	}
	return a == b
}
