// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Defaults for what a quota leaves out; the API server fills in the same.
const (
	defaultSurgePods = 1
	defaultMinRun    = 600 * time.Second
)

// limits are the most of each dimension; one that is missing has no limit.
type limits map[string]int64

// rule is one quota, read once.
type rule struct {
	name      string
	scope     api.QuotaScope
	whole     limits
	byType    map[api.WorkloadType]limits
	surgePods int64
	borrowing bool
	minRun    time.Duration // of a borrowing pod, before it may have to yield
}

// who is a person in a project: what decides which quotas bind.
type who struct{ project, user string }

// rules finds the quotas that bind somebody. It never changes once made.
type rules struct {
	all     []*rule
	byName  map[string]*rule
	project map[string][]*rule // of a project as a whole
	each    map[string][]*rule // of each person of a project
	person  map[string][]*rule // of a person everywhere
	pair    map[who][]*rule    // of a person in a project
}

func newRules(quotas []api.ResourceSetQuota) *rules {
	rs := &rules{
		byName:  map[string]*rule{},
		project: map[string][]*rule{},
		each:    map[string][]*rule{},
		person:  map[string][]*rule{},
		pair:    map[who][]*rule{},
	}
	for i := range quotas {
		rs.all = append(rs.all, newRule(&quotas[i]))
	}
	// By name, so that nothing depends on the order in which they were listed.
	slices.SortStableFunc(rs.all, func(a, b *rule) int { return cmp.Compare(a.name, b.name) })
	for _, r := range rs.all {
		rs.byName[r.name] = r
		s := r.scope
		switch {
		case s.Project != "" && s.User != "": // eachUser beside a user is refused by the API
			k := who{s.Project, s.User}
			rs.pair[k] = append(rs.pair[k], r)
		case s.User != "":
			rs.person[s.User] = append(rs.person[s.User], r)
		case s.Project != "" && s.EachUser:
			rs.each[s.Project] = append(rs.each[s.Project], r)
		case s.Project != "":
			rs.project[s.Project] = append(rs.project[s.Project], r)
		}
	}
	return rs
}

// binding lists the quotas that bind somebody, those of the project as a whole
// first.
func (rs *rules) binding(w who) []*rule {
	return slices.Concat(rs.project[w.project], rs.each[w.project], rs.pair[w], rs.person[w.user])
}

func newRule(q *api.ResourceSetQuota) *rule {
	r := &rule{
		name:      q.Name,
		scope:     q.Spec.Scope,
		whole:     newLimits(q.Spec.Limits.SetLimits),
		surgePods: defaultSurgePods,
	}
	if n := q.Spec.SurgePods; n != nil {
		r.surgePods = int64(*n)
	}
	for t, l := range q.Spec.Limits.ByType {
		if r.byType == nil {
			r.byType = map[api.WorkloadType]limits{}
		}
		r.byType[t] = newLimits(l)
	}
	// What is borrowed is the project's, so that only a person in a project borrows.
	if b := q.Spec.Borrowing; b != nil && r.scope.Project != "" && r.personal() {
		r.borrowing, r.minRun = true, defaultMinRun
		if b.MinRunSeconds != nil {
			r.minRun = time.Duration(*b.MinRunSeconds) * time.Second
		}
	}
	return r
}

func newLimits(l api.SetLimits) limits {
	out := make(limits, len(l.Sets)+1)
	for set, n := range l.Sets {
		if set != units {
			out[set] = max(0, int64(n))
		}
	}
	if l.GPU != nil {
		u, _ := ParseUnits(*l.GPU) // rounded down: never more than was written
		out[units] = int64(u)
	}
	return out
}

// personal says whether the quota is one person's, or each one's.
func (r *rule) personal() bool { return r.scope.User != "" || r.scope.EachUser }

// level sorts the quotas of a project as a whole before those of a person in it,
// and these before those of a person everywhere.
func (r *rule) level() int {
	switch {
	case !r.personal():
		return 0
	case r.scope.Project != "":
		return 1
	}
	return 2
}
