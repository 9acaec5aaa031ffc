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
		if a.find(spec.ID) != nil {
			continue
		}
		i := slices.IndexFunc(old, func(t *tenant) bool { return t.ID == spec.ID && !t.removed })
		if i >= 0 && sameGPUs(old[i].Legs, spec.Legs) {
			old[i].Tenant = spec
			a.tenants = append(a.tenants, old[i])
			continue
		}
		t := &tenant{Tenant: spec, stat: Stat{Tenant: spec.ID}}
		if i >= 0 {
			t.stat = old[i].stat
			if old[i].want || old[i].lease != nil {
				t.want, t.since = true, a.now
			}
		}
		a.tenants = append(a.tenants, t)
	}
	for _, t := range old {
		if !slices.Contains(a.tenants, t) {
			a.remove(t)
		}
	}
	for _, t := range a.tenants {
		a.seat(t)
	}
	a.devices = slices.DeleteFunc(a.devices, func(g *device) bool { return len(g.seats) == 0 && len(g.held) == 0 })
	return a.decide()
}

// remove takes t out of the set. It stays known until its lease is drained.
func (a *Arbiter) remove(t *tenant) {
	t.removed = true
	for _, s := range t.seats {
		s.leave()
		s.gpu.seats = slices.DeleteFunc(s.gpu.seats, func(x *seat) bool { return x == s })
	}
	switch l := t.lease; {
	case l == nil:
		return
	case l.empty:
		l.drop()
		return
	case !l.ended:
		l.end(a.now)
		a.act(Recall, l, Removed)
	}
	a.tenants = append(a.tenants, t)
}

// seat puts t's legs into force. A leg that is new starts with a full bank.
func (a *Arbiter) seat(t *tenant) {
	if t.removed {
		return
	}
	for i, leg := range t.Legs {
		if slices.ContainsFunc(t.Legs[:i], func(x Leg) bool { return x.GPU == leg.GPU }) {
			continue
		}
		k := slices.IndexFunc(t.seats, func(s *seat) bool { return s.gpu.name == leg.GPU })
		if k < 0 {
			k = len(t.seats)
			s := &seat{tenant: t, gpu: a.device(leg.GPU)}
			t.seats = append(t.seats, s)
			s.gpu.seats = append(s.gpu.seats, s)
			s.lag = a.config.bank(part(leg.Permille))
			s.own = s.lag
		}
		s := t.seats[k]
		s.guarantee = part(leg.Permille)
		s.weight = max(s.guarantee, 0.001)
		s.limit = t.limit(s.guarantee)
		s.bank = a.config.bank(s.guarantee)
		s.room = min(s.room, s.bank)
		if !s.competing {
			s.lag = min(s.lag, s.bank)
		}
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

func sameGPUs(x, y []Leg) bool {
	return slices.EqualFunc(x, y, func(a, b Leg) bool { return a.GPU == b.GPU })
}
