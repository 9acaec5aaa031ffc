// SPDX-License-Identifier: Apache-2.0

package quota

import api "aipub.io/aipub/api/v1alpha1"

// Verdict is the answer of [Book.Check].
type Verdict struct {
	// Grades are how the claims would be charged, in the order of the claims.
	Grades []Grade
	// Shortfalls are what is in the way, those of projects first; none when the
	// claims fit.
	Shortfalls []Shortfall
}

// OK says whether everything fits.
func (v Verdict) OK() bool { return len(v.Shortfalls) == 0 }

// Check says whether the claims fit together, and how each would be charged. It
// changes nothing. The claims are not charged yet: one that is counts twice.
//
// Each claim needs room in every quota that binds it, in every set that it asks
// for and in units. What its workload's minimum covers always has room. Without
// room it may still stand above a limit:
//
//   - Surge, in place of an older pod: a charged pod of another generation of its
//     workload exists that asks for no less in anything, and for which no other pod
//     stands above a limit, and each quota that lacks room has fewer pods standing
//     above by surge than it allows.
//   - Borrowed, if it is a Job's, and each quota that lacks room is one of a person
//     in a project that lends.
func (b *Book) Check(claims []Claim) Verdict {
	d := draft{book: b}
	grades := make([]Grade, 0, len(claims))
	for i, c := range claims {
		g, ok := d.add(c, i == len(claims)-1)
		if !ok {
			return Verdict{Shortfalls: b.shortfalls(claims)}
		}
		grades = append(grades, g)
	}
	return Verdict{Grades: grades}
}

// CheckFloor says whether an Operation's minimum has room, in place of the one
// that it has. Its charged pods have their room already, but for those that stand
// above a limit: no minimum rests on them. No grades come with the answer: a
// minimum is within or refused.
func (b *Book) CheckFloor(f Floor) Verdict {
	d := draft{book: b}
	l := d.line(key{f.Workload, f.Party}).line
	floor := b.sizes.amountsOf(f.Sets, f.MinReplicas)
	t := tab{}
	for _, a := range l.accounts {
		inside := l.charged
		for _, e := range b.standing(a).all() {
			if e.key == l.key {
				inside = inside.minus(e.asks)
			}
		}
		more := l.raises(floor, inside)
		t.add(a, f.Party, more, more)
	}
	short := b.lacking(t)
	for i := range short {
		short[i].Refused = true
	}
	return Verdict{Shortfalls: short}
}

// raises is by how much more the line would count with another floor.
func (l *line) raises(floor, charged amounts) amounts {
	var more amounts
	for _, f := range floor {
		n := charged.of(f.set)
		if n = max(f.n, n) - l.counts(f.set, n); n > 0 {
			more = append(more, amount{f.set, n})
		}
	}
	return more
}

// draft is what was decided for the first claims of a check.
type draft struct {
	book     *Book
	lines    []*draftLine
	accounts map[*account]*draftAccount
	bound    map[who][]*account
}

type draftLine struct {
	*line
	extra  amounts // charged by the draft
	surges int     // of them, above a limit
}

type draftAccount struct {
	whole, kinds map[string]int64 // held by the draft; kinds has "type/set"
	surges       int64
}

// line finds or makes a line, for the draft alone where the book has none.
func (d *draft) line(k key) *draftLine {
	for _, l := range d.lines {
		if l.key == k {
			return l
		}
	}
	l, ok := d.book.lines[k]
	if !ok {
		w := who{k.party.Project, k.party.User}
		as, seen := d.bound[w]
		if !seen {
			as = d.book.peek(w)
			if d.bound == nil {
				d.bound = map[who][]*account{}
			}
			d.bound[w] = as
		}
		l = &line{key: k, accounts: as}
	}
	dl := &draftLine{line: l}
	d.lines = append(d.lines, dl)
	return dl
}

