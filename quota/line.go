// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// key is whose pods stand on one line: those of a workload, charged to one party.
type key struct {
	workload Workload
	party    Party
}

// entry is one charged pod. It never changes.
type entry struct {
	claim Claim
	grade Grade
	key   key
	asks  amounts
}

// line is what one workload has: its charged pods, and its guaranteed minimum. In
// every dimension it counts the larger of the two.
type line struct {
	key      key
	accounts []*account
	pods     []*entry // in no order
	charged  amounts
	dues     []due // of the dimensions in which pods have to give back
	// generations counts the charged pods of each roll-out.
	generations []generation
	guaranteed  bool // there is a floor, of nothing perhaps
	floor       amounts
}

type generation struct {
	name string
	pods int
}

// counts is what a line comes to in one dimension.
func (l *line) counts(set string, charged int64) int64 {
	return max(l.floor.of(set), charged)
}

// adds is by how much more asks would raise what the line counts when extra is
// charged already: nothing where its minimum covers it.
func (l *line) adds(asks, extra amounts) amounts {
	more := make(amounts, 0, len(asks))
	for _, a := range asks {
		now := l.charged.of(a.set) + extra.of(a.set)
		if n := l.counts(a.set, now+a.n) - l.counts(a.set, now); n > 0 {
			more = append(more, amount{a.set, n})
		}
	}
	return more
}

// headroom says whether a pod that adds more is beyond an Operation's minimum.
func (l *line) headroom(more amounts) bool {
	return l.guaranteed && l.key.party.Type == api.TypeOperation && len(more) > 0
}

// frees is by how much less asks would lower what the line counts when gone is
// ended already.
func (l *line) frees(asks, gone amounts) amounts {
	less := make(amounts, 0, len(asks))
	for _, a := range asks {
		now := l.charged.of(a.set) - gone.of(a.set)
		if n := l.counts(a.set, now) - l.counts(a.set, now-a.n); n > 0 {
			less = append(less, amount{a.set, n})
		}
	}
	return less
}

// open adds a charged pod, here and in the accounts.
func (l *line) open(e *entry) {
	l.pods = append(l.pods, e)
	l.count(e.claim.Generation, 1)
	l.charge(e.asks, 1)
	l.expect(e)
	if e.marked() {
		for _, a := range l.accounts {
			a.mark(e)
		}
	}
}

// end takes it away again.
func (l *line) end(e *entry) {
	if i := slices.Index(l.pods, e); i >= 0 {
		last := len(l.pods) - 1
		l.pods[i], l.pods[last] = l.pods[last], nil
		l.pods = l.pods[:last]
	}
	l.count(e.claim.Generation, -1)
	l.charge(e.asks, -1)
	l.forget(e)
	if e.marked() {
		for _, a := range l.accounts {
			a.unmark(e)
		}
	}
}

// charge adds asks, or takes them away where sign is -1, here and in the accounts.
func (l *line) charge(asks amounts, sign int64) {
	for _, a := range asks {
		was := l.charged.of(a.set)
		is := was + sign*a.n
		held := l.counts(a.set, is) - l.counts(a.set, was)
		l.charged = l.charged.plus(a.set, is-was)
		for _, acct := range l.accounts {
			acct.add(l.key.party, a.set, is-was, held)
		}
	}
	l.changed()
}

// guarantee sets the floor, here and in the accounts.
func (l *line) guarantee(floor amounts, guaranteed bool) {
	was := l.floor
	l.floor, l.guaranteed = floor, guaranteed
	for _, set := range setsOf(was, floor) {
		charged := l.charged.of(set)
		held := max(floor.of(set), charged) - max(was.of(set), charged)
		for _, acct := range l.accounts {
			acct.add(l.key.party, set, 0, held)
		}
	}
	l.changed()
}

// setsOf lists the dimensions of both, each once.
func setsOf(a, b amounts) []string {
	var sets []string
	for _, x := range slices.Concat(a, b) {
		if !slices.Contains(sets, x.set) {
			sets = append(sets, x.set)
		}
	}
	return sets
}

func (l *line) changed() {
	for _, a := range l.accounts {
		a.changed()
	}
}

// count adds n pods to a generation.
func (l *line) count(name string, n int) {
	for i := range l.generations {
		if g := &l.generations[i]; g.name == name {
			if g.pods += n; g.pods == 0 {
				l.generations = slices.Delete(l.generations, i, i+1)
			}
			return
		}
	}
	l.generations = append(l.generations, generation{name, n})
}

// older counts the charged pods of other generations that ask for no less than asks.
func (l *line) older(name string, asks amounts) int {
	n := 0
	for _, g := range l.generations {
		if g.name != name {
			n += g.pods
		}
	}
	if n == 0 {
		return 0
	}
	n = 0
	for _, e := range l.pods {
		if e.claim.Generation != name && e.asks.covers(asks) {
			n++
		}
	}
	return n
}

// idle says whether nothing stands on the line any more.
func (l *line) idle() bool { return len(l.pods) == 0 && !l.guaranteed }

// clone copies the line but for its accounts. Entries are shared: they never
// change.
func (l *line) clone() *line {
	c := *l
	c.pods = slices.Clone(l.pods)
	c.dues = slices.Clone(l.dues)
	c.charged = slices.Clone(l.charged)
	c.generations = slices.Clone(l.generations)
	c.floor = slices.Clone(l.floor)
	return &c
}
