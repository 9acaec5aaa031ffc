// SPDX-License-Identifier: Apache-2.0

package sharer

import "slices"

// Set makes these the tenants. Who is new has its guarantee at once; who stays
// keeps its account and its lease; who is gone, or has other GPUs, has its lease
// recalled. Of two tenants with one ID, or two legs on one GPU, the first counts.
func (a *Arbiter) Set(now Instant, tenants []Tenant) []Action {
	a.advance(now)
	old := a.tenants
	a.tenants = nil
	for _, spec := range tenants {
		same := func(t *tenant) bool { return t.ID == spec.ID }
		if slices.ContainsFunc(a.tenants, same) {
			continue
		}
		t := &tenant{stat: Stat{Tenant: spec.ID}}
		if i := slices.IndexFunc(old, same); i >= 0 {
			t = old[i]
		}
		t.Tenant, t.removed = spec, false
		t.Legs = slices.Clone(spec.Legs)
		a.tenants = append(a.tenants, t)
	}
	for _, t := range old {
		if !slices.Contains(a.tenants, t) {
			// It stays known until its lease is drained.
			t.removed, t.want, t.Legs = true, false, nil
			a.tenants = append(a.tenants, t)
		}
	}
	for _, t := range a.tenants {
		a.place(t)
	}
	a.forget()
	a.devices = slices.DeleteFunc(a.devices, func(g *device) bool { return len(g.seats) == 0 && len(g.held) == 0 })
	return a.answer(Event{What: EventSet, Tenants: tenants})
}

// place gives t a seat for each of its legs, and recalls a lease that is for
// other GPUs than these.
func (a *Arbiter) place(t *tenant) {
	before := len(t.seats)
	t.seats = slices.DeleteFunc(t.seats, func(s *seat) bool {
		if slices.ContainsFunc(t.Legs, func(l Leg) bool { return l.GPU == s.gpu.name }) {
			return false
		}
		s.leave()
		s.gpu.seats = slices.DeleteFunc(s.gpu.seats, func(x *seat) bool { return x == s })
		return true
	})
	changed := len(t.seats) != before
	for i, leg := range t.Legs {
		if slices.ContainsFunc(t.Legs[:i], func(x Leg) bool { return x.GPU == leg.GPU }) {
			continue
		}
		k := slices.IndexFunc(t.seats, func(s *seat) bool { return s.gpu.name == leg.GPU })
		if k < 0 {
			k, changed = len(t.seats), true
			t.seats = append(t.seats, newSeat(t, a.device(leg.GPU), a.config.bank(part(leg.Permille))))
		}
		t.seats[k].set(t.Tenant, part(leg.Permille), a.config)
	}
	switch l := t.lease; {
	case l == nil || !changed:
	case l.empty:
		l.drop()
	case !l.ended:
		l.end(a.now)
		a.act(Recall, l, Removed)
	}
}

// newSeat returns a seat that has its bank full, so that it is served at once.
func newSeat(t *tenant, g *device, bank float64) *seat {
	s := &seat{tenant: t, gpu: g, lag: bank, own: bank}
	g.seats = append(g.seats, s)
	return s
}

// set puts a guarantee into force. What the seat is owed, or owes, stays.
func (s *seat) set(t Tenant, guarantee float64, c Config) {
	s.guarantee = guarantee
	s.weight = max(guarantee, 0.001)
	s.limit = t.limit(guarantee)
	s.bank = c.bank(guarantee)
	if !s.competing {
		s.lag = min(s.lag, s.bank)
	}
}

// limit is the most of a GPU's time that t may use where it has that guarantee.
func (t Tenant) limit(guarantee float64) float64 {
	switch {
	case !t.Borrow:
		return guarantee
	case t.MaxPermille <= 0:
		return 1
	}
	return max(guarantee, part(t.MaxPermille))
}

// part turns thousandths into a part of one.
func part(permille int) float64 { return float64(min(max(permille, 0), 1000)) / 1000 }
