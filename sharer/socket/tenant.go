// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// tenant is who holds slices: what the Arbiter knows as one.
type tenant struct {
	id     sharer.TenantID
	slices []*slice
	lease  *lease // nil: none
	wants  bool   // the Arbiter knows that work waits
	// signs counts its packets. missed counts the leases in a row that passed
	// without a packet or a launch: its processes are stopped, or the machine is
	// very busy. Then its waiting words are not believed until deaf, or until
	// there is a sign: more than so many.
	signs, heard uint64
	missed       int
	deaf         sharer.Instant
	over         bool  // it holds nothing any more, and drains
	slack        slack // corrects its predictions
	idle         bool  // an open lease was seen unused at the last heartbeat
	// had is how long its leases before this one were not drained.
	had time.Duration
}

// lease is a lease that has been given and has not drained.
type lease struct {
	id             uint64
	kind           wire.LeaseKind
	granted, until sharer.Instant
	// ended is when its end was published; 0: it is open.
	ended sharer.Instant
	poll  sharer.Instant // when to look at the busy words again, once ended
	used  time.Duration  // as its processes say
	again bool           // work waits for the next one
	told  bool           // the Arbiter knows when the work in flight will be done
	done  sharer.Instant // if told: when, as its processes said
	signs uint64         // of the tenant, when it was granted
	// forced is that others have been given the GPU: its processes stood still, so
	// how late they are says nothing of what they predict.
	forced bool
}

// Bounds of how long the busy words of a tenant that drains stay unlooked at, if
// no packet calls for it: a quarter of the time that it has taken already.
const (
	pollSoonest = 100 * time.Microsecond
	pollLatest  = 10 * time.Millisecond
)

// How long the waiting words of a tenant that missed a lease are not believed;
// each further one in a row doubles it.
const (
	deafShortest = 25 * time.Millisecond
	deafLongest  = 1600 * time.Millisecond
)

// judge notes whether a lease was missed.
func (t *tenant) judge(now sharer.Instant, l *lease, st state) {
	t.heard = st.signs
	if st.signs != l.signs {
		t.missed, t.deaf = 0, 0
		return
	}
	t.deaf = now.Add(min(deafShortest<<min(t.missed, 10), deafLongest))
	t.missed++
}

// waits reports whether work waits, as far as it is believed.
func (t *tenant) waits(now sharer.Instant, st state) bool {
	return st.waiting && (now >= t.deaf || st.signs != t.heard)
}

// due is when the lease needs attention.
func (l *lease) due() sharer.Instant {
	if l.ended != 0 {
		return l.poll
	}
	return l.until
}

func (l *lease) end(now sharer.Instant) {
	if l.ended == 0 {
		l.ended, l.poll = now, now
	}
}

// held is how long the tenant has kept others off the GPU.
func (l *lease) held(now sharer.Instant) time.Duration { return max(0, now.Sub(l.granted)) }

// drop ends that the tenant has a lease.
func (t *tenant) drop(now sharer.Instant) {
	if t.lease != nil {
		t.had += t.lease.held(now)
	}
	t.lease = nil
}

// undrained is how long in total it has had leases that were not drained.
func (t *tenant) undrained(now sharer.Instant) time.Duration {
	if t.lease == nil {
		return t.had
	}
	return t.had + t.lease.held(now)
}

// overdue is for how long work is in flight under a lease that was taken by force.
func (t *tenant) overdue(now sharer.Instant) time.Duration {
	if t.lease == nil || !t.lease.forced {
		return 0
	}
	return now.Sub(t.lease.ended)
}

// publish writes a lease, or its end, into the grants of all slices.
func (t *tenant) publish(kind wire.LeaseKind, until sharer.Instant) {
	for _, sl := range t.slices {
		sl.dir.grant.lease(kind, until)
	}
}

// members calls f for each process, with what its slot says of its work, until f
// returns false.
func (t *tenant) members(f func(m *member, w words) bool) {
	for _, sl := range t.slices {
		for _, m := range sl.members {
			if !f(m, sl.dir.page.work(m.slot)) {
				return
			}
		}
	}
}

// empty reports whether no process is attached.
func (t *tenant) empty() bool {
	for _, sl := range t.slices {
		if len(sl.members) > 0 {
			return false
		}
	}
	return true
}

// state is what the processes of a tenant say together.
type state struct {
	busy, waiting bool
	// closing is that all who are busy have said when their work will be done:
	// at done, the latest.
	closing bool
	done    sharer.Instant
	signs   uint64
}

func (t *tenant) state() state {
	st := state{closing: true, signs: t.signs}
	t.members(func(m *member, w words) bool {
		st.signs += w.launches
		st.waiting = st.waiting || w.waiting
		if w.busy {
			st.busy = true
			st.closing = st.closing && m.done != 0
			st.done = max(st.done, m.done)
		}
		return true
	})
	return st
}
