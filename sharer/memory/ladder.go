// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// Ladder is the state of one GPU. It is not safe for concurrent use, and its time
// is that of the samples.
type Ladder struct {
	config  Config
	started bool
	known   map[gpu.SliceID]*record
}

// record is what is remembered of a slice.
type record struct {
	claimed  sharer.Instant // before this nothing of its guarantee is lent
	arriving sharer.Instant // until then it is new
	limit    uint64
	lowered  sharer.Instant // when limit last fell
	step     Step
	since    sharer.Instant // of its first step; step is not None
	roomy    bool
	room     sharer.Instant // since when there is room to restore it; roomy
	killed   bool
	end      sharer.Instant // when it was last ended; killed
}

// New makes the ladder of one GPU. The slices of its first Sample are taken for
// old: an agent that returns is no arrival.
func New(c Config) *Ladder {
	return &Ladder{config: c.withDefaults(), known: map[gpu.SliceID]*record{}}
}

// Observe says what to do now. Times of samples do not decrease.
func (l *Ladder) Observe(s Sample) Plan {
	l.meet(s)
	b := l.balance(s)
	cause := b.cause()
	var p Plan
	for _, a := range b.accounts {
		if cause.reason != "" && a.excess() > 0 {
			p.Actions = append(p.Actions, l.climb(s.At, a, cause)...)
		} else {
			p.Actions = append(p.Actions, l.leave(s.At, a, cause)...)
		}
	}
	if cause.reason != "" {
		p.Actions = append(p.Actions, l.force(s, b, cause)...)
		p.Coming = b.coming()
	}
	p.Actions = append(p.Actions, l.restore(s, b, cause)...)
	l.limit(s.At, b, cause)
	for _, a := range b.accounts {
		p.Limits = append(p.Limits, Limit{Slice: a.ID, Bytes: a.limit, Step: a.step})
	}
	return p
}

// meet takes over who came, who left and who is short.
func (l *Ladder) meet(s Sample) {
	there := map[gpu.SliceID]bool{}
	for _, sl := range s.Slices {
		there[sl.ID] = true
		r := l.known[sl.ID]
		if r == nil {
			r = &record{limit: sl.Guaranteed}
			if l.started {
				r.arriving = s.At.Add(l.config.Arrival)
				r.claimed = r.arriving
			} else if sl.borrows() {
				r.limit = max(sl.Guaranteed, min(sl.Used, sl.Max))
			}
			l.known[sl.ID] = r
		}
		if sl.within() {
			r.claimed = max(r.claimed, s.At.Add(l.config.Calm))
		}
	}
	for id := range l.known {
		if !there[id] {
			delete(l.known, id)
		}
	}
	l.started = true
}

// climb takes the gentle steps that are due for a borrower.
func (l *Ladder) climb(now sharer.Instant, a *account, c cause) []Action {
	act := func(k Kind) Action {
		return Action{At: now, Slice: a.ID, Kind: k, Reason: c.reason, For: c.slice, Bytes: a.excess()}
	}
	var all []Action
	if a.step == None {
		a.step, a.since = Trim, now
		all = append(all, act(Refused), act(Trimmed))
	}
	if a.step < Demote && now.Sub(a.since) >= l.config.Demote {
		a.step = Demote
		all = append(all, act(Demoted))
	}
	return all
}

// leave takes a slice off the ladder. One that is checkpointed leaves it when it
// is restored.
func (l *Ladder) leave(now sharer.Instant, a *account, c cause) []Action {
	if a.step == None || a.away() {
		return nil
	}
	a.step = None
	reason := NoLonger
	if c.reason != "" {
		reason = GaveBack
	}
	return []Action{{At: now, Slice: a.ID, Kind: Released, Reason: reason}}
}

// force takes a hard step for the borrower that is furthest beyond what it may
// keep: one at a time, so that no more are stopped than need be. Processes are
// ended for an owner that waits for memory, never for one that has not asked.
func (l *Ladder) force(s Sample, b *balance, c cause) []Action {
	if b.busy(s.At, l.config.Settle) {
		return nil
	}
	due := func(k Kind, after time.Duration, fit func(*account) bool) []Action {
		var worst *account
		for _, a := range b.accounts {
			late := a.step != None && a.excess() > 0 && s.At.Sub(a.since) >= after
			if late && fit(a) && (worst == nil || a.excess() > worst.excess()) {
				worst = a
			}
		}
		if worst == nil {
			return nil
		}
		worst.step = Checkpoint
		if k == Ended {
			worst.step, worst.killed, worst.end = End, true, s.At
		}
		return []Action{{At: s.At, Slice: worst.ID, Kind: k, Reason: c.reason, For: c.slice, Bytes: worst.excess()}}
	}
	if s.CanCheckpoint {
		if done := due(Checkpointed, l.config.Checkpoint, func(a *account) bool { return a.Residence == Resident }); done != nil {
			return done
		}
	}
	if c.reason != OwnerShort {
		return nil
	}
	return due(Ended, cmp.Or(s.Grace, l.config.Grace), func(*account) bool { return true })
}

// restore brings one borrower back for which there has been room for a while.
func (l *Ladder) restore(s Sample, b *balance, c cause) []Action {
	var all []Action
	for _, a := range b.accounts {
		fits := a.Residence == Parked && c.reason == "" && b.fits(a)
		if fits && !a.roomy {
			a.room = s.At
		}
		a.roomy = fits
		if fits && len(all) == 0 && s.At.Sub(a.room) >= l.config.Settle {
			a.step, a.roomy = None, false
			all = append(all, Action{At: s.At, Slice: a.ID, Kind: Restored, Reason: Room, Bytes: a.Used})
		}
	}
	return all
}

// limit sets the limits. They fall at once and rise when nothing has fallen for a
// while. A shortage lets nobody's rise.
func (l *Ladder) limit(now sharer.Instant, b *balance, c cause) {
	parts := b.parts()
	for i, a := range b.accounts {
		before := max(a.limit, a.Guaranteed)
		want := a.Guaranteed
		switch {
		case !a.borrows():
		case a.away():
			want = before // nothing of it runs
		case c.reason != "":
			want = min(before, a.Guaranteed+a.loan)
		default:
			want = min(a.Max, max(a.Guaranteed, (a.has()+parts[i])/granule*granule, a.Guaranteed+a.loan))
		}
		switch {
		case want < before:
			a.lowered = now
			a.limit = want
		case want == before || now.Sub(a.lowered) >= l.config.Settle:
			a.limit = want
		}
	}
}
