// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// watcher drives an arbiter with any events and checks, after each, what must
// hold whatever happens. It knows only what the arbiter was told and answered.
type watcher struct {
	t       testing.TB
	a       *Arbiter
	now     Instant
	tenants []Tenant
	held    map[uint64]*holding // granted, and neither drained nor gone
	last    uint64
	what    string // the last event
}

type holding struct {
	tenant  TenantID
	gpus    []string
	until   Instant
	closing bool
	forced  bool
}

func newWatcher(t testing.TB, c Config) *watcher {
	return &watcher{t: t, a: New(c), held: map[uint64]*holding{}}
}

func (w *watcher) fail(format string, args ...any) {
	w.t.Fatalf("at %v, after %s: %s", time.Duration(w.now), w.what, fmt.Sprintf(format, args...))
}

// see takes in the answer to an event.
func (w *watcher) see(what string, actions []Action) {
	w.what = what
	for _, x := range actions {
		switch x.Do {
		case Grant:
			w.granted(x)
		case Extend:
			h := w.held[x.Lease]
			if h == nil || h.tenant != x.Tenant || h.closing || h.forced || h.until <= w.now || x.Until <= h.until {
				w.fail("extended %+v of %+v", x, h)
			}
			h.until = x.Until
		case Recall:
			h := w.held[x.Lease]
			if h == nil || h.tenant != x.Tenant {
				w.fail("recalled %+v, which is not held", x)
			}
			h.until = min(h.until, w.now)
			if x.Reason == Forced {
				if w.now < x.Until.Add(w.a.config.Patience) {
					w.fail("forced %+v too early", x)
				}
				h.forced = true
			}
		}
	}
	w.check()
}

func (w *watcher) granted(x Action) {
	if x.Lease <= w.last {
		w.fail("lease %d after %d", x.Lease, w.last)
	}
	w.last = x.Lease
	h := &holding{tenant: x.Tenant, until: x.Until}
	for _, t := range w.tenants {
		for i, leg := range t.Legs {
			if t.ID == x.Tenant && h.lacks(leg.GPU) {
				h.gpus = append(h.gpus, t.Legs[i].GPU)
			}
		}
	}
	if len(h.gpus) == 0 {
		w.fail("granted %+v to nobody of the set", x)
	}
	if x.Until <= w.now {
		w.fail("granted %+v, which is over", x)
	}
	for _, o := range w.held {
		if o.tenant == x.Tenant {
			w.fail("granted %+v while %+v is not drained", x, o)
		}
	}
	w.held[x.Lease] = h
}

func (h *holding) lacks(gpu string) bool {
	for _, g := range h.gpus {
		if g == gpu {
			return false
		}
	}
	return true
}

// check holds the invariants against each other.
func (w *watcher) check() {
	on := map[string][]*holding{}
	for _, h := range w.held {
		for _, g := range h.gpus {
			if !h.forced {
				on[g] = append(on[g], h)
			}
		}
	}
	for gpu, hs := range on {
		open := 0
		for _, h := range hs {
			if !h.closing {
				open++
			}
		}
		if open > 1 || len(hs) > 2 {
			w.fail("GPU %s has %d leases, %d of which have not said Closing", gpu, len(hs), open)
		}
	}
	for _, g := range w.a.devices {
		sum := 0.0
		for _, s := range g.seats {
			if s.competing {
				sum += s.lag
			}
		}
		if math.IsNaN(sum) || math.Abs(sum) > 1000 {
			w.fail("GPU %s: the competitors are owed %g ns together, want nothing", g.name, sum)
		}
		for _, s := range g.seats {
			if !s.competing && s.tenant.Lend && s.lag > s.bank+1 {
				w.fail("GPU %s: idle %s is owed %g ns, more than its bank", g.name, s.tenant.ID, s.lag)
			}
		}
	}
	if next, due := w.a.Next(); due && next <= w.a.now {
		w.fail("Next is %v, which is not later", time.Duration(next))
	}
}

// step does something, sensible or not.
func (w *watcher) step(r *rand.Rand) {
	w.pass(r)
	id := TenantID("nobody")
	if len(w.tenants) > 0 && r.IntN(20) > 0 {
		id = w.tenants[r.IntN(len(w.tenants))].ID
	}
	number, h := w.leaseOf(id)
	if r.IntN(20) == 0 {
		number, h = uint64(r.IntN(int(w.last)+2)), nil
		if x := w.held[number]; x != nil && x.tenant == id {
			h = x
		}
	}
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		w.see("Want "+string(id), w.a.Want(w.now, id))
	case 4, 5:
		done := w.now.Add(time.Duration(r.Int64N(int64(10*time.Millisecond))) - 2*time.Millisecond)
		if h != nil {
			h.closing, h.until = true, min(h.until, w.now)
		}
		w.see(fmt.Sprint("Closing ", id, number), w.a.Closing(w.now, id, number, done))
	case 6, 7, 8, 9:
		if h != nil {
			delete(w.held, number)
		}
		used := time.Duration(r.Int64() - math.MaxInt64/2)
		w.see(fmt.Sprint("Drained ", id, number), w.a.Drained(w.now, id, number, used, r.IntN(2) == 0))
	case 10:
		if r.IntN(4) == 0 {
			for n, h := range w.held {
				if h.tenant == id {
					delete(w.held, n)
				}
			}
			w.see("Gone "+string(id), w.a.Gone(w.now, id))
		}
	case 11:
		if r.IntN(8) == 0 {
			w.set(randomTenants(r, 3, 6))
		}
	}
}

func (w *watcher) set(tenants []Tenant) {
	w.tenants = tenants
	w.see(fmt.Sprintf("Set %v", tenants), w.a.Set(w.now, tenants))
}

// pass lets time pass, now and then backwards; Ticks come late, or not at all.
func (w *watcher) pass(r *rand.Rand) {
	if next, due := w.a.Next(); due && r.IntN(3) > 0 {
		w.now = next.Add(time.Duration(r.IntN(100_000)))
		w.see("Tick", w.a.Tick(w.now))
		return
	}
	if r.IntN(50) == 0 {
		w.see("Tick in the past", w.a.Tick(w.now.Add(-time.Second)))
		return
	}
	w.now = w.now.Add(time.Duration(r.ExpFloat64() * float64(time.Millisecond)))
}

func (w *watcher) leaseOf(id TenantID) (uint64, *holding) {
	for n, h := range w.held {
		if h.tenant == id {
			return n, h
		}
	}
	return 0, nil
}

func TestAnyEventsInAnyOrderKeepTheInvariants(t *testing.T) {
	for seed := range uint64(120) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := newWatcher(t, Config{})
			w.set(randomTenants(r, 3, 6))
			for range 1000 {
				w.step(r)
			}
		})
	}
}

// FuzzEvents lets the fuzzer choose the randomness of the same walk.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("any bytes"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := rand.New(&bytesSource{b: b})
		w := newWatcher(t, Config{})
		w.set(randomTenants(r, 3, 6))
		for range min(len(b), 500) {
			w.step(r)
		}
	})
}

// bytesSource draws numbers from the fuzzer's bytes, and then from a counter.
type bytesSource struct {
	b []byte
	n uint64
}

func (s *bytesSource) Uint64() uint64 {
	s.n++
	x := s.n * 0x9e3779b97f4a7c15
	if len(s.b) > 0 {
		x ^= uint64(s.b[0]) << 56
		s.b = s.b[1:]
	}
	return x
}
