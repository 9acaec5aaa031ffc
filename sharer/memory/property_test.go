// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// world is a GPU with slices that allocate, free, obey or do not, come and go.
type world struct {
	*testing.T
	random *rand.Rand
	ladder *Ladder
	now    sharer.Instant
	usable uint64
	can    bool
	slices []*tenant
	next   int
	ended  int
}

type tenant struct {
	Slice
	limit    uint64
	stubborn bool
	last     Step           // of the present climb
	since    sharer.Instant // of its first step
	until    sharer.Instant // when a checkpoint or restore is done
}

func (w *world) total() uint64 {
	var sum uint64
	for _, t := range w.slices {
		if t.Residence != Parked {
			sum += t.Used
		}
	}
	return sum
}

// arrive lets a slice in whose guarantee fits beside the others'.
func (w *world) arrive() {
	g := uint64(1+w.random.IntN(30)) * gib
	sum := g
	for _, t := range w.slices {
		sum += t.Guaranteed
	}
	if sum > w.usable || len(w.slices) > 5 {
		return
	}
	w.next++
	t := &tenant{Slice: Slice{ID: gpu.SliceID(fmt.Sprint("s", w.next)), Guaranteed: g}, limit: g, stubborn: w.random.IntN(2) == 0}
	if w.random.IntN(2) == 0 {
		t.Max = g + uint64(w.random.IntN(80))*gib
	}
	w.slices = append(w.slices, t)
}

// live lets each slice do something that its limit and the GPU allow.
func (w *world) live() {
	for _, t := range w.slices {
		if t.until != 0 && w.now >= t.until {
			t.until = 0
			t.Residence = map[Residence]Residence{Leaving: Parked, Returning: Resident}[t.Residence]
		}
		if t.Residence != Resident && t.Residence != Fixed {
			continue
		}
		switch w.random.IntN(8) {
		case 0, 1:
			t.allocate(w, uint64(1+w.random.IntN(int(10*gib))))
		case 2:
			if !t.stubborn || t.Used <= t.Guaranteed {
				t.Used -= uint64(float64(t.Used) * w.random.Float64())
			}
		default:
			if t.Wanted > 0 {
				t.allocate(w, t.Wanted)
			}
		}
	}
}

func (t *tenant) allocate(w *world, bytes uint64) {
	if t.Used+bytes > t.limit {
		t.Wanted = 0
		return
	}
	if w.total()+bytes > w.usable {
		t.Wanted = bytes
		return
	}
	t.Used, t.Wanted = t.Used+bytes, 0
}

func (w *world) look() {
	s := Sample{At: w.now, Usable: w.usable, CanCheckpoint: w.can}
	for _, t := range w.slices {
		s.Slices = append(s.Slices, t.Slice)
	}
	p := w.ladder.Observe(s)
	if len(p.Limits) != len(w.slices) {
		w.Fatalf("%d limits for %d slices", len(p.Limits), len(w.slices))
	}
	for i, l := range p.Limits {
		w.limited(w.slices[i], l)
	}
	for _, a := range p.Actions {
		for _, t := range w.slices {
			if t.ID == a.Slice {
				w.act(t, a)
			}
		}
	}
}

func (w *world) limited(t *tenant, l Limit) {
	switch {
	case l.Slice != t.ID:
		w.Fatalf("limits are not in the sample's order")
	case l.Bytes < t.Guaranteed:
		w.Fatalf("%s may have %d, less than its guarantee of %d", t.ID, l.Bytes, t.Guaranteed)
	case l.Bytes > max(t.Max, t.Guaranteed):
		w.Fatalf("%s may have %d, more than its maximum of %d", t.ID, l.Bytes, t.Max)
	case t.Max <= t.Guaranteed && l.Step != None:
		w.Fatalf("%s borrows nothing and is on step %d", t.ID, l.Step)
	}
	t.limit = l.Bytes
}

