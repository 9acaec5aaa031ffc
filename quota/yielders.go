// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Yielder is a charged claim that may be ended when somebody within their quotas
// needs what it holds.
type Yielder struct {
	Claim Claim
	// Reason is api.ReasonYieldedHeadroom or api.ReasonYieldedBorrowed.
	Reason string
	// Of those of one group at most Most may go: the others are the guaranteed
	// minimum of their workload. Group 0 is none: each may go.
	Group, Most int
}

// Yielders lists all that may be ended now, the first to go first: replicas of
// Operations beyond their minimum, then borrowed pods that have run for as long as
// the quotas that lend grant them; of both the youngest first.
func (b *Book) Yielders(now time.Time) []Yielder {
	var headroom, borrowed []*entry
	groups := map[key]int{}
	most := map[key]int{}
	for k, l := range b.lines {
		if n := l.spare(); n > 0 {
			for _, e := range l.pods {
				if !e.claim.Stays {
					headroom = append(headroom, e)
				}
			}
			most[k] = n
		}
	}
	for e, least := range b.grants() {
		if e.mayGo(now, least) {
			borrowed = append(borrowed, e)
		}
	}
	out := make([]Yielder, 0, len(headroom)+len(borrowed))
	youngest := func(a, b *entry) int { return byAge(b, a) }
	slices.SortFunc(headroom, youngest)
	for _, e := range headroom {
		if groups[e.key] == 0 {
			groups[e.key] = len(groups) + 1
		}
		out = append(out, Yielder{Claim: e.claim, Reason: api.ReasonYieldedHeadroom, Group: groups[e.key], Most: most[e.key]})
	}
	slices.SortFunc(borrowed, youngest)
	for _, e := range borrowed {
		out = append(out, Yielder{Claim: e.claim, Reason: api.ReasonYieldedBorrowed})
	}
	return out
}

// mayGo reports whether a pod that borrows has run for as long as it is granted, and
// does not stay all the same.
func (e *entry) mayGo(now time.Time, granted time.Duration) bool {
	return now.Sub(e.claim.Since) >= granted && !e.claim.Stays
}

// spare is how many pods of an Operation can go, whichever they are, without touching
// its minimum.
func (l *line) spare() int {
	if !l.guaranteed || l.key.party.Type != api.TypeOperation {
		return 0
	}
	n := len(l.pods)
	for _, c := range l.charged {
		largest := int64(0)
		for _, e := range l.pods {
			largest = max(largest, e.asks.of(c.set))
		}
		if largest > 0 {
			n = min(n, int(max(0, c.n-l.floor.of(c.set))/largest))
		}
	}
	return n
}

// grants lists what borrows now, and the longest time that one of those that lend to
// it grants.
func (b *Book) grants() map[*entry]time.Duration {
	granted := map[*entry]time.Duration{}
	for r, people := range b.accounts {
		if !r.borrowing {
			continue
		}
		for _, a := range people {
			if len(a.marked) == 0 {
				continue
			}
			for _, e := range b.standing(a).borrowed {
				granted[e] = max(granted[e], r.minRun)
			}
		}
	}
	return granted
}

// Victim is the yielder as one that has to go because no node has room for what is
// asked. whom names who asks, as far as the yielder's owner may know them.
func (y Yielder) Victim(asked Claim, whom string) Victim {
	what := "is beyond its minimum"
	if y.Reason == api.ReasonYieldedBorrowed {
		what = "ran on quota that its project did not use"
	}
	return Victim{
		Claim: y.Claim, Reason: y.Reason, For: asked.Workload,
		Message: fmt.Sprintf("pod %s/%s %s, and yields %s to %s of project %s, which is within its quota: no node had room for it",
			y.Claim.Namespace, y.Claim.Name, what, setsWords(y.Claim.Sets), whom, asked.Party.Project),
	}
}

// setsWords names sets: "set small and 2 of set large".
func setsWords(sets map[string]int64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		switch n := sets[name]; {
		case n == 1:
			words = append(words, "set "+name)
		case n > 1:
			words = append(words, fmt.Sprintf("%d of set %s", n, name))
		}
	}
	return strings.Join(words, " and ")
}
