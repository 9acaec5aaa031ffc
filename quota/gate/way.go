// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"fmt"
	"slices"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// way answers shortages of room: who stands within their quotas and finds no node
// has those go that stand there as headroom or borrowed, if that makes room.
type way struct {
	desk  *desk
	known bool
	// yielders may go, by UID.
	yielders map[string]quota.Yielder
	failed   map[*refusal]bool
}

// start finds out who may go.
func (w *way) start() {
	w.known = true
	w.failed = map[*refusal]bool{}
	book := w.desk.going.book()
	if book == nil {
		return
	}
	charged := map[string]*Charged{}
	for i := range w.desk.s.Charged {
		if c := &w.desk.s.Charged[i]; c.Node != "" && !c.Leaving {
			charged[c.Claim.UID] = c
		}
	}
	w.yielders = map[string]quota.Yielder{}
	var list []placement.Leaver
	for _, y := range book.Yielders(w.desk.s.Now) {
		if c := charged[y.Claim.UID]; c != nil {
			w.yielders[y.Claim.UID] = y
			list = append(list, placement.Leaver{Node: c.Node, Ask: c.Ask, Group: y.Group, Most: y.Most})
		}
	}
	w.desk.room.MayLeave(list)
}

// make keeps room for those pods of a workload that found none and stand within their
// quotas, one after the other and a gang as a whole, as far as others go for them. It
// reports whether it did so for any.
func (w *way) make(it *item) bool {
	made := false
	for _, pods := range it.withinWithoutRoom() {
		if !w.known {
			w.start()
		}
		if !w.makeFor(pods) {
			break
		}
		made = true
	}
	return made
}

// withinWithoutRoom are the pods that wait for room alone, and would be charged within
// every limit; those that start together, together.
func (it *item) withinWithoutRoom() [][]*waiter {
	var out [][]*waiter
	var gang *refusal
	for i := range it.pods {
		p := &it.pods[i]
		switch {
		case p.opened || !p.within || p.wait == nil || p.wait.kind != noRoom:
		case len(p.wait.asks) > 1 && p.wait == gang:
			last := &out[len(out)-1]
			*last = append(*last, p)
		default:
			gang = p.wait
			out = append(out, []*waiter{p})
		}
	}
	return out
}

func (w *way) makeFor(pods []*waiter) bool {
	d, r := w.desk, pods[0].wait
	if w.failed[r] {
		return false
	}
	claims, asks := make([]quota.Claim, len(pods)), make([]placement.Ask, len(pods))
	for i, p := range pods {
		claims[i], asks[i] = p.Claim, p.Ask
	}
	book := d.going.book()
	if book != nil {
		// Those before it are charged by now, though they wait.
		if verdict := book.Check(claims); !verdict.OK() || !within(verdict.Grades) {
			return false
		}
	}
	uids, ok := d.room.Clear(asks, d.mayAsk())
	if !ok {
		w.failed[r] = true
		return false
	}
	for _, uid := range uids {
		y := w.yielders[uid]
		book.Release(uid)
		d.plan.Yield = append(d.plan.Yield, y.Victim(claims[0], d.nameFor(&y.Claim, &claims[0])))
	}
	if book != nil {
		d.going.count(claims)
	}
	after := *r
	after.message = r.message + "; it is within its quota, and " + wordsOf(len(uids))
	for _, p := range pods {
		p.wait, p.kept = &after, true
		if len(uids) > 0 && !p.Freed {
			d.plan.Freed = append(d.plan.Freed, p.Claim.UID)
		}
	}
	return true
}

// freed serves the pods for which others went or are going, before anybody else: what
// was freed for them is not given or kept otherwise. The largest go first, so that the
// small ones do not take part of a large one's room.
func (d *desk) freed() {
	size := map[*item]int64{}
	var waiting []*item
	for _, it := range d.items.all {
		for i := range it.pods {
			if it.pods[i].Freed {
				size[it] = max(size[it], d.units(it.pods[i].Claim.Sets))
			}
		}
		if _, any := size[it]; any {
			waiting = append(waiting, it)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *item) int { return cmp.Compare(size[b], size[a]) })
	for _, it := range waiting {
		if refused := d.serveFreed(it); refused != nil {
			d.saving.begin(it, refused)
			d.keepFor(it, refused, true)
		}
	}
}

// units is the share of GPUs of some sets.
func (d *desk) units(sets map[string]int64) (sum int64) {
	for set, n := range sets {
		sum += n * int64(d.s.Sizes[set])
	}
	return sum
}

func (d *desk) serveFreed(it *item) (refused *refusal) {
	pods := d.left(it)
	if need := it.toStart(); need > 0 {
		refused, _ = d.serveGang(it, pods, need)
		return refused
	}
	for _, p := range pods {
		if !p.Freed {
			continue
		}
		if d.full() {
			d.plan.More = true
			return refused
		}
		if d.ask(it, p); p.wait != nil && (refused == nil || p.wait.kind > refused.kind) {
			refused = p.wait
		}
	}
	return refused
}

// wordsOf says how room comes about.
func wordsOf(asked int) string {
	switch asked {
	case 0:
		return "what others give back now is kept for it"
	case 1:
		return "1 pod that borrows or is beyond a minimum was asked to yield the room to it"
	}
	return fmt.Sprintf("%d pods that borrow or are beyond a minimum were asked to yield the room to it", asked)
}

// nameFor names who asks, as far as somebody who has to go may know them.
func (d *desk) nameFor(goes, asks *quota.Claim) string {
	if goes.Namespace != asks.Namespace && !d.sight()(goes.Namespace, goes.Party.User)(asks.Party.User) {
		return "a workload"
	}
	return fmt.Sprintf("%s %s/%s", asks.Workload.Kind, asks.Workload.Namespace, asks.Workload.Name)
}

// sight says whose names may stand in a sentence.
func (d *desk) sight() func(namespace, own string) func(user string) bool {
	if d.sees == nil {
		d.sees = Sees(d.s.Charged)
	}
	return d.sees
}
