// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"aipub.io/aipub/sharer"
)

// gpu works off commands one after the other.
type gpu struct {
	name string
	last *tenant        // whose command was issued last
	free sharer.Instant // when all that was issued is done
}

// run issues a command and returns when it runs. It costs to change to another
// tenant's work, and three times as much where the work before it is not done:
// a GPU that takes turns changes to the new work, back, and to it again.
func (g *gpu) run(t *tenant, length time.Duration) (start, end sharer.Instant) {
	now, cost := t.sim.now, time.Duration(0)
	if g.last != nil && g.last != t {
		cost = t.sim.config.Switch
		if g.free > now {
			cost *= 3
		}
	}
	start = max(now, g.free).Add(cost)
	g.last, g.free = t, start.Add(length)
	return start, g.free
}

// tenant is a container: its processes, and the lease as they see it.
type tenant struct {
	sharer.Tenant
	Usage
	sim       *Sim
	gpus      []*gpu
	processes []*process

	lease    uint64
	until    sharer.Instant
	open     bool // work may be issued
	draining bool // shut, with work in flight
	wanted   bool // Want was said and not answered
	inflight int
	done     sharer.Instant // when all that was issued is done
	used     time.Duration  // under the lease
	idle     uint64         // counts launches, to see whether one came since

	said, heard sharer.Instant // when the last message each way arrives

	stopped, dead bool
}

// say sends word to the arbiter. Messages of a tenant keep their order.
func (t *tenant) say(event func(a *sharer.Arbiter, now sharer.Instant) []sharer.Action) {
	s := t.sim
	t.said = max(t.said, s.now.Add(s.message()))
	s.at(t.said, func() { s.tell(func() []sharer.Action { return event(s.arbiter, s.now) }) })
}

// down is when word of the arbiter from now arrives.
func (t *tenant) down() sharer.Instant {
	t.heard = max(t.heard, t.sim.now.Add(t.sim.message()))
	return t.heard
}

func (t *tenant) granted(x sharer.Action) {
	if t.draining {
		return
	}
	t.lease, t.until, t.open, t.wanted, t.used = x.Lease, x.Until, true, false, 0
	t.watch()
	for _, p := range t.processes {
		p.pump()
	}
	t.rest()
}

func (t *tenant) extended(x sharer.Action) {
	if t.lease == x.Lease {
		t.until = x.Until
	}
}

func (t *tenant) recalled(x sharer.Action) {
	if t.lease == x.Lease {
		t.until = min(t.until, t.sim.now)
		t.shut()
	}
}

// goOn takes up what was missed while stopped.
func (t *tenant) goOn() {
	t.stopped = false
	if t.sim.now >= t.until {
		t.shut()
	}
	for _, p := range t.processes {
		p.pump()
	}
	if t.inflight == 0 {
		t.settle()
	}
}

// watch shuts the gate when the lease runs out.
func (t *tenant) watch() {
	lease := t.lease
	t.sim.at(t.until, func() {
		switch {
		case t.lease != lease || !t.open:
		case t.sim.now < t.until:
			t.watch()
		default:
			t.shut()
		}
	})
}

// shut closes the gate: nothing more is issued under this lease.
func (t *tenant) shut() {
	if !t.open || t.stopped || t.dead {
		return
	}
	t.open = false
	if t.inflight == 0 {
		t.drained()
		return
	}
	t.draining = true
	s, lease := t.sim, t.lease
	left := float64(t.done.Sub(s.now)) * (1 + s.config.Misprediction*(2*s.random.Float64()-1))
	done := s.now.Add(time.Duration(left))
	t.say(func(a *sharer.Arbiter, now sharer.Instant) []sharer.Action { return a.Closing(now, t.ID, lease, done) })
}

func (t *tenant) drained() {
	t.draining = false
	wants := slices.ContainsFunc(t.processes, (*process).waits)
	t.wanted = wants
	lease, used := t.lease, t.used
	t.say(func(a *sharer.Arbiter, now sharer.Instant) []sharer.Action {
		return a.Drained(now, t.ID, lease, used, wants)
	})
}

// rest gives an idle lease back after a while.
func (t *tenant) rest() {
	if !t.open || t.inflight > 0 {
		return
	}
	lease, idle := t.lease, t.idle
	t.sim.after(t.sim.arbiter.Linger(), func() {
		if t.open && t.lease == lease && t.idle == idle && t.inflight == 0 {
			t.shut()
		}
	})
}

// ask says that work waits, once.
func (t *tenant) ask() {
	if t.wanted || t.draining {
		return
	}
	t.wanted = true
	t.say(func(a *sharer.Arbiter, now sharer.Instant) []sharer.Action { return a.Want(now, t.ID) })
}

// launch issues a command on all GPUs of the tenant and returns when it started
// and when it is done.
func (t *tenant) launch(length time.Duration) (start, end sharer.Instant) {
	t.idle++
	t.inflight++
	for _, g := range t.gpus {
		from, to := g.run(t, length)
		t.Add(g.name, time.Duration(from), time.Duration(to))
		start, end = max(start, from), max(end, to)
	}
	t.done = max(t.done, end)
	t.used += length
	return start, end
}

// completed is called when a command is done.
func (t *tenant) completed() {
	t.inflight--
	if t.inflight == 0 && !t.stopped && !t.dead {
		t.settle()
	}
}

// settle does what is to be done when nothing is in flight.
func (t *tenant) settle() {
	if t.draining {
		t.drained()
		return
	}
	t.rest()
}
