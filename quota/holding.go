// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// maxHolders is how many holders a shortfall lists.
const maxHolders = 10

// Holding is what one person, or one workload of a person, uses of a limit.
type Holding struct {
	User string
	// Workload is zero where all that the person holds is meant.
	Workload Workload
	// Held is a number of sets, or Units, as the limit is.
	Held int64
	// DueBack is when the first of it has to be given back; zero when none has to.
	DueBack time.Time
}

// holders are the largest holders of a limit.
type holders struct {
	list []Holding
	left int       // how many are not in the list
	next time.Time // when the first of all is due back
}

// holders works them out, or has done so since the last change.
func (a *account) holders(p place) *holders {
	known := a.holdings.Load()
	if known != nil {
		if h, ok := (*known)[p]; ok {
			return h
		}
	}
	h := a.findHolders(p)
	all := map[place]*holders{p: h}
	if known != nil {
		maps.Copy(all, *known)
	}
	a.holdings.Store(&all)
	return h
}

func (a *account) findHolders(p place) *holders {
	// Of a project, people are listed; of a person, workloads.
	type holder struct {
		user     string
		workload Workload
	}
	sums := map[holder]*Holding{}
	h := &holders{}
	for l := range a.lines {
		held := l.charged.of(p.set)
		if held == 0 || p.kind != "" && p.kind != l.key.party.Type {
			continue
		}
		k := holder{user: l.key.party.User}
		if a.rule.personal() {
			k.workload = l.key.workload
		}
		if sums[k] == nil {
			sums[k] = &Holding{User: k.user, Workload: k.workload}
		}
		due := l.dueBack(p.set)
		sums[k].Held += held
		sums[k].DueBack = earlier(sums[k].DueBack, due)
		h.next = earlier(h.next, due)
	}
	for _, s := range sums {
		h.list = append(h.list, *s)
	}
	slices.SortFunc(h.list, func(x, y Holding) int {
		return cmp.Or(
			cmp.Compare(y.Held, x.Held),
			cmp.Compare(x.User, y.User),
			x.Workload.compare(y.Workload),
		)
	})
	if n := len(h.list); n > maxHolders {
		h.left = n - maxHolders
		h.list = slices.Clone(h.list[:maxHolders])
	}
	return h
}

// dueBack is when the first of the line's pods that hold of a dimension is due.
func (l *line) dueBack(set string) time.Time {
	var due time.Time
	for _, e := range l.pods {
		if e.asks.of(set) > 0 {
			due = earlier(due, e.claim.DueBack)
		}
	}
	return due
}

// earlier is the earlier of two times of which zero is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (w Workload) compare(v Workload) int {
	return cmp.Or(
		cmp.Compare(w.Namespace, v.Namespace),
		cmp.Compare(w.Kind, v.Kind),
		cmp.Compare(w.Name, v.Name),
		cmp.Compare(w.Group, v.Group),
		cmp.Compare(w.UID, v.UID),
	)
}
