// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"math"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// going answers shortages by asking pods to go. It looks at a book in which all
// that is on its way out is gone and all who wait for it are charged, so that each
// shortage is answered once.
type going struct {
	desk   *desk
	after  *quota.Book // nil until it is needed
	failed map[*refusal]bool
	// started is true once it is known whether there is anybody to ask.
	started bool
}

func (g *going) start() {
	g.started = true
	any := false // somebody stands as headroom or borrowed, or did so and leaves
	for i := range g.desk.s.Charged {
		if lent(g.desk.s.Charged[i].Grade) {
			any = true
			break
		}
	}
	if !any {
		return
	}
	g.failed = map[*refusal]bool{}
	g.after = g.desk.book.Clone()
	for i := range g.desk.s.Charged {
		if c := &g.desk.s.Charged[i]; c.Leaving {
			g.after.Release(c.Claim.UID)
		}
	}
}

// book is the book in which all that goes is gone; nil where nobody is to be asked.
func (g *going) book() *quota.Book {
	if !g.started {
		g.start()
	}
	return g.after
}

// makeRoom asks others to go so that claims of a workload find quota next time.
func (g *going) makeRoom(it *item, claims []quota.Claim, asks []placement.Ask, r *refusal) {
	if g.book() == nil || g.failed[r] || g.desk.mayAsk() <= 0 || !it.entitled() {
		return
	}
	if verdict := g.after.Check(claims); verdict.OK() {
		if within(verdict.Grades) {
			g.count(claims)
		}
		return
	}
	victims, ok := g.after.Yield(claims, g.desk.s.Now)
	if !ok || len(victims) > g.desk.mayAsk() || !g.placeable(asks[0]) {
		g.failed[r] = true
		return
	}
	for _, v := range victims {
		g.after.Release(v.Claim.UID)
		v.For = it.Workload
		if v.Message == "" {
			v.Message = fmt.Sprintf("%s %s needs the quota that is its own", v.For.Kind, v.For.Name)
		}
		g.desk.plan.Yield = append(g.desk.plan.Yield, v)
		g.desk.leaves(v.Claim.UID)
	}
	g.count(claims)
}

// mayAsk is how many more pods the plan may ask to go: as many as it takes for the first
// that needs some, else a gang that needs many would wait for ever.
func (d *desk) mayAsk() int {
	if len(d.plan.Yield) == 0 {
		return math.MaxInt
	}
	return MaxYield - len(d.plan.Yield)
}

// entitled reports whether pods may have others go: an Operation's headroom may
// not.
func (it *item) entitled() bool {
	return it.Party.Type != api.TypeOperation || it.floor == 0 || it.holds.pods < it.floor
}

// placeable reports whether some node could ever hold a pod; nobody goes in vain.
func (g *going) placeable(ask placement.Ask) bool {
	_, why := g.desk.room.Place(ask)
	return why == nil || (why.Reason != api.ReasonNoNodeHasSet && why.Reason != api.ReasonUnknownSet)
}

// count charges who waits for what is going.
func (g *going) count(claims []quota.Claim) {
	for _, c := range claims {
		g.after.Charge(c, quota.Within)
	}
}

func within(grades []quota.Grade) bool {
	for _, grade := range grades {
		if grade != quota.Within {
			return false
		}
	}
	return true
}
