// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Shortfall is one limit that is in the way.
type Shortfall struct {
	Quota string
	Scope api.QuotaScope
	// User whose limit it is; "" for a project's as a whole.
	User string
	// Type that the limit is for; "" for the whole.
	Type api.WorkloadType
	// Set that is short; "" for GPU-equivalents, and then the amounts are Units.
	Set string
	// Limit, what charged pods use of it, what is kept for minimums beyond that,
	// and what was asked for, all claims together.
	Limit, Used, Reserved, Asked int64
	// Asker is who asked.
	Asker Party
	// Refused is true where what was asked for does not wait: a guaranteed minimum.
	Refused bool
	// Holders are who uses it, the largest first, at most maxHolders: people where
	// the limit is a project's, workloads where it is a person's. HoldersLeft is
	// how many are not listed. The list is shared: it is not to be changed.
	Holders     []Holding
	HoldersLeft int
	// Next is when the first of all holders is due back; zero when none has to.
	Next time.Time
}

// Reason is the typed word for it.
func (s Shortfall) Reason() string {
	if s.Scope.User == "" && !s.Scope.EachUser {
		return api.ReasonProjectQuotaReached
	}
	return api.ReasonUserQuotaReached
}

// tab adds up what several claims ask of each limit.
type tab map[spot]*request

type spot struct {
	account *account
	place
}

type request struct {
	more, asked int64 // what it would add to the balance, and what was asked for
	asker       Party // the first
}

// add adds a claim of a party to all that it counts in.
func (t tab) add(a *account, asker Party, more, asked amounts) {
	for _, p := range a.parts(asker.Type) {
		if p == nil {
			continue
		}
		for _, x := range asked {
			s := spot{a, place{p.kind, x.set}}
			if t[s] == nil {
				t[s] = &request{asker: asker}
			}
			t[s].asked += x.n
			t[s].more += more.of(x.set)
		}
	}
}

// part finds the side of the account that the spot is on.
func (s spot) part() *part {
	if s.kind == "" {
		return s.account.whole
	}
	return s.account.kind(s.kind)
}

// balance finds that of the spot; it has one where it has a limit.
func (s spot) balance() balance { return *s.part().find(s.set) }

// shortfalls lists every limit without room for all the claims.
func (b *Book) shortfalls(claims []Claim) []Shortfall {
	t, _ := b.sum(claims)
	return b.lacking(t)
}

// sum adds the claims up, and says whether one is a replica of an Operation beyond
// its minimum.
func (b *Book) sum(claims []Claim) (t tab, headroom bool) {
	d, t := draft{book: b}, tab{}
	for _, c := range claims {
		l := d.line(key{c.Workload, c.Party})
		asks := b.sizes.amountsOf(c.Sets, 1)
		more := l.adds(asks, l.extra)
		headroom = headroom || l.headroom(more)
		for _, a := range asks {
			l.extra = l.extra.plus(a.set, a.n)
		}
		for _, a := range l.accounts {
			t.add(a, c.Party, more, asks)
		}
	}
	return t, headroom
}

// lacking turns what has no room into shortfalls, those of projects first.
func (b *Book) lacking(t tab) []Shortfall {
	short := t.lacking()
	out := make([]Shortfall, len(short))
	for i, s := range short {
		out[i] = b.shortfall(s, *t[s])
	}
	return out
}

// lacking lists the limits without room, those of projects first.
func (t tab) lacking() []spot {
	var short []spot
	for s, r := range t {
		if s.part().lacks(s.set, r.more) {
			short = append(short, s)
		}
	}
	slices.SortFunc(short, func(x, y spot) int {
		return cmp.Or(
			cmp.Compare(x.account.rule.level(), y.account.rule.level()),
			cmp.Compare(x.account.rule.name, y.account.rule.name),
			cmp.Compare(x.account.user, y.account.user),
			x.compare(y.place),
		)
	})
	return short
}

func (b *Book) shortfall(s spot, r request) Shortfall {
	rule, bal := s.account.rule, s.balance()
	h := s.account.holders(s.place)
	return Shortfall{
		Quota: rule.name, Scope: rule.scope, User: s.account.user,
		Type: s.kind, Set: s.set,
		Limit: bal.limit, Used: bal.used, Reserved: bal.held - bal.used, Asked: r.asked,
		Asker:   r.asker,
		Holders: h.list, HoldersLeft: h.left, Next: bal.next,
	}
}
