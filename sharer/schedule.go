// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// decide does what is due at a.now and returns it.
func (a *Arbiter) decide() []Action {
	a.expire()
	a.compete()
	for _, g := range a.devices {
		g.keeper, g.spare = nil, 0
	}
	queue := a.queue()
	a.extend(queue)
	for _, t := range queue {
		a.serve(t)
	}
	a.compete()
	return a.actions
}

// expire ends leases whose time is up and forces those that stay too long.
func (a *Arbiter) expire() {
	for _, t := range a.tenants {
		l := t.lease
		if l == nil || l.forced {
			continue
		}
		if a.now >= l.until {
			l.end(a.now)
		}
		switch {
		case l.empty && l.ended:
			l.drop()
		case l.ended && a.now >= l.deadline(a.config):
			l.forced = true
			t.stat.Forced++
			a.act(Recall, l, Forced)
		}
	}
	a.forget()
}

// compete brings up to date who competes for each GPU: who has it, and who wants
// it and may have it.
func (a *Arbiter) compete() {
	for _, t := range a.tenants {
		waiting := t.waiting() && t.due()
		for _, s := range t.seats {
			if waiting || t.lease != nil && !t.lease.empty && !t.lease.forced && t.lease.on(s) {
				s.join()
			} else {
				s.leave()
			}
		}
		t.woken = t.owed()
	}
}

// queue returns who is to be served, in this order: first those who woke and are
// owed what they saved, in the order of waking, so that none of them waits for
// long work of others; it is little, see Config.Round. Then the furthest behind
// its share.
func (a *Arbiter) queue() []*tenant {
	var queue []*tenant
	for _, t := range a.tenants {
		if t.due() {
			queue = append(queue, t)
		}
	}
	slices.SortStableFunc(queue, func(x, y *tenant) int {
		switch xo, yo := x.owed(), y.owed(); {
		case xo && yo:
			return cmp.Compare(x.since, y.since)
		case xo:
			return -1
		case yo:
			return 1
		}
		return cmp.Or(cmp.Compare(y.behind(), x.behind()), cmp.Compare(x.since, y.since))
	})
	return queue
}

// behind is how far t is behind its share, in nanoseconds per weight, on the GPU
// where it is least so: a tenant with several GPUs runs when it is due on all of
// them. GPUs that nobody else competes for do not count.
func (t *tenant) behind() float64 {
	least, found := 0.0, false
	for _, s := range t.seats {
		if s.competing && s.gpu.rivals < 2 {
			continue
		}
		if b := s.lag / s.weight; !found || b < least {
			least, found = b, true
		}
	}
	return least
}

// extend moves the end of leases that are about to run out, where nobody in the
// queue comes first.
func (a *Arbiter) extend(queue []*tenant) {
	for _, t := range a.tenants {
		l := t.lease
		if l == nil || l.ended || l.empty || t.removed || a.now < l.ask || t.capped() {
			continue
		}
		length, why := a.config.quantum(1), Alone
		for _, w := range queue {
			if !w.meets(t) {
				continue
			}
			length, why = a.quantum(t), StillFirst
			if w.owed() || !t.owed() && w.behind() >= t.behind() {
				length = 0
				break
			}
		}
		if length > 0 {
			l.give(a.now, l.until.Add(length), a.config)
			l.kind = t.kind(a.config)
			a.act(Extend, l, why)
		}
	}
}

// meets reports whether two tenants have a GPU in common.
func (t *tenant) meets(u *tenant) bool {
	return slices.ContainsFunc(t.seats, func(s *seat) bool {
		return slices.ContainsFunc(u.seats, func(v *seat) bool { return v.gpu == s.gpu })
	})
}

// serve gives t a lease if all of its GPUs are free. Otherwise it keeps those
// that are for it, and takes back the others from who is ahead. Whoever comes
// first in the queue has its GPUs in the end, since none of them is given to
// anybody else but once, and for as long as t waits for the others anyway: no
// deadlock, no starvation.
func (a *Arbiter) serve(t *tenant) {
	until := a.now.Add(a.config.Round + a.config.LongestKernel)
	free, kept := true, false
	for _, s := range t.seats {
		free = free && s.gpu.free(a.now, a.config.Handover)
		if s.gpu.keeper != nil {
			kept, until = true, min(until, s.gpu.spare.Add(-t.overrun))
		}
	}
	begin := t.begin(a.now)
	switch {
	case kept && (!free || until < begin.Add(a.config.MinLease)):
	case free:
		for _, s := range t.seats {
			if k := s.gpu.keeper; k != nil {
				k.yielded = true
			}
			s.gpu.keeper, s.gpu.spare = t, 0
		}
		a.grant(t, begin, until)
	default:
		if t.want {
			a.reclaim(t)
		}
		a.keep(t)
	}
}