// add decides one claim after those before it. The last one is not written down.
func (d *draft) add(c Claim, last bool) (Grade, bool) {
	l := d.line(key{c.Workload, c.Party})
	asks := d.book.sizes.amountsOf(c.Sets, 1)
	more := l.adds(asks, l.extra)
	full := d.full(l, more)
	g, ok := d.grade(c, l, asks, more, full)
	if ok && !last {
		d.put(l, asks, more, full, g)
	}
	return g, ok
}

// full lists the accounts that lack room.
func (d *draft) full(l *draftLine, more amounts) []*account {
	var full []*account
	for _, a := range l.accounts {
		if d.lacks(a, l.key.party.Type, more) {
			full = append(full, a)
		}
	}
	return full
}

func (d *draft) lacks(a *account, t api.WorkloadType, more amounts) bool {
	extra := d.accounts[a]
	for _, p := range a.parts(t) {
		if p == nil {
			continue
		}
		for _, m := range more {
			n := m.n
			if extra != nil {
				n += extra.of(p, m.set)
			}
			if p.lacks(m.set, n) {
				return true
			}
		}
	}
	return false
}

// grade applies the rules of [Book.Check].
func (d *draft) grade(c Claim, l *draftLine, asks, more amounts, full []*account) (Grade, bool) {
	switch {
	case len(full) == 0 && l.headroom(more):
		return Headroom, true
	case len(full) == 0:
		return Within, true
	case d.replaces(c, l, asks, full):
		return Surge, true
	case borrows(c, full):
		return Borrowed, true
	}
	return "", false
}

func borrows(c Claim, full []*account) bool {
	for _, a := range full {
		if !a.lends(c) {
			return false
		}
	}
	return true
}

// replaces says whether the claim may stand above the limits in place of an older
// pod, which asks for as much at least: a roll-out to larger sets needs the room.
// Pods that stand above themselves are not counted as older ones.
func (d *draft) replaces(c Claim, l *draftLine, asks amounts, full []*account) bool {
	if c.Generation == "" {
		return false
	}
	older := l.older(c.Generation, asks)
	if older == 0 {
		return false
	}
	for _, a := range full {
		n := int64(len(d.book.standing(a).surge))
		if extra := d.accounts[a]; extra != nil {
			n += extra.surges
		}
		if n >= a.rule.surgePods {
			return false
		}
	}
	above, aboveOthers := d.book.above(l.line, c.Generation)
	return above+l.surges < older-aboveOthers
}

// above counts the pods of a line that stand above some limit by surge, and those
// of other generations among them.
func (b *Book) above(l *line, generation string) (all, others int) {
	seen := map[string]bool{}
	for _, a := range l.accounts {
		for _, e := range b.standing(a).surge {
			if e.key != l.key || seen[e.claim.UID] {
				continue
			}
			seen[e.claim.UID] = true
			all++
			if e.claim.Generation != generation {
				others++
			}
		}
	}
	return all, others
}

// put writes a decision down for the claims after it.
func (d *draft) put(l *draftLine, asks, more amounts, full []*account, g Grade) {
	for _, a := range asks {
		l.extra = l.extra.plus(a.set, a.n)
	}
	if d.accounts == nil {
		d.accounts = map[*account]*draftAccount{}
	}
	for _, a := range l.accounts {
		if d.accounts[a] == nil {
			d.accounts[a] = &draftAccount{whole: map[string]int64{}, kinds: map[string]int64{}}
		}
		d.accounts[a].add(l.key.party.Type, more)
	}
	if g != Surge {
		return
	}
	l.surges++
	for _, a := range full {
		d.accounts[a].surges++
	}
}

func (x *draftAccount) add(t api.WorkloadType, more amounts) {
	for _, m := range more {
		x.whole[m.set] += m.n
		x.kinds[string(t)+"/"+m.set] += m.n
	}
}

// of is what the draft holds in a part.
func (x *draftAccount) of(p *part, set string) int64 {
	if p.kind == "" {
		return x.whole[set]
	}
	return x.kinds[string(p.kind)+"/"+set]
}
