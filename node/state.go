// SPDX-License-Identifier: Apache-2.0

package node

import (
	"reflect"
	"sync"
	"time"

	"aipub.io/aipub/gpu"
)

const (
	// DefaultGrace is how long an absence is doubted while the API server has
	// not been heard: as long as a kubelet takes to start.
	DefaultGrace = 15 * time.Second
	// DefaultSettle is how long a claim may go unlisted when no pod waits for
	// it. The kubelet lists it some milliseconds after Allocate has answered.
	DefaultSettle = 2 * time.Second
)

// Config is what a State needs from outside.
type Config struct {
	// Now reads the clock; time.Now when nil.
	Now func() time.Time
	// Grace is how long what the kubelet does not list is kept while the API
	// server has not been heard; DefaultGrace when 0.
	Grace time.Duration
	// Settle is how long a claim that nobody lists is kept when the API server
	// knows no pod that waits for it; DefaultSettle when 0.
	Settle time.Duration
}

// State is the node's slices, live. Make it with New.
type State struct {
	now           func() time.Time
	grace, settle time.Duration

	mu sync.Mutex
	// seq numbers claims and marks in one order; applied is the mark of the
	// last observation that was applied.
	seq, applied uint64
	layout       gpu.Layout
	order        []gpu.SliceID // every entry: the layout's order, then retired ones
	entries      map[gpu.SliceID]*entry
	gpus         map[string]gpu.Health
	instances    map[instanceKey]gpu.Health
	snap         gpu.Snapshot
	watchers     map[chan struct{}]struct{}
}

// entry is one slice that exists: planned, or held beyond the plan.
type entry struct {
	// slice is the definition in force. While the slice is held it is the one
	// under which it was given away.
	slice gpu.Slice
	// planned is the layout's definition; nil for a retired slice.
	planned  *gpu.Slice
	hold     *hold
	instance *gpu.Instance
}

// hold is one holding of one slice.
type hold struct {
	holder gpu.Holder // zero until listed
	seq    uint64     // of the claim or mark that began it
	since  time.Time
	// claimed is the time of the claim; missing is when a listed slice was
	// first seen unlisted, zero while it is listed.
	claimed, missing time.Time
}

// New returns a state without slices.
func New(cfg Config) *State {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.Settle == 0 {
		cfg.Settle = DefaultSettle
	}
	return &State{
		now:       cfg.Now,
		grace:     cfg.Grace,
		settle:    cfg.Settle,
		entries:   map[gpu.SliceID]*entry{},
		gpus:      map[string]gpu.Health{},
		instances: map[instanceKey]gpu.Health{},
		watchers:  map[chan struct{}]struct{}{},
	}
}

// SetLayout replaces the plan. Slices that the new plan has under the same ID
// keep their holder; a held slice keeps the definition under which it was given
// away until it is freed. Slices that vanish are dropped, or Retired while they
// are held. The layout must not be modified afterwards.
func (s *State) SetLayout(layout gpu.Layout) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.DeepEqual(s.layout, layout) {
		return
	}
	old := s.order
	s.layout = layout
	s.order = make([]gpu.SliceID, 0, len(layout.Slices))
	planned := make(map[gpu.SliceID]bool, len(layout.Slices))
	for i := range layout.Slices {
		p := &layout.Slices[i]
		if planned[p.ID] {
			continue
		}
		planned[p.ID] = true
		s.order = append(s.order, p.ID)
		s.plan(p)
	}
	for _, id := range old {
		if planned[id] {
			continue
		}
		if e := s.entries[id]; e.hold != nil {
			e.planned = nil
			s.order = append(s.order, id)
		} else {
			delete(s.entries, id)
		}
	}
	s.commit(true)
}

// plan enters one slice of the layout.
func (s *State) plan(p *gpu.Slice) {
	e := s.entries[p.ID]
	if e == nil {
		s.entries[p.ID] = &entry{slice: *p, planned: p}
		return
	}
	e.planned = p
	if e.hold == nil || e.slice.Kind == "" { // only its ID was known until now
		e.redefine()
	}
}

// redefine takes over the layout's definition of a slice that nobody holds.
func (e *entry) redefine() {
	if !reflect.DeepEqual(e.slice.MIG, e.planned.MIG) || !reflect.DeepEqual(e.slice.GPUs, e.planned.GPUs) {
		e.instance = nil
	}
	e.slice = *e.planned
}

// free ends a holding. A retired slice disappears with its holder.
func (s *State) free(id gpu.SliceID) {
	e := s.entries[id]
	e.hold = nil
	if e.planned != nil {
		e.redefine()
		return
	}
	delete(s.entries, id)
	for i, o := range s.order {
		if o == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// Layout returns the plan in force; it must not be modified.
func (s *State) Layout() gpu.Layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layout
}

// Snapshot returns the slices as they are now. It is shared and must not be
// modified.
func (s *State) Snapshot() gpu.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snap
}

// Restore takes over what was held when the agent last stopped: those of the
// given slices that are Held or Retired. Call it after the layout of that time
// has been set, before SetInstance (which refuses slices that do not exist) and
// before the first claim or observation. A slice whose holder was not known
// counts as claimed now; one without a time is held since now. Recorded
// hardware is not taken over, since it may be gone: SetInstance says what was
// found.
func (s *State) Restore(held []gpu.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, st := range held {
		if !isHeld(st.State) {
			continue
		}
		e := s.entries[st.Slice.ID]
		if e == nil {
			e = &entry{}
			s.entries[st.Slice.ID] = e
			s.order = append(s.order, st.Slice.ID)
		}
		e.slice = st.Slice
		if st.Since.IsZero() {
			st.Since = now
		}
		s.seq++
		e.hold = &hold{holder: st.Holder, seq: s.seq, since: st.Since, claimed: now}
	}
	s.commit(false)
}