// act checks an action against the promises, and carries it out.
func (w *world) act(t *tenant, a Action) {
	step := map[Kind]Step{Refused: Refuse, Trimmed: Trim, Demoted: Demote, Checkpointed: Checkpoint, Ended: End}[a.Kind]
	if step != None && t.Used <= t.Guaranteed {
		w.Fatalf("%s of %s, which is within its guarantee", a.Kind, t.ID)
	}
	if step == Refuse {
		t.since = w.now
	}
	if step != None && step < t.last {
		w.Fatalf("%s of %s after step %d", a.Kind, t.ID, t.last)
	}
	switch a.Kind {
	case Trimmed, Released:
	case Refused:
		if t.last != None {
			w.Fatalf("%s climbs again without having left the ladder", t.ID)
		}
	case Demoted:
		w.after(t, a, 100*time.Millisecond)
	case Checkpointed:
		w.after(t, a, 300*time.Millisecond)
		t.Residence, t.until = Leaving, w.now.Add(time.Duration(w.random.IntN(3000))*time.Millisecond)
	case Ended:
		w.after(t, a, 30*time.Second)
		w.ended++
		if t.Residence != Resident && t.Residence != Fixed {
			w.Fatalf("%s ended while its memory is on its way", t.ID)
		}
		if w.can && t.Residence == Resident && a.Reason != OwnerShort {
			w.Fatalf("%s ended for %s", t.ID, a.Reason)
		}
		t.Used, t.Wanted = 0, 0
	case Restored:
		if t.Residence != Parked || w.total()+t.Used > w.usable {
			w.Fatalf("%s restored without room", t.ID)
		}
		t.Residence, t.until = Returning, w.now.Add(time.Second)
	}
	t.last = step // Released and Restored: None
}

func (w *world) after(t *tenant, a Action, d time.Duration) {
	if w.now.Sub(t.since) < d {
		w.Fatalf("%s of %s %v after its first step, want %v at least", a.Kind, t.ID, w.now.Sub(t.since), d)
	}
}

func TestPromisesHoldInAnyWorld(t *testing.T) {
	ended := 0
	for seed := range uint64(60) {
		w := &world{T: t, random: rand.New(rand.NewPCG(seed, 1)), ladder: New(Config{}), usable: 100 * gib, can: seed%3 != 0}
		for range 3000 {
			w.now = w.now.Add(time.Duration(20+w.random.IntN(200)) * time.Millisecond)
			switch w.random.IntN(100) {
			case 0, 1:
				w.arrive()
			case 2:
				if n := len(w.slices); n > 0 && w.random.IntN(3) == 0 {
					i := w.random.IntN(n)
					w.slices = append(w.slices[:i], w.slices[i+1:]...)
				}
			}
			w.live()
			w.look()
		}
		ended += w.ended
	}
	if ended == 0 {
		t.Error("in no world was anybody ended: the last step was not tried")
	}
}

// TestAnOwnerAlwaysGetsItsGuarantee lets borrowers that give back nothing by
// themselves have all of a GPU, and an owner ask for what is its own.
func TestAnOwnerAlwaysGetsItsGuarantee(t *testing.T) {
	for seed := range uint64(100) {
		w := &world{T: t, random: rand.New(rand.NewPCG(seed, 2)), ladder: New(Config{}), usable: 100 * gib, can: seed%2 == 0}
		for range 400 {
			w.now = w.now.Add(50 * time.Millisecond)
			if w.random.IntN(20) == 0 {
				w.arrive()
			}
			w.live()
			w.look()
		}
		if len(w.slices) == 0 {
			continue
		}
		o := w.slices[w.random.IntN(len(w.slices))]
		if o.Residence != Resident {
			continue
		}
		for _, s := range w.slices {
			s.stubborn, s.Wanted = true, 0
		}
		start := w.now
		for o.Used < o.Guaranteed {
			o.allocate(w, o.Guaranteed-o.Used)
			w.now = w.now.Add(50 * time.Millisecond)
			w.look()
			for _, s := range w.slices {
				if s.until != 0 && w.now >= s.until {
					s.until = 0
					s.Residence = map[Residence]Residence{Leaving: Parked, Returning: Resident}[s.Residence]
				}
			}
			if w.now.Sub(start) > 5*time.Minute {
				t.Fatalf("seed %d: %s has %d of its %d GiB after 5 minutes", seed, o.ID, o.Used/gib, o.Guaranteed/gib)
			}
		}
	}
}
