// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"cmp"
	"slices"
	"time"
)

// Arbiter decides who has which GPU, and until when. It is not safe for
// concurrent use.
//
// Every method first brings the accounts forward to now, then takes in what
// happened, and returns what is to be done because of it. An event that makes no
// sense (of an unknown tenant, about a lease that is over) changes nothing, and
// a now before the last one counts as the last one.
//
// Two leases on one GPU are not drained at the same time only when the older one
// has said Closing and its work is predicted to end within Config.Handover, or
// has been forced.
type Arbiter struct {
	config  Config
	now     Instant
	tenants []*tenant // in the order of the last Set, then removed ones with a lease
	devices []*device
	leases  uint64
	actions []Action
}

// tenant is a Tenant with its state.
type tenant struct {
	Tenant
	seats   []*seat
	removed bool
	want    bool          // work waits; under a lease: may wait when that is drained
	since   Instant       // when waiting: since when
	woke    Instant       // when it was last idle and began to wait
	woken   bool          // woke with credit, and has not used it up
	reclaim bool          // when waiting: woken while another had the GPU
	yielded bool          // when waiting: has let others before it on GPUs kept for it
	overrun time.Duration // how long its leases took to drain: the longest, slowly forgotten
	lease   *lease
	stat    Stat
}

// waiting reports whether it wants a lease and has none.
func (t *tenant) waiting() bool { return t.want && t.lease == nil && !t.removed }

// reserves reports whether idle time of t is kept from others.
func (t *tenant) reserves() bool { return !t.Lend && !t.want && t.lease == nil && !t.removed }

// capped reports whether t has had the most that it may have.
func (t *tenant) capped() bool {
	return slices.ContainsFunc(t.seats, func(s *seat) bool { return s.limit == 0 || s.limit < 1 && s.room < 0 })
}

// due reports whether t is to have a turn. Time that it keeps from others while
// idle comes in pieces of half its bank or more.
func (t *tenant) due() bool {
	switch {
	case t.waiting():
		return !t.capped()
	case t.reserves():
		return !slices.ContainsFunc(t.seats, func(s *seat) bool { return s.guarantee == 0 || s.lag < s.bank/2 })
	}
	return false
}

// New returns an arbiter without tenants, at instant 0.
func New(c Config) *Arbiter {
	return &Arbiter{config: c.withDefaults()}
}

// Want says that work of a tenant waits for a lease.
func (a *Arbiter) Want(now Instant, id TenantID) []Action {
	a.advance(now)
	t := a.find(id)
	if t == nil || t.want {
		return a.answer(Event{What: EventWant, Tenant: id})
	}
	switch l := t.lease; {
	case l == nil:
		t.wake(a.now)
	case l.empty:
		// Its own turn, which it has let pass so far.
		l.empty, l.ended, l.granted = false, false, a.now
		l.give(a.now, a.now.Add(a.quantum(t)), a.config)
		a.issue(l, Turn)
	default:
		// Either the word crossed with the grant, or Drained is yet to come and was
		// sent before this work came. A lease too many costs less than work that
		// waits forever.
		t.want = true
	}
	return a.answer(Event{What: EventWant, Tenant: id})
}

// Closing says that a tenant's lease has ended on its side: nothing more is
// issued, and what is in flight is predicted to be done at that instant.
func (a *Arbiter) Closing(now Instant, id TenantID, number uint64, done Instant) []Action {
	a.advance(now)
	if l := a.lease(id, number); l != nil {
		l.end(a.now)
		l.closing, l.done = l.first(), max(done, a.now)
	}
	return a.answer(Event{What: EventClosing, Tenant: id, Lease: number, Done: done})
}

