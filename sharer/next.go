// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// alarm is the earliest of some moments later than now.
type alarm struct {
	now, when Instant
	set       bool
}

func (x *alarm) at(when Instant) {
	if when > x.now && (!x.set || when < x.when) {
		x.when, x.set = when, true
	}
}

// Next returns when Tick must be called at the latest; false when nothing is due
// unless something happens.
func (a *Arbiter) Next() (Instant, bool) {
	next := alarm{now: a.now}
	for _, t := range a.tenants {
		if t.lease != nil {
			t.lease.due(&next, a.config)
		}
		for _, s := range t.seats {
			s.due(&next)
		}
	}
	return next.when, next.set
}

// due sets the alarm for what comes next of the lease: to be extended, to end, to
// be handed over, to be taken by force.
func (l *lease) due(next *alarm, c Config) {
	switch {
	case l.forced:
	case l.empty:
		next.at(l.until)
	case !l.ended:
		next.at(l.ask)
		next.at(l.until)
	default:
		next.at(l.deadline(c))
		if l.closing {
			next.at(l.done.Add(-c.Handover))
		}
	}
}

// due sets the alarm for when the seat's account lets its tenant have a turn, and
// for when the tenant that has the GPU has had what it is owed.
func (s *seat) due(next *alarm) {
	t := s.tenant
	if l := s.gpu.user(); l != nil && t.waiting() && s.competing && s.recalls(l) {
		if u := l.seat(s.gpu); u.lag >= 0 {
			next.at(next.now.Add(time.Duration(u.lag/(1-u.weight/s.gpu.weight())) + time.Microsecond))
		}
	}
	switch {
	case t.waiting() && s.limit > 0 && s.room < 0:
		next.at(next.now.Add(time.Duration(-s.room/s.limit) + 1))
	case t.reserves() && s.guarantee > 0 && s.lag < s.bank/2:
		next.at(next.now.Add(time.Duration((s.bank/2-s.lag)/s.guarantee) + 1))
	}
}
