// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
	"aipub.io/aipub/quota/queue"
)

// Decide says which gates to open, at most most of them (a gang that is first is
// never cut), and why the others stay closed. Each opening is decided on what the
// ones before it left.
func Decide(s Snapshot, most int) Plan {
	return new(Keeper).Decide(s, most)
}

// desk is one decision in progress.
type desk struct {
	s     *Snapshot
	most  int
	book  *quota.Book
	room  *placement.Room
	items items
	// settings of a project's queue.
	settings func(project string) queue.Settings
	shared   shared
	going    going
	way      way
	saving   saving
	lending  bool                                               // what is left is lent now: see lends
	owed     map[string]bool                                    // projects whose quota the first within it waits for
	sees     func(namespace, own string) func(user string) bool // nil until it is needed
	kept     int
	plan     Plan
}

// newDesk begins a decision on a book of the snapshot, in which the given minimums
// are reserved.
func newDesk(s *Snapshot, most int, book *quota.Book, floors []quota.Floor) *desk {
	d := &desk{
		s: s, most: most, book: book, room: s.Room(), items: itemsOf(s.Pending), settings: settingsOf(s.Queues),
		shared: newShared(),
	}
	d.plan.Heads = map[string]Head{}
	d.owed, d.going, d.way = map[string]bool{}, going{desk: d}, way{desk: d}
	d.saving = saving{desk: d}
	for i := range s.Charged {
		c := &s.Charged[i].Claim
		if it := d.items.index[keyOf(&c.Workload, c.Party.Project)]; it != nil {
			if it.holds.add(c); s.Charged[i].Leaving {
				it.holds.leaving++
			}
		}
	}
	for i := range floors {
		if it := d.items.index[keyOf(&floors[i].Workload, floors[i].Party.Project)]; it != nil {
			it.floor = floors[i].MinReplicas
		}
	}
	return d
}

func (d *desk) full() bool { return len(d.plan.Open) >= d.most }

// guaranteed opens what stands behind nobody: pods of Operations within their
// minimum, and replacements above the limit.
func (d *desk) guaranteed() {
	for _, it := range d.items.all {
		if it.Party.Type == api.TypeOperation && !d.serveGuaranteed(it) {
			d.plan.More = true
			return
		}
	}
}

// serveGuaranteed returns false when the plan is full.
func (d *desk) serveGuaranteed(it *item) bool {
	var waits *refusal
	defer func() {
		if waits != nil {
			d.keepFor(it, waits, true)
		}
	}()
	for i := range it.pods {
		p := &it.pods[i]
		if d.full() {
			return false
		}
		switch {
		case !p.closed() || p.kept:
			continue
		case it.holds.pods < it.floor:
			if d.ask(it, p); p.wait != nil {
				waits = p.wait
			}
		case !it.holds.replacedBy(p.Claim.Generation) || !d.trySurge(it, p):
			return true
		}
	}
	return true
}

// replacedBy reports whether a pod is of another roll-out than one that is held.
func (h *held) replacedBy(generation string) bool {
	return len(h.generations) > 1 || (len(h.generations) == 1 && h.generations[0] != generation)
}

// inTurn serves the workloads in the order of the queues: first what is within the
// quotas, then what is lent.
func (d *desk) inTurn() {
	d.turns(func(*item) bool { return true })
	if d.full() || !slices.ContainsFunc(d.items.all, func(it *item) bool { return it.lends }) {
		return
	}
	d.lending = true
	d.turns(d.lendTo)
}

// turns serves some of the workloads in the order of the queues.
func (d *desk) turns(these func(*item) bool) {
	left, places := d.waitingItems(these)
	turns := queue.TurnsOf(places, d.settings, d.book.Load)
	for {
		next, ok := turns.NextAt()
		if !ok {
			return
		}
		if d.full() {
			d.plan.More = true
			return
		}
		it := left[next]
		if refused := d.serve(it); refused != nil && d.holdsUp(it, refused) {
			turns.Skip(it.Party.Project)
		}
	}
}

// waitingItems are those of some workloads that have pods left to open, and their
// places.
func (d *desk) waitingItems(these func(*item) bool) ([]*item, []queue.Place) {
	left, places := make([]*item, 0, len(d.items.all)), make([]queue.Place, 0, len(d.items.all))
	for _, it := range d.items.all {
		if these(it) && slices.ContainsFunc(it.pods, func(p waiter) bool { return p.closed() }) {
			left, places = append(left, it), append(places, it.place)
		}
	}
	return left, places
}

// holdsUp notes what a refused workload means for others: whether it is the head
// that blocks, and whether room is kept for it.
func (d *desk) holdsUp(it *item, r *refusal) bool {
	if r.kind == aside {
		return false
	}
	settings := d.settings(it.Party.Project)
	blocks := settings.Policy != api.FirstScheduling
	due := blocks || !d.s.Now.Before(it.since.Add(settings.Patience))
	if due && !d.lending {
		d.saving.begin(it, r)
	}
	d.keepFor(it, r, due)
	if _, known := d.plan.Heads[it.Party.Project]; blocks && !known {
		d.plan.Heads[it.Party.Project] = Head{
			Workload: it.Workload, Party: it.Party, Since: it.since, Reason: r.reason, Message: r.message,
		}
		d.owed[it.Party.Project] = !d.lending && r.kind == short
	}
	return blocks
}

// keepFor keeps room for who found none, where it is due.
func (d *desk) keepFor(it *item, r *refusal, due bool) {
	if r.kind != noRoom || !due || it.kept || d.kept >= MaxKept {
		return
	}
	it.kept = d.way.make(it) || d.room.Keep(r.asks)
	if it.kept {
		d.kept++
	}
}
