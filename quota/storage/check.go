// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// Shortfall is one limit that has no room for what is asked.
type Shortfall struct {
	Quota string
	Scope api.QuotaScope
	// Asker is who would be charged, and whose line it is where each user has one.
	Asker Owner
	// Measure is what the limit counts, Class of which StorageClass.
	Measure Measure
	Class   string
	// Limit, Used by claims that exist, Reserved by those just admitted, Asked beyond:
	// bytes, or claims.
	Limit, Used, Reserved, Asked int64
	// Holders are who takes most: users, or the user's claims where the limit is of
	// one person. The most first; Others is how many more there are.
	Holders []Holding
	Others  int
}

// Holding is what one user, or one claim of a user's, takes of a limit.
type Holding struct {
	User string
	// Claim is NAMESPACE/NAME, and Project what it is charged to; empty for all of the
	// user's.
	Claim, Project string
	// Amount in bytes, or claims.
	Amount int64
}

// maxHolders is how many a shortfall names.
const maxHolders = 3

// Reason is the typed word for the level that is in the way.
func (s Shortfall) Reason() string {
	if s.personal() {
		return api.ReasonUserQuotaReached
	}
	return api.ReasonProjectQuotaReached
}

func (s Shortfall) personal() bool { return s.Scope.User != "" || s.Scope.EachUser }

// Check says what is in the way of a claim, or of a claim's change, under the key of
// its reservation; nothing where it fits. It needs room only where it adds something.
// Nothing is changed.
func (b *Book) Check(key string, c Claim) []Shortfall {
	var out []Shortfall
	before := b.slots[c.slotID()]
	after := before.with(candidate{key: key, claim: c, reserved: true})
	for _, a := range b.accountsOf(c.Owner) {
		l, counts := a.limited(c.Owner.User)
		was, will := before.measure(counts), after.measure(counts)
		for _, m := range a.limits {
			more := will.in(m.measure, m.class) - was.in(m.measure, m.class)
			held := l.held.of(m.measure, m.class)
			if more > 0 && held.plus(more).above(m.most) {
				out = append(out, b.shortfall(a, l, m, c.Owner, more))
			}
		}
	}
	return out
}

func (b *Book) shortfall(a *account, l *line, m limit, asker Owner, more int64) Shortfall {
	s := Shortfall{
		Quota: a.name, Scope: a.scope, Asker: asker, Measure: m.measure, Class: m.class,
		Limit: m.most, Used: l.used.of(m.measure, m.class).int64(), Asked: more,
	}
	s.Reserved = l.held.of(m.measure, m.class).int64() - s.Used
	var all []Holding
	switch {
	case !s.personal():
		for user, l := range a.users {
			all = append(all, Holding{User: user, Amount: l.held.of(m.measure, m.class).int64()})
		}
	case m.measure != Volumes:
		counts := a.counts(asker.User)
		for id, slot := range b.slots {
			all = append(all, Holding{
				User: asker.User, Claim: id, Project: slot.project(counts), Amount: slot.measure(counts).in(m.measure, m.class),
			})
		}
	}
	all = slices.DeleteFunc(all, func(h Holding) bool { return h.Amount == 0 })
	slices.SortFunc(all, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.User, b.User), cmp.Compare(a.Claim, b.Claim))
	})
	s.Holders = all[:min(len(all), maxHolders)]
	s.Others = len(all) - len(s.Holders)
	return s
}

// Sees returns whose names people of a namespace may read: they can read its claims,
// and with them who has claims there.
func (b *Book) Sees(namespace, own string) func(user string) bool {
	known := map[string]bool{own: true}
	for _, s := range b.slots {
		for _, c := range s.candidates {
			if !c.reserved && c.claim.Namespace == namespace {
				known[c.claim.Owner.User] = true
			}
		}
	}
	return func(user string) bool { return known[user] }
}
