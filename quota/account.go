// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	api "aipub.io/aipub/api/v1alpha1"
)

// balance is what stands against one limit.
type balance struct {
	used int64 // by charged pods
	held int64 // used, and what is kept for minimums beyond it
}

// part is an account as a whole, or what one workload type has of it.
type part struct {
	kind     api.WorkloadType // "" for the whole
	limits   limits
	balances map[string]balance
}

// account is a quota as it stands for one person, or for all whom it binds
// together.
type account struct {
	rule *rule
	user string // whose; "" for a project's
	// whole, and each type that has limits of its own.
	whole *part
	kinds map[api.WorkloadType]*part
	lines map[*line]struct{}
	// marked are the pods that were opened as Surge or Borrowed, oldest first.
	marked []*entry
	// What was worked out since the last change. Readers may run side by side, so
	// that each stores a value that never changes.
	stand    atomic.Pointer[standing]
	holdings atomic.Pointer[map[place]*holders]
}

func newAccount(r *rule, user string) *account {
	a := &account{
		rule:  r,
		user:  user,
		whole: &part{limits: r.whole, balances: map[string]balance{}},
		lines: map[*line]struct{}{},
	}
	for t, l := range r.byType {
		if a.kinds == nil {
			a.kinds = map[api.WorkloadType]*part{}
		}
		a.kinds[t] = &part{kind: t, limits: l, balances: map[string]balance{}}
	}
	return a
}

// parts are those that something of a type counts in; the second may be nil.
func (a *account) parts(t api.WorkloadType) [2]*part {
	return [2]*part{a.whole, a.kinds[t]}
}

// add changes what stands in one dimension.
func (a *account) add(t api.WorkloadType, set string, used, held int64) {
	for _, p := range a.parts(t) {
		if p != nil {
			p.add(set, used, held)
		}
	}
}

func (p *part) add(set string, used, held int64) {
	b := p.balances[set]
	b.used += used
	b.held += held
	if b == (balance{}) {
		delete(p.balances, set)
		return
	}
	p.balances[set] = b
}

// lacks says whether more does not fit. Nothing more always fits, even above a
// limit that was lowered.
func (p *part) lacks(set string, more int64) bool {
	limit, limited := p.limits[set]
	return limited && more > 0 && p.balances[set].held > limit-more
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
	c := newAccount(a.rule, a.user)
	c.whole.balances = maps.Clone(a.whole.balances)
	for t, p := range a.kinds {
		c.kinds[t].balances = maps.Clone(p.balances)
	}
	for l := range a.lines {
		c.lines[of[l]] = struct{}{}
	}
	c.marked = slices.Clone(a.marked)
	c.holdings.Store(a.holdings.Load())
	c.stand.Store(a.stand.Load())
	return c
}
