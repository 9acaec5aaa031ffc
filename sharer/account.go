// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// A seat is a tenant's place on one GPU, with its account. Amounts are
// nanoseconds of that GPU's time.
//
// The account is kept as in weighted fair queueing. While a GPU is used, each
// competitor is due a part of that time by weight, and the user is charged all
// of it; lag is what one is owed, and negative when one is ahead. The lags of
// the competitors add up to nothing: nobody is owed what nobody has had. So who
// is alone is owed nothing, and time that others left idle is not held against
// its user later.
//
// Who is not competing is due its guarantee in real time, up to the bank: a
// debt is worked off, and a little is saved to be served at once on waking. When
// it joins, the others owe it what it saved. An idle tenant that does not lend
// spends it on empty leases instead, and what it cannot spend in time is not lost.
type seat struct {
	tenant    *tenant
	gpu       *device
	guarantee float64 // part of the GPU's time, 0 to 1
	weight    float64 // the same, but never 0: a guest's part of what is idle
	limit     float64 // the most, with what is borrowed; 1 is no limit
	bank      float64

	competing bool
	lag       float64
	cost      float64 // while advancing: what the tenant is charged
	room      float64 // under limit: may have the GPU while this is not negative
	own       float64 // of the guarantee, not yet used; tells own time from borrowed
}

// device is a GPU with who competes for it and who has it.
type device struct {
	name   string
	seats  []*seat  // in the order of their coming
	rivals int      // how many compete
	held   []*lease // not drained, oldest first; all but the last two are forced
	before *lease   // drained last

	// While scheduling: who has been given or promised the GPU, and until when it
	// may be given to others before a promise is kept.
	keeper *tenant
	spare  Instant
}

// user is the lease that the GPU works for, forced ones aside: the oldest, since
// a lease granted early waits for the one before it.
func (g *device) user() *lease {
	for _, l := range g.held {
		if !l.forced {
			return l
		}
	}
	return nil
}

// charges reports whether time on g is charged to l now. It is not once l was
// forced: others have the GPU, and time is not sold twice.
func (g *device) charges(l *lease) bool { return l == g.user() }

// advance brings the accounts on g forward by d, in which nothing changed. No debt
// grows beyond most, so that a process that is stopped for an hour does not wait
// for days.
func (g *device) advance(d, most time.Duration) {
	dt := float64(d)
	weight, sold := 0.0, 0.0
	for _, s := range g.seats {
		s.cost = 0
		if s.charged() {
			s.cost = min(dt, max(0, s.lag+float64(most)))
		}
		if s.competing {
			weight += s.weight
			sold += s.cost
		}
	}
	borrowed := 0.0
	for _, s := range g.seats {
		switch {
		case s.competing:
			s.lag += sold*s.weight/weight - s.cost
		case !s.tenant.Lend:
			s.lag += s.guarantee*dt - s.cost
		case s.lag < s.bank:
			s.lag = min(s.bank, s.lag+s.guarantee*dt)
		}
		used := 0.0
		if s.charged() {
			used = dt
		}
		borrowed += s.meter(dt, used)
		s.room = max(s.room, -float64(most))
	}
	g.lend(borrowed)
}

// charged reports whether the seat's tenant has the GPU at its own cost.
func (s *seat) charged() bool {
	l := s.tenant.lease
	return l != nil && l.on(s) && s.gpu.charges(l)
}

// meter keeps the cap and the totals, and returns how much of what was used is
// borrowed.
func (s *seat) meter(dt, used float64) (borrowed float64) {
	t := s.tenant
	s.room += s.limit*dt - used
	s.own += s.guarantee*dt - used
	if s.own < 0 {
		borrowed, s.own = -s.own, 0
	}
	if used == 0 {
		// Room that it had no use for is gone, but not what it was denied.
		s.room = min(s.room, s.bank+max(0, s.lag))
	}
	if t.lease == nil && !t.want {
		s.own = min(s.own, s.bank)
	}
	if t.lease == nil || !t.lease.empty {
		t.stat.Used += time.Duration(used)
		t.stat.Borrowed += time.Duration(borrowed)
	}
	t.stat.Guaranteed += time.Duration(s.guarantee * dt)
	return borrowed
}

// lend books what was borrowed to those who left it, by guarantee; what nobody
// holds is lent first by nobody.
func (g *device) lend(borrowed float64) {
	if borrowed == 0 {
		return
	}
	held, idle := 0.0, 0.0
	for _, s := range g.seats {
		held += s.guarantee
		if !s.competing {
			idle += s.guarantee
		}
	}
	spare := max(0, 1-held) + idle
	for _, s := range g.seats {
		if !s.competing && s.tenant.Lend {
			s.tenant.stat.Lent += time.Duration(borrowed * s.guarantee / spare)
		}
	}
}

// join makes s a competitor. Those who were there owe it what it saved, or are
// owed its debt.
func (s *seat) join() {
	if s.competing {
		return
	}
	s.lag = min(s.lag, s.bank)
	if s.gpu.rivals == 0 {
		s.lag = 0
	}
	s.gpu.pay(-s.lag)
	s.competing = true
	s.gpu.rivals++
}

// leave undoes join: what s was owed is no longer anybody's debt.
func (s *seat) leave() {
	if !s.competing {
		return
	}
	s.competing = false
	s.gpu.rivals--
	s.gpu.pay(s.lag)
	s.lag = min(s.lag, s.bank)
}

// weight is that of all competitors.
func (g *device) weight() float64 {
	sum := 0.0
	for _, s := range g.seats {
		if s.competing {
			sum += s.weight
		}
	}
	return sum
}

// pay spreads an amount over the competitors by weight.
func (g *device) pay(amount float64) {
	weight := g.weight()
	for _, s := range g.seats {
		if s.competing {
			s.lag += amount * s.weight / weight
		}
	}
}

// change lets all competitors bear what it costs g to go over to the turn of s, if
// the turn before was another's and a whole one. Who comes after less bears it
// alone, so that nobody gains by turns that are nothing but changes.
func (s *seat) change(cost time.Duration) {
	last := s.gpu.user()
	if last == nil {
		last = s.gpu.before
	}
	if last == nil || !last.whole || last.tenant == s.tenant || !s.competing || cost <= 0 {
		return
	}
	s.lag += float64(cost)
	s.gpu.pay(-float64(cost))
}
