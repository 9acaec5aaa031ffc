// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"maps"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// Measure is what a limit counts.
type Measure string

// The measures.
const (
	Total    Measure = "total"
	PerClass Measure = "perStorageClass"
	Volumes  Measure = "volumes"
)

// limit is one of a quota, of which class where it is of one.
type limit struct {
	measure Measure
	class   string
	most    int64
}

func limitsOf(l api.StorageLimits) []limit {
	var out []limit
	if l.Total != nil {
		out = append(out, limit{Total, "", BytesOf(*l.Total)})
	}
	for _, class := range slices.Sorted(maps.Keys(l.PerStorageClass)) {
		out = append(out, limit{PerClass, class, BytesOf(l.PerStorageClass[class])})
	}
	if l.Volumes != nil {
		out = append(out, limit{Volumes, "", int64(*l.Volumes)})
	}
	return out
}

// account is a quota with what is charged to it.
type account struct {
	name   string
	scope  api.QuotaScope
	limits []limit
	whole  line
	users  map[string]*line
}

// binds reports whether what an owner claims is charged here. Claims of nobody known
// are no person's.
func (a *account) binds(o Owner) bool {
	if a.scope.EachUser && o.User == "" {
		return false
	}
	return (a.scope.Project == "" || a.scope.Project == o.Project) && (a.scope.User == "" || a.scope.User == o.User)
}

// limited is the line that the limits are for, and which candidates of a slot count
// in it.
func (a *account) limited(user string) (*line, func(candidate) bool) {
	if a.scope.EachUser {
		l := a.users[user]
		if l == nil {
			l = &line{}
		}
		return l, a.counts(user)
	}
	return &a.whole, func(c candidate) bool { return a.binds(c.claim.Owner) }
}

func (a *account) counts(user string) func(candidate) bool {
	return func(c candidate) bool { return a.binds(c.claim.Owner) && c.claim.Owner.User == user }
}

// post adds what a slot takes, or takes it away again.
func (a *account) post(s *slot, enter func(*sum, part)) {
	post := func(l *line, counts func(candidate) bool) {
		enter(&l.used, s.measure(func(c candidate) bool { return !c.reserved && counts(c) }))
		enter(&l.held, s.measure(counts))
	}
	post(&a.whole, func(c candidate) bool { return a.binds(c.claim.Owner) })
	var done []string
	for _, c := range s.candidates {
		user := c.claim.Owner.User
		if !a.binds(c.claim.Owner) || slices.Contains(done, user) {
			continue
		}
		done = append(done, user)
		if a.users[user] == nil {
			a.users[user] = &line{}
		}
		post(a.users[user], a.counts(user))
		if a.users[user].empty() {
			delete(a.users, user)
		}
	}
}