// begin is when a lease of t that is given now comes into use: when the work
// before it is done.
func (t *tenant) begin(now Instant) Instant {
	for _, s := range t.seats {
		if u := s.gpu.user(); u != nil {
			now = max(now, u.done)
		}
	}
	return now
}

// keep keeps the GPUs of t for it. Those that are free may be used by others until
// the rest is, if they are likely to be done by then: once, because they may not.
func (a *Arbiter) keep(t *tenant) {
	spare, known := a.now, !t.yielded
	for _, s := range t.seats {
		s.gpu.keeper = t
		u := s.gpu.user()
		switch {
		case u == nil:
		case !u.ended || u.closing:
			spare = max(spare, u.until, u.done)
		default:
			known = false
		}
	}
	if !known {
		return
	}
	for _, s := range t.seats {
		s.gpu.spare = spare
	}
}

// reclaim recalls leases that stand in t's way, of tenants that are ahead while
// t is owed time.
func (a *Arbiter) reclaim(t *tenant) {
	for _, s := range t.seats {
		for _, l := range s.gpu.held {
			if s.recalls(l) && l.seat(s.gpu).lag < 0 {
				l.end(a.now)
				a.act(Recall, l, WakingOwner)
			}
		}
	}
}

// recalls reports whether the seat's tenant, being owed time, may have a lease
// recalled that is on its GPU. One that was given after it woke was weighed against
// it then, or it had one in between, and is left to run out.
func (s *seat) recalls(l *lease) bool {
	return !l.ended && !l.empty && l.given <= s.tenant.woke && s.lag > 0
}

// grant gives t a lease from begin, not beyond until; an empty one when it only
// keeps others out.
func (a *Arbiter) grant(t *tenant, begin, until Instant) {
	l := &lease{
		tenant: t, seats: slices.Clone(t.seats), kind: t.kind(a.config), granted: a.now, empty: !t.want,
	}
	l.give(a.now, min(until, begin.Add(a.quantum(t))), a.config)
	for _, s := range t.seats {
		s.change(a.config.Change)
		s.gpu.held = append(s.gpu.held, l)
	}
	t.lease = l
	if l.empty {
		for _, s := range t.seats {
			l.until = min(l.until, begin.Add(time.Duration(s.lag)+1))
		}
		return
	}
	why := Turn
	if t.reclaim {
		why, t.reclaim = Reclaimed, false
		t.stat.reclaimed(begin.Sub(t.since))
	}
	a.issue(l, why)
}

// issue numbers a lease and grants it.
func (a *Arbiter) issue(l *lease, why Reason) {
	a.leases++
	l.number = a.leases
	l.tenant.want, l.tenant.yielded = false, false
	l.tenant.stat.Leases++
	a.act(Grant, l, why)
}

// quantum is the length of a lease of t among those who compete with it. Alone it
// has it for longer: whoever comes has it recalled. While others wait to spend what
// they saved, it has no more than it saved itself.
func (a *Arbiter) quantum(t *tenant) time.Duration {
	n, saved := 1, math.Inf(1)
	for _, s := range t.seats {
		n, saved = max(n, s.gpu.rivals), min(saved, s.lag)
	}
	length := a.config.quantum(n)
	if float64(length) <= saved || !slices.ContainsFunc(a.tenants, func(w *tenant) bool {
		return w != t && w.due() && w.owed() && w.meets(t)
	}) {
		return length
	}
	return min(length, max(a.config.MinLease, time.Duration(saved)))
}

// kind tells whether the next lease of t is within its guarantee: whether at
// least half of a shortest lease is left of it, or of its bank.
func (t *tenant) kind(c Config) Kind {
	for _, s := range t.seats {
		if s.own < min(s.bank, float64(c.MinLease))/2 || s.guarantee == 0 {
			return Borrowed
		}
	}
	return Own
}
