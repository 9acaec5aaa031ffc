// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// standing says which charged pods stand above the limits of one account now,
// whatever they were when their gates were opened.
//
// The rule: of the pods opened as Surge (or, where the quota lends, Borrowed), the
// youngest first, each that holds of what is above its limit is taken out, until
// the rest fits. Those taken out stand above; all others are within. So a pod that
// was opened above a limit comes within as soon as there is room, the oldest
// first, and goes above again only when the limit is lowered.
type standing struct {
	surge, borrowed []*entry
	// over is what is above the limits for no such reason: they were lowered.
	over []excess
}

// all lists the pods that stand above a limit.
func (s *standing) all() []*entry { return slices.Concat(s.surge, s.borrowed) }

// place is a dimension of an account: as a whole, or of a type.
type place struct {
	kind api.WorkloadType
	set  string
}

// excess is how much stands above one limit.
type excess struct {
	place
	n int64
}

// standing works it out, or has done so since the last change.
func (b *Book) standing(a *account) *standing {
	if s := a.stand.Load(); s != nil {
		return s
	}
	s := &standing{over: a.excesses()}
	gone := map[*line]amounts{}
	for i := len(a.marked) - 1; i >= 0 && len(s.over) > 0; i-- {
		e := a.marked[i]
		if !a.excuses(e) {
			continue
		}
		l := b.lines[e.key]
		rest, helps := lessen(s.over, e.key.party.Type, l.frees(e.asks, gone[l]))
		if !helps {
			continue
		}
		s.over = rest
		for _, x := range e.asks {
			gone[l] = gone[l].plus(x.set, x.n)
		}
		if e.grade == Surge {
			s.surge = append(s.surge, e)
		} else {
			s.borrowed = append(s.borrowed, e)
		}
	}
	a.stand.Store(s)
	return s
}

// excuses says whether a pod opened above a limit may stand above this one's.
func (a *account) excuses(e *entry) bool {
	return e.grade == Surge || a.lends(e.claim)
}

// lends says whether a pod may borrow here.
func (a *account) lends(c Claim) bool {
	return a.rule.borrowing && c.Party.Type == api.TypeJob
}

// excesses lists what is above the limits, in order.
func (a *account) excesses() []excess {
	var out []excess
	add := func(p *part) {
		for _, b := range p.balances {
			if n := b.held - b.limit; b.limited && n > 0 {
				out = append(out, excess{place{p.kind, b.set}, n})
			}
		}
	}
	add(a.whole)
	for _, p := range a.kinds {
		add(p)
	}
	slices.SortFunc(out, func(a, b excess) int { return a.compare(b.place) })
	return out
}

// compare sorts the whole before the types, and sets before units.
func (p place) compare(q place) int {
	return cmp.Or(
		cmp.Compare(p.kind, q.kind),
		cmp.Compare(isUnits(p.set), isUnits(q.set)),
		cmp.Compare(p.set, q.set),
	)
}

func isUnits(set string) int {
	if set == units {
		return 1
	}
	return 0
}

// lessen takes what becomes free off what is over. It leaves over as it was.
func lessen(over []excess, t api.WorkloadType, free amounts) (rest []excess, helps bool) {
	for _, x := range over {
		if x.kind == "" || x.kind == t {
			if n := free.of(x.set); n > 0 {
				helps = true
				x.n -= n
			}
		}
		if x.n > 0 {
			rest = append(rest, x)
		}
	}
	if !helps {
		return over, false
	}
	return rest, true
}
