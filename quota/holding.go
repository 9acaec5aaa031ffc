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
	// Workload, and the project that it is charged to, are zero where all that the
	// person holds is meant.
	Workload Workload
	Project  string
	// Held is a number of sets, or Units, as the limit is.
	Held int64
	// DueBack is when the first of a workload's has to be given back; zero when none
	// has to, and for a person.
	DueBack time.Time
}

// holders are the largest holders of a limit.
type holders struct {
	list []Holding
	left int // how many are not in the list
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

// findHolders lists people from what each uses, or a person's workloads.
func (a *account) findHolders(p place) *holders {
	h := &holders{}
	if people := (spot{a, p}).part().people; people != nil {
		for user, sum := range people {
			if held := sum.of(p.set); held > 0 {
				h.add(Holding{User: user, Held: held})
			}
		}
		return h
	}
	for l := range a.lines {
		held := l.charged.of(p.set)
		if held > 0 && (p.kind == "" || p.kind == l.key.party.Type) {
			h.add(Holding{User: l.key.party.User, Workload: l.key.workload, Project: l.key.party.Project, Held: held, DueBack: l.dueBack(p.set)})
		}
	}
	return h
}

// add keeps the largest, in order.
func (h *holders) add(x Holding) {
	if n := len(h.list); n == maxHolders && h.list[n-1].Held > x.Held {
		h.left++
		return
	}
	i, _ := slices.BinarySearchFunc(h.list, x, Holding.compare)
	if i < maxHolders {
		h.list = slices.Insert(h.list, i, x)
	}
	if i == maxHolders || len(h.list) > maxHolders {
		h.list = h.list[:maxHolders]
		h.left++
	}
}

// compare sorts the largest first.
func (x Holding) compare(y Holding) int {
	switch { // one at a time: there may be thousands of holders
	case x.Held != y.Held:
		return cmp.Compare(y.Held, x.Held)
	case x.User != y.User:
		return cmp.Compare(x.User, y.User)
	}
	return x.Workload.compare(y.Workload)
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
