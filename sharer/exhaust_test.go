// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"testing"
	"time"
)

// moves are all that can happen to two tenants, each told of the lease that the
// tenant has, or of the last one.
func moves() []func(*watcher) {
	all := []func(*watcher){func(w *watcher) {
		if next, due := w.a.Next(); due {
			w.now = next
		}
		w.see("Tick", w.a.Tick(w.now))
	}}
	for _, id := range []TenantID{"a", "b"} {
		all = append(all,
			func(w *watcher) { w.see("Want "+string(id), w.a.Want(w.now, id)) },
			func(w *watcher) { w.close(id, 3*time.Millisecond) },
			func(w *watcher) { w.drain(id, true) },
			func(w *watcher) { w.drain(id, false) },
			func(w *watcher) { w.die(id) },
		)
	}
	return all
}

func (w *watcher) close(id TenantID, left time.Duration) {
	number, h := w.leaseOf(id)
	if h != nil {
		h.closing, h.until = true, min(h.until, w.now)
	}
	w.see("Closing "+string(id), w.a.Closing(w.now, id, number, w.now.Add(left)))
}

func (w *watcher) drain(id TenantID, wants bool) {
	number, _ := w.leaseOf(id)
	delete(w.held, number)
	w.see(fmt.Sprint("Drained ", id, wants), w.a.Drained(w.now, id, number, 0, wants))
}

func (w *watcher) die(id TenantID) {
	for n, h := range w.held {
		if h.tenant == id {
			delete(w.held, n)
		}
	}
	w.see("Gone "+string(id), w.a.Gone(w.now, id))
}

// TestAllShortHistories goes through every sequence of three events after both
// tenants want the GPU, for each combination of lending and borrowing, and then
// sees to it that whoever wants the GPU gets it.
func TestAllShortHistories(t *testing.T) {
	all := moves()
	const length = 3
	for policy := range 16 {
		total := 1
		for range length {
			total *= len(all)
		}
		for history := range total {
			w := newWatcher(t, Config{})
			w.set([]Tenant{
				{ID: "a", Legs: []Leg{{"0", 300}}, Lend: policy&1 > 0, Borrow: policy&2 > 0},
				{ID: "b", Legs: []Leg{{"0", 700}}, Lend: policy&4 > 0, Borrow: policy&8 > 0},
			})
			all[1](w)
			all[1+5](w)
			for range length {
				w.now = w.now.Add(time.Millisecond)
				all[history%len(all)](w)
				history /= len(all)
			}
			w.finish()
		}
	}
}

// finish lets both want the GPU, and do as they are told from now on.
func (w *watcher) finish() {
	served := map[TenantID]bool{}
	w.see("Want a", w.a.Want(w.now, "a"))
	w.see("Want b", w.a.Want(w.now, "b"))
	for range 1000 {
		for n, h := range w.held {
			if h.until <= w.now || h.forced {
				delete(w.held, n)
				served[h.tenant] = true
				w.see("Drained "+string(h.tenant), w.a.Drained(w.now, h.tenant, n, 0, true))
				break
			}
		}
		if served["a"] && served["b"] {
			return
		}
		if next, due := w.a.Next(); due {
			w.now = next
		}
		w.see("Tick", w.a.Tick(w.now))
	}
	w.fail("not both get the GPU: %v", served)
}
