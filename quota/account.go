// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// balance is one dimension of an account.
type balance struct {
	set     string
	used    int64 // by charged pods
	held    int64 // used, and what is kept for minimums beyond it
	limit   int64
	limited bool // else there is no limit
	// next is when the first of the pods that use it has to give back; zero when
	// none has to.
	next time.Time
}

// part is an account as a whole, or what one workload type has of it. It has few
// balances, so that a walk beats a map.
type part struct {
	kind     api.WorkloadType // "" for the whole
	balances []balance
	// people are what each person uses, kept where an account is not one person's.
	people map[string]amounts
}

// account is a quota as it stands for one person, or for all whom it binds
// together.
type account struct {
	rule *rule
	user string // whose; "" for a project's
	// whole, and each type that has limits of its own.
	whole *part
	kinds []*part
	lines map[*line]struct{}
	// marked are the pods that were opened as Surge or Borrowed, oldest first.
	marked []*entry
	// What was worked out since the last change. Readers may run side by side, so
	// that each stores a value that never changes.
	stand    atomic.Pointer[standing]
	holdings atomic.Pointer[map[place]*holders]
}

func newAccount(r *rule, user string) *account {
	a := &account{rule: r, user: user, whole: r.newPart("", r.whole), lines: map[*line]struct{}{}}
	for t, l := range r.byType {
		a.kinds = append(a.kinds, r.newPart(t, l))
	}
	return a
}

func (r *rule) newPart(t api.WorkloadType, l limits) *part {
	p := &part{kind: t}
	if !r.personal() {
		p.people = map[string]amounts{}
	}
	for set, limit := range l {
		p.balances = append(p.balances, balance{set: set, limit: limit, limited: true})
	}
	return p
}

// parts are those that something of a type counts in; the second may be nil.
func (a *account) parts(t api.WorkloadType) [2]*part {
	return [2]*part{a.whole, a.kind(t)}
}

// kind finds the part of a type that has limits of its own.
func (a *account) kind(t api.WorkloadType) *part {
	for _, p := range a.kinds {
		if p.kind == t {
			return p
		}
	}
	return nil
}

// add changes what stands in one dimension.
func (a *account) add(who Party, set string, used, held int64) {
	for _, p := range a.parts(who.Type) {
		if p != nil {
			p.add(who.User, set, used, held)
		}
	}
}

func (p *part) add(user, set string, used, held int64) {
	b := p.find(set)
	if b == nil {
		p.balances = append(p.balances, balance{set: set})
		b = &p.balances[len(p.balances)-1]
	}
	b.used += used
	b.held += held
	if p.people == nil || used == 0 {
		return
	}
	if sum := p.people[user].plus(set, used); len(sum) > 0 {
		p.people[user] = sum
	} else {
		delete(p.people, user)
	}
}

// find returns the balance of a dimension, nil where nothing ever stood.
func (p *part) find(set string) *balance {
	for i := range p.balances {
		if p.balances[i].set == set {
			return &p.balances[i]
		}
	}
	return nil
}

// lacks says whether more does not fit. Nothing more always fits, even above a
// limit that was lowered.
func (p *part) lacks(set string, more int64) bool {
	b := p.find(set)
	return b != nil && b.limited && more > 0 && b.held > b.limit-more
}

// changed forgets what was worked out.
func (a *account) changed() {
	a.stand.Store(nil)
	a.holdings.Store(nil)
}

// mark and unmark keep the list of pods opened above a limit in order.
func (a *account) mark(e *entry) {
	i, _ := slices.BinarySearchFunc(a.marked, e, byAge)
	a.marked = slices.Insert(a.marked, i, e)
}

func (a *account) unmark(e *entry) {
	if i, ok := slices.BinarySearchFunc(a.marked, e, byAge); ok {
		a.marked = slices.Delete(a.marked, i, i+1)
	}
}

// byAge sorts the oldest first.
func byAge(a, b *entry) int {
	if c := a.claim.Since.Compare(b.claim.Since); c != 0 {
		return c
	}
	return cmp.Compare(a.claim.UID, b.claim.UID)
}

// clone copies the account; of says which copy stands for a line.
func (a *account) clone(of map[*line]*line) *account {
	c := &account{rule: a.rule, user: a.user, whole: a.whole.clone(), lines: make(map[*line]struct{}, len(a.lines))}
	for _, p := range a.kinds {
		c.kinds = append(c.kinds, p.clone())
	}
	for l := range a.lines {
		c.lines[of[l]] = struct{}{}
	}
	c.marked = slices.Clone(a.marked)
	c.holdings.Store(a.holdings.Load())
	c.stand.Store(a.stand.Load())
	return c
}

func (p *part) clone() *part {
	c := &part{kind: p.kind, balances: slices.Clone(p.balances)}
	if p.people != nil {
		c.people = make(map[string]amounts, len(p.people))
	}
	for user, sum := range p.people {
		c.people[user] = slices.Clone(sum)
	}
	return c
}
