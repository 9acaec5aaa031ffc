// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Victim is a charged claim that has to give back.
type Victim struct {
	Claim Claim
	// Reason is api.ReasonYieldedHeadroom or api.ReasonYieldedBorrowed.
	Reason string
	// For is who needs it.
	For Workload
	// Message is a sentence for the victim's owner.
	Message string
}

// Yield picks charged claims to end so that all that is asked fits within the
// limits: replicas of Operations beyond their minimum first, then borrowed pods
// that have run for as long as the quotas that lend grant them. As few as can be;
// among equals the youngest. Pods of who asks are spared. It is false when not
// even that makes room, and when what is asked is beyond a minimum itself; true
// without victims when there is room.
func (b *Book) Yield(asked []Claim, now time.Time) ([]Victim, bool) {
	y := yielding{book: b, gone: map[*line]amounts{}}
	if !y.needs(asked) {
		return nil, false
	}
	y.findCandidates(asked, now)
	for _, reason := range []string{api.ReasonYieldedHeadroom, api.ReasonYieldedBorrowed} {
		for i := range y.need {
			for y.need[i].n > 0 && y.pick(y.need[i].spot, reason) {
				continue
			}
		}
	}
	if y.short() {
		return nil, false
	}
	y.spare()
	victims := make([]Victim, len(y.picked))
	for i, c := range y.picked {
		victims[i] = c.victim(asked[0])
	}
	return victims, true
}

// yielding is the search for victims.
type yielding struct {
	book       *Book
	need       []lack
	candidates []*candidate // the youngest first
	picked     []*candidate
	gone       map[*line]amounts // of what was picked
}

// lack is how much has to become free of one limit.
type lack struct {
	spot
	n int64
}

type candidate struct {
	*entry
	line   *line
	reason string
	picked bool
}

// needs works out what has to become free. It is false when something asked for is
// beyond a minimum: nobody yields to that.
func (y *yielding) needs(asked []Claim) bool {
	t, headroom := y.book.sum(asked)
	if headroom {
		return false
	}
	for _, s := range t.lacking() {
		b := s.balance()
		y.need = append(y.need, lack{s, b.held + t[s].more - b.limit})
	}
	return true
}

// findCandidates lists all that may be ended and stand in one of the limits.
func (y *yielding) findCandidates(asked []Claim, now time.Time) {
	spared, seen, lenders := map[*line]bool{}, map[*line]bool{}, map[*account]bool{}
	for _, c := range asked {
		if l := y.book.lines[key{c.Workload, c.Party}]; l != nil {
			spared[l] = true
		}
	}
	for _, n := range y.need {
		for l := range n.account.lines {
			if seen[l] || spared[l] {
				continue
			}
			seen[l] = true
			y.addHeadroom(l)
			for _, a := range l.accounts {
				if a.rule.borrowing {
					lenders[a] = true
				}
			}
		}
	}
	y.addBorrowed(lenders, spared, now)
	slices.SortFunc(y.candidates, func(a, b *candidate) int { return byAge(b.entry, a.entry) })
}

// addHeadroom lists the pods of an Operation with a minimum; which of them are
// beyond it shows when one is picked.
func (y *yielding) addHeadroom(l *line) {
	if !l.guaranteed || l.key.party.Type != api.TypeOperation {
		return
	}
	for _, e := range l.pods {
		if !e.claim.Stays {
			y.candidates = append(y.candidates, &candidate{entry: e, line: l, reason: api.ReasonYieldedHeadroom})
		}
	}
}

// addBorrowed lists what borrows now and has run for as long as all that lend to it
// grant.
func (y *yielding) addBorrowed(lenders map[*account]bool, spared map[*line]bool, now time.Time) {
	granted := map[*entry]time.Duration{}
	for a := range lenders {
		for _, e := range y.book.standing(a).borrowed {
			granted[e] = max(granted[e], a.rule.minRun)
		}
	}
	for e, least := range granted {
		l := y.book.lines[e.key]
		if e.mayGo(now, least) && !spared[l] {
			y.candidates = append(y.candidates, &candidate{entry: e, line: l, reason: api.ReasonYieldedBorrowed})
		}
	}
}

// pick takes the candidate that frees most of a limit, or, if one alone frees
// enough of all, the youngest of these. It is false when none helps.
func (y *yielding) pick(s spot, reason string) bool {
	var best *candidate
	most := int64(0)
	for _, c := range y.candidates {
		if c.picked || c.reason != reason {
			continue
		}
		n := c.frees(s)
		enough := n > 0 && y.suffices(c)
		if !enough && n <= most || !y.may(c) {
			continue
		}
		if best, most = c, n; enough {
			break
		}
	}
	if best == nil {
		return false
	}
	best.picked = true
	y.picked = append(y.picked, best)
	y.end(best, 1)
	return true
}

// may says whether a candidate can go without touching its workload's minimum.
func (y *yielding) may(c *candidate) bool {
	for _, a := range c.asks {
		if c.line.charged.of(a.set)-y.gone[c.line].of(a.set)-a.n < c.line.floor.of(a.set) {
			return false
		}
	}
	return true
}

// frees is how much of a limit a candidate holds.
func (c *candidate) frees(s spot) int64 {
	if s.kind != "" && s.kind != c.key.party.Type || !slices.Contains(c.line.accounts, s.account) {
		return 0
	}
	return c.asks.of(s.set)
}

// suffices says whether one candidate frees all that is needed still.
func (y *yielding) suffices(c *candidate) bool {
	for _, n := range y.need {
		if n.n > 0 && c.frees(n.spot) < n.n {
			return false
		}
	}
	return true
}

// end counts a candidate as ended, or, with -1, not so after all.
func (y *yielding) end(c *candidate, sign int64) {
	for _, a := range c.asks {
		y.gone[c.line] = y.gone[c.line].plus(a.set, sign*a.n)
	}
	for i := range y.need {
		y.need[i].n -= sign * c.frees(y.need[i].spot)
	}
}

func (y *yielding) short() bool {
	return slices.ContainsFunc(y.need, func(n lack) bool { return n.n > 0 })
}

// spare lets go whom later picks have made needless, the last picked first.
func (y *yielding) spare() {
	for i := len(y.picked) - 1; i >= 0; i-- {
		c := y.picked[i]
		if y.end(c, -1); y.short() {
			y.end(c, 1)
			continue
		}
		y.picked = slices.Delete(y.picked, i, i+1)
	}
}

func (c *candidate) victim(asked Claim) Victim {
	what := "is beyond its minimum"
	if c.reason == api.ReasonYieldedBorrowed {
		what = "ran on quota that its project did not use"
	}
	return Victim{
		Claim:  c.claim,
		Reason: c.reason,
		For:    asked.Workload,
		Message: fmt.Sprintf("pod %s/%s %s, and gives its sets back: %s of project %s needs them within its quota",
			c.claim.Namespace, c.claim.Name, what, asked.Workload.title(), asked.Party.Project),
	}
}

// title names a workload: "Job ml/train".
func (w Workload) title() string {
	return cmp.Or(w.Kind, "Pod") + " " + w.Namespace + "/" + w.Name
}
