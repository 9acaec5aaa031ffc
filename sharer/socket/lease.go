// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// carryOut does what the Arbiter asks for, in order, and what it asks for in
// answer.
func (s *Server) carryOut(now sharer.Instant, actions []sharer.Action) {
	for len(actions) > 0 {
		next := s.act(now, actions[0])
		actions = append(actions[1:], next...)
	}
}

func (s *Server) act(now sharer.Instant, a sharer.Action) []sharer.Action {
	t := s.tenants[a.Tenant]
	if t == nil {
		return nil
	}
	if a.Do == sharer.Grant {
		return s.grant(now, t, a)
	}
	if t.lease == nil || t.lease.id != a.Lease {
		return nil // it has drained
	}
	t.lease.forced = t.lease.forced || a.Reason == sharer.Forced
	if t.lease.ended != 0 {
		return nil // it is about to drain, or others have the GPU by now
	}
	if a.Do == sharer.Extend {
		t.lease.until = a.Until
		for _, sl := range t.slices {
			sl.dir.grant.extend(a.Until)
		}
		return nil
	}
	s.end(now, t)
	return s.look(now, t)
}

func (s *Server) grant(now sharer.Instant, t *tenant, a sharer.Action) (next []sharer.Action) {
	if old := t.lease; old != nil {
		// Of a tenant that was on other GPUs before: what is in flight there counts
		// for the new lease from here on.
		next = s.arbiter.Drained(now, t.id, old.id, min(old.used, old.held(now)), false)
		t.drop(now)
	}
	kind := wire.LeaseOwn
	if a.Kind == sharer.Borrowed {
		kind = wire.LeaseBorrowed
	}
	t.lease = &lease{id: a.Lease, kind: kind, granted: now, until: a.Until, signs: t.state().signs}
	t.idle = false
	s.leases[t] = struct{}{}
	t.members(func(m *member, _ words) bool {
		m.done, m.returned = 0, false
		return true
	})
	t.publish(kind, a.Until)
	t.wants = false
	return next
}

// end publishes that the lease is over.
func (s *Server) end(now sharer.Instant, t *tenant) {
	t.publish(wire.LeaseNone, 0)
	t.lease.end(now)
}

// look looks after the lease of a tenant: ends it when its time is over, and
// tells the Arbiter once nothing is in flight under it.
func (s *Server) look(now sharer.Instant, t *tenant) []sharer.Action {
	l := t.lease
	if l == nil {
		return nil
	}
	if l.ended == 0 {
		if now < l.until {
			return nil
		}
		s.end(now, t)
	}
	st := t.state()
	if !st.busy {
		return s.drained(now, t, st)
	}
	l.poll = now.Add(min(max(now.Sub(l.ended)/4, pollSoonest), pollLatest))
	if st.closing && !l.told {
		l.told = true
		l.done = st.done
		return s.arbiter.Closing(now, t.id, l.id, max(now, st.done).Add(time.Duration(t.slack)))
	}
	return nil
}

// drained tells the Arbiter that nothing is in flight under the lease.
func (s *Server) drained(now sharer.Instant, t *tenant, st state) []sharer.Action {
	l := t.lease
	t.drop(now)
	delete(s.leases, t)
	t.judge(now, l, st)
	if l.told && !l.forced {
		t.slack.learn(now.Sub(l.done))
	}
	if t.over {
		delete(s.tenants, t.id)
	}
	wants := !t.over && (l.again || t.waits(now, st))
	if wants {
		t.wants = true
	}
	return s.arbiter.Drained(now, t.id, l.id, min(l.used, l.held(now)), wants)
}

// giveBack ends a lease that nobody uses any more.
func (s *Server) giveBack(now sharer.Instant, t *tenant) []sharer.Action {
	s.end(now, t)
	return s.look(now, t)
}

// want tells the Arbiter that work of the tenant waits, unless it knows.
func (s *Server) want(now sharer.Instant, t *tenant) []sharer.Action {
	switch {
	case t.lease != nil && t.lease.ended == 0:
		t.renew()
		return nil
	case t.lease != nil:
		t.lease.again = true
		return nil
	case t.wants:
		return nil
	}
	t.wants = true
	if now < s.hold {
		return nil // endHold tells
	}
	return s.arbiter.Want(now, t.id)
}

// renew publishes the open lease under a new turn if a process waits that gave
// back its part: it does not use a lease twice. The others have gone on.
func (t *tenant) renew() {
	missing := false
	t.members(func(m *member, w words) bool {
		missing = missing || m.returned && w.waiting
		return !missing
	})
	if !missing {
		return
	}
	t.members(func(m *member, _ words) bool {
		m.returned = false
		return true
	})
	t.publish(t.lease.kind, t.lease.until)
}

// notice looks at the words of a tenant's processes for what no packet told: a
// lease that nobody uses, or work that waits.
func (s *Server) notice(now sharer.Instant, t *tenant) []sharer.Action {
	if t.over || t.wants && t.lease == nil {
		return nil
	}
	st := t.state()
	switch {
	case t.lease == nil:
		if t.waits(now, st) {
			return s.want(now, t)
		}
	case t.lease.ended == 0:
		unused := !st.busy && !st.waiting
		if unused && t.idle {
			return s.giveBack(now, t)
		}
		t.idle = unused
		t.renew()
	}
	return nil
}

// endHold tells the Arbiter what is wanted once no work is seen that an earlier
// agent allowed, or it has had its time.
func (s *Server) endHold(now sharer.Instant) {
	if s.hold == 0 {
		return
	}
	if now < s.hold && s.anyBusy() {
		return
	}
	s.hold = 0
	for _, t := range s.tenants {
		if t.wants && t.lease == nil {
			s.carryOut(now, s.arbiter.Want(now, t.id))
		}
	}
}

// anyBusy reports whether any slot that is taken says that it is busy, attached
// to this server or not.
func (s *Server) anyBusy() bool {
	for _, sl := range s.slices {
		if sl.tenant == nil {
			continue // it needs no lease
		}
		ids, err := sl.dir.page.identities()
		if err != nil {
			continue
		}
		for i, id := range ids {
			if id.owner != 0 && sl.dir.page.work(i).busy {
				return true
			}
		}
	}
	return false
}

// longestPrediction is the most that is believed of when work will be done. What
// takes longer is taken by force.
const longestPrediction = 10 * time.Second

// boundedUse is a time that a process claims, within what is possible.
func boundedUse(ns uint64, most time.Duration) time.Duration {
	if ns > uint64(max(most, 0)) {
		return most
	}
	return time.Duration(ns)
}
