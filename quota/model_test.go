// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// model is what a book is about, kept as lists and counted anew each time. It
// shares no code with the book but the plain types.
type model struct {
	quotas []api.ResourceSetQuota
	pods   map[string]modelPod
	floors map[Workload]Floor
}

type modelPod struct {
	Claim
	grade Grade
}

// scale is one limit: of a quota, for a person, of a type, of a set ("" in units).
type scale struct {
	quota  int
	person string
	kind   api.WorkloadType
	set    string
}

func newModel(quotas []api.ResourceSetQuota) *model {
	return &model{quotas: quotas, pods: map[string]modelPod{}, floors: map[Workload]Floor{}}
}

func (m *model) clone() *model {
	return &model{quotas: m.quotas, pods: maps.Clone(m.pods), floors: maps.Clone(m.floors)}
}

// binds says whether a quota binds a party, and as whose.
func binds(s api.QuotaScope, p Party) (person string, ok bool) {
	switch {
	case s.Project == "" && s.User == "", s.Project != "" && s.Project != p.Project, s.User != "" && s.User != p.User:
		return "", false
	case s.EachUser:
		return p.User, true
	}
	return "", true
}

func amountIn(asks map[string]int64, set string) int64 {
	if set != "" {
		return asks[set]
	}
	n := int64(0)
	for name, count := range asks {
		n += count * int64(sizes[name])
	}
	return n
}

// limit of a scale, if it has one.
func (m *model) limit(s scale) (int64, bool) {
	l := m.quotas[s.quota].Spec.Limits.SetLimits
	if s.kind != "" {
		l = m.quotas[s.quota].Spec.Limits.ByType[s.kind]
	}
	if s.set == "" {
		if l.GPU == nil {
			return 0, false
		}
		return l.GPU.MilliValue() * 252 / 10, true
	}
	n, ok := l.Sets[s.set]
	return int64(n), ok
}

// on lists the scales that bind a party and have a limit.
func (m *model) on(p Party) []scale {
	var out []scale
	for i, q := range m.quotas {
		person, ok := binds(q.Spec.Scope, p)
		if !ok {
			continue
		}
		for _, kind := range []api.WorkloadType{"", p.Type} {
			for _, set := range []string{"", "small", "large", "mig"} {
				s := scale{i, person, kind, set}
				if _, limited := m.limit(s); limited {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// held counts a scale: of each workload the larger of its pods and its minimum.
func (m *model) held(s scale) (used, held int64) {
	type owner struct {
		Workload
		Party
	}
	pods, floors := map[owner]int64{}, map[owner]int64{}
	in := func(p Party) bool {
		person, ok := binds(m.quotas[s.quota].Spec.Scope, p)
		return ok && person == s.person && (s.kind == "" || s.kind == p.Type)
	}
	for _, p := range m.pods {
		if in(p.Party) {
			pods[owner{p.Workload, p.Party}] += amountIn(p.Sets, s.set)
		}
	}
	for _, f := range m.floors {
		if in(f.Party) {
			floors[owner{f.Workload, f.Party}] = amountIn(f.Sets, s.set) * f.MinReplicas
		}
	}
	for o, n := range pods {
		used += n
		held += max(n, floors[o])
		delete(floors, o)
	}
	for _, n := range floors {
		held += n
	}
	return used, held
}

// fits says whether claims could be added within every limit: what adds nothing to
// a scale needs no room there.
func (m *model) fits(claims []Claim) bool {
	after := m.clone()
	for _, c := range claims {
		after.pods["asked "+c.UID] = modelPod{Claim: c}
	}
	for _, c := range claims {
		for _, s := range m.on(c.Party) {
			limit, _ := m.limit(s)
			_, before := m.held(s)
			if _, then := after.held(s); then > before && then > limit {
				return false
			}
		}
	}
	return true
}

// excused is the most that may stand above a scale's limit: the largest pods
// opened by surge, as many as the quota allows, and what borrows from it.
func (m *model) excused(s scale) int64 {
	q := m.quotas[s.quota].Spec
	var surge []int64
	borrowed := int64(0)
	for _, p := range m.pods {
		person, ok := binds(q.Scope, p.Party)
		if !ok || person != s.person || s.kind != "" && s.kind != p.Party.Type {
			continue
		}
		switch n := amountIn(p.Sets, s.set); {
		case p.grade == Surge:
			surge = append(surge, n)
		case p.grade == Borrowed && q.Borrowing != nil && p.Party.Type == api.TypeJob:
			borrowed += n
		}
	}
	slices.SortFunc(surge, func(a, b int64) int { return cmp.Compare(b, a) })
	pods := 1
	if q.SurgePods != nil {
		pods = int(*q.SurgePods)
	}
	sum := borrowed
	for _, n := range surge[:min(pods, len(surge))] {
		sum += n
	}
	return sum
}

// holds checks every limit of everybody who has something.
func (m *model) holds(t *testing.T) {
	t.Helper()
	parties := map[Party]bool{}
	for _, p := range m.pods {
		parties[p.Party] = true
	}
	for _, f := range m.floors {
		parties[f.Party] = true
	}
	for p := range parties {
		for _, s := range m.on(p) {
			limit, _ := m.limit(s)
			if _, held := m.held(s); held > limit+m.excused(s) {
				t.Fatalf("quota %s, person %q, type %q, set %q: %d held, limit %d, %d excused",
					m.quotas[s.quota].Name, s.person, s.kind, s.set, held, limit, m.excused(s))
			}
		}
	}
}

// book makes a book anew, in some order.
func (m *model) book() *Book {
	quotas := slices.Clone(m.quotas)
	slices.Reverse(quotas)
	b := NewBook(quotas, sizes)
	for _, p := range m.pods {
		b.Charge(p.Claim, p.grade)
	}
	for _, f := range m.floors {
		b.Reserve(f)
	}
	return b
}