// Drained says that nothing is in flight under a lease. The lease is over with
// that, whether it had run out or its tenant, being idle, gives it back early.
// used is the GPU time that the tenant measured under it; it is reported, not
// charged, because a tenant's word is no basis for a debt. wants says that more
// work waits.
func (a *Arbiter) Drained(now Instant, id TenantID, number uint64, used time.Duration, wants bool) []Action {
	a.advance(now)
	if l := a.lease(id, number); l != nil {
		l.tenant.stat.Busy += min(max(0, used), a.now.Sub(l.granted))
		l.tenant.overrun = max(a.now.Sub(l.until), l.tenant.overrun*9/10)
		l.drop()
		a.forget()
		if t := a.find(id); t != nil && t.lease == nil && (t.want || wants) {
			t.want, t.since = true, a.now
		}
	}
	return a.answer(Event{What: EventDrained, Tenant: id, Lease: number, Used: used, Wants: wants})
}

// Gone says that all processes of a tenant are dead: nothing is in flight, and
// nothing waits.
func (a *Arbiter) Gone(now Instant, id TenantID) []Action {
	a.advance(now)
	for _, t := range a.tenants {
		if t.ID != id {
			continue
		}
		t.want = false
		if t.lease != nil && !t.lease.empty {
			t.lease.drop()
		}
	}
	a.forget()
	return a.answer(Event{What: EventGone, Tenant: id})
}

// Tick lets time pass. It must be called at Next at the latest; earlier and more
// often does no harm.
func (a *Arbiter) Tick(now Instant) []Action {
	a.advance(now)
	return a.answer(Event{What: EventTick})
}

// Linger is how long a process should keep an idle lease before it gives it
// back: no time is lent across a gap that costs more to lend than it holds.
func (a *Arbiter) Linger() time.Duration { return a.config.Linger }

// Window is the predicted GPU time that a process may have in flight.
func (a *Arbiter) Window() time.Duration { return a.config.Window }

// advance brings all accounts forward to now.
func (a *Arbiter) advance(now Instant) {
	a.actions = nil
	d := now.Sub(a.now)
	if d <= 0 {
		return
	}
	a.now = now
	for _, g := range a.devices {
		g.advance(d, a.config.LongestKernel)
	}
	for _, t := range a.tenants {
		if t.waiting() {
			t.stat.Waited += d
		}
	}
}

func (a *Arbiter) find(id TenantID) *tenant {
	for _, t := range a.tenants {
		if t.ID == id && !t.removed {
			return t
		}
	}
	return nil
}

// lease returns a tenant's lease of that number, unless it is over.
func (a *Arbiter) lease(id TenantID, number uint64) *lease {
	for _, t := range a.tenants {
		if l := t.lease; t.ID == id && l != nil && !l.empty && l.number == number {
			return l
		}
	}
	return nil
}

// wake makes t wait after it was idle.
func (t *tenant) wake(now Instant) {
	t.want, t.since, t.woke, t.woken = true, now, now, true
	t.woken = t.owed()
	for _, s := range t.seats {
		t.reclaim = t.woken && (t.reclaim || s.gpu.user() != nil)
	}
}

// owed reports whether t is using what it saved while it was idle.
func (t *tenant) owed() bool {
	return t.woken && !slices.ContainsFunc(t.seats, func(s *seat) bool { return s.lag <= 0 })
}

// forget drops tenants that were removed and have no lease any more.
func (a *Arbiter) forget() {
	a.tenants = slices.DeleteFunc(a.tenants, func(t *tenant) bool { return t.removed && t.lease == nil })
}

func (a *Arbiter) act(do Do, l *lease, why Reason) {
	a.actions = append(a.actions, Action{
		Do: do, Tenant: l.tenant.ID, Lease: l.number, Kind: l.kind, Until: l.until, Reason: why,
	})
}

// device returns the GPU of that name, new if need be.
func (a *Arbiter) device(name string) *device {
	i, found := slices.BinarySearchFunc(a.devices, name, func(g *device, n string) int { return cmp.Compare(g.name, n) })
	if !found {
		a.devices = slices.Insert(a.devices, i, &device{name: name})
	}
	return a.devices[i]
}
