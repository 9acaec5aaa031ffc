// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"slices"
	"time"
)

// A lease is a tenant's right to use its GPUs, from the grant until nothing of
// it is in flight. It goes open → ended (ran out, or recalled) → drained; one
// that is not drained in time is forced, which gives the GPU to others but not
// the debt.
type lease struct {
	number  uint64
	tenant  *tenant
	seats   []*seat
	kind    Kind
	granted Instant
	given   Instant // granted or last extended
	until   Instant
	ask     Instant // when it is decided whether to extend it
	ended   bool
	whole   bool    // it ran out; it was neither recalled nor given back before
	closing bool    // the gate is shut, and done can be relied on
	done    Instant // predicted end of the work in flight, when known
	empty   bool    // nobody runs: the turn of an idle tenant that does not lend
	forced  bool
}

func (l *lease) on(s *seat) bool { return slices.Contains(l.seats, s) }

// seat returns the one that the lease, which is on g, is for there.
func (l *lease) seat(g *device) *seat {
	i := slices.IndexFunc(l.seats, func(s *seat) bool { return s.gpu == g })
	return l.seats[i]
}

// give makes the lease last until a moment.
func (l *lease) give(now, until Instant, c Config) {
	l.given, l.until = now, until
	l.ask = until.Add(-max(c.Lead, until.Sub(now)/8))
}

// deadline is when it is taken by force.
func (l *lease) deadline(c Config) Instant {
	done := min(l.done, l.until.Add(c.LongestKernel))
	return max(l.until, done).Add(c.Patience)
}

// first reports whether l is all that its GPUs work for; otherwise a prediction
// of when its work is done leaves out the work before it.
func (l *lease) first() bool {
	return !slices.ContainsFunc(l.seats, func(s *seat) bool { return s.gpu.user() != l })
}

// end shuts the lease, at a moment not after its own end.
func (l *lease) end(at Instant) {
	if !l.ended {
		l.whole = at >= l.until && !l.empty
	}
	l.ended = true
	l.until = min(l.until, at)
}

// drop takes the lease off its GPUs.
func (l *lease) drop() {
	for _, s := range l.seats {
		s.gpu.held = slices.DeleteFunc(s.gpu.held, func(x *lease) bool { return x == l })
		s.gpu.before = l
	}
	if l.tenant.lease == l {
		l.tenant.lease = nil
	}
}

// free reports whether a new lease may be given on g: nothing is in flight, or
// will not be by the time that the grant is seen.
func (g *device) free(now Instant, handover time.Duration) bool {
	n := 0
	for _, l := range g.held {
		if l.forced {
			continue
		}
		n++
		if n > 1 || !l.closing || handover < 0 || now.Add(handover) < l.done {
			return false
		}
	}
	return true
}
