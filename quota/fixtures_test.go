// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// noon is when the tests play.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// sizes of the sets in the tests: a quarter, a half, a whole, a seventh and none.
var sizes = Sizes{"small": 6300, "medium": 12600, "large": 25200, "mig": 3600, "cpu": 0}

// limit is a change to a quota under construction.
type limit func(*api.ResourceSetQuotaSpec)

func sets(name string, n int32) limit {
	return func(s *api.ResourceSetQuotaSpec) {
		if s.Limits.Sets == nil {
			s.Limits.Sets = map[string]int32{}
		}
		s.Limits.Sets[name] = n
	}
}

func gpus(q string) limit {
	return func(s *api.ResourceSetQuotaSpec) { v := resource.MustParse(q); s.Limits.GPU = &v }
}

// only makes limits that are for one type.
func only(t api.WorkloadType, ls ...limit) limit {
	return func(s *api.ResourceSetQuotaSpec) {
		inner := api.ResourceSetQuotaSpec{}
		for _, l := range ls {
			l(&inner)
		}
		if s.Limits.ByType == nil {
			s.Limits.ByType = map[api.WorkloadType]api.SetLimits{}
		}
		s.Limits.ByType[t] = inner.Limits.SetLimits
	}
}

func surges(n int32) limit { return func(s *api.ResourceSetQuotaSpec) { s.SurgePods = &n } }

func lending(minRunSeconds int32) limit {
	return func(s *api.ResourceSetQuotaSpec) { s.Borrowing = &api.Borrowing{MinRunSeconds: &minRunSeconds} }
}

func quotaOf(name string, scope api.QuotaScope, ls ...limit) api.ResourceSetQuota {
	q := api.ResourceSetQuota{}
	q.Name, q.Spec.Scope = name, scope
	for _, l := range ls {
		l(&q.Spec)
	}
	return q
}

// The scopes.
func ofProject(p string) api.QuotaScope  { return api.QuotaScope{Project: p} }
func ofUser(u string) api.QuotaScope     { return api.QuotaScope{User: u} }
func ofPair(p, u string) api.QuotaScope  { return api.QuotaScope{Project: p, User: u} }
func ofEachUser(p string) api.QuotaScope { return api.QuotaScope{Project: p, EachUser: true} }

func bookOf(qs ...api.ResourceSetQuota) *Book { return NewBook(qs, sizes) }

// pod is one pod of a workload of its own, of type Job in project vision.
func pod(uid, user string, asks map[string]int64) Claim {
	return Claim{
		UID: uid, Namespace: "ml", Name: uid,
		Workload: Workload{Group: "batch", Kind: "Job", Namespace: "ml", Name: uid, UID: "w-" + uid},
		Party:    Party{Project: "vision", User: user, Type: api.TypeJob},
		Sets:     asks, Since: noon,
	}
}

func (c Claim) as(t api.WorkloadType) Claim { c.Party.Type = t; return c }
func (c Claim) in(project string) Claim     { c.Party.Project = project; return c }
func (c Claim) at(minutes int) Claim {
	c.Since = noon.Add(time.Duration(minutes) * time.Minute)
	return c
}
func (c Claim) due(minutes int) Claim {
	c.DueBack = noon.Add(time.Duration(minutes) * time.Minute)
	return c
}
func (c Claim) of(kind, name string) Claim   { c.Workload = workload(kind, name); return c }
func (c Claim) generation(name string) Claim { c.Generation = name; return c }
func (c Claim) named(uid string) Claim       { c.UID, c.Name = uid, uid; return c }
func workload(kind, name string) Workload {
	return Workload{Kind: kind, Namespace: "ml", Name: name, UID: "w-" + name}
}

// serve is a pod of Operation "serve" of alice.
func serve(uid, generation string, asks map[string]int64) Claim {
	return pod(uid, "alice", asks).as(api.TypeOperation).of("Deployment", "serve").generation(generation)
}

func floorOf(replicas int64, asks map[string]int64) Floor {
	c := serve("", "", asks)
	return Floor{Workload: c.Workload, Party: c.Party, Sets: asks, MinReplicas: replicas}
}

func small(n int64) map[string]int64 { return map[string]int64{"small": n} }
func large(n int64) map[string]int64 { return map[string]int64{"large": n} }

// charged charges pods as they would be opened, and fails if one does not fit.
func charged(t *testing.T, b *Book, cs ...Claim) {
	t.Helper()
	for _, c := range cs {
		v := b.Check([]Claim{c})
		if !v.OK() {
			t.Fatalf("pod %s does not fit: %s", c.UID, sentences(v))
		}
		b.Charge(c, v.Grades[0])
	}
}

// verdict writes an answer down: the grades, or who is in the way.
func verdict(v Verdict) string {
	if v.OK() {
		return fmt.Sprint(v.Grades)
	}
	out := ""
	for _, s := range v.Shortfalls {
		out += fmt.Sprintf("%s/%s/%s/%s %d+%d+%d>%d; ", s.Quota, s.User, s.Type, s.Set, s.Used, s.Reserved, s.Asked, s.Limit)
	}
	return out
}

func sentences(v Verdict) string {
	out := ""
	for _, s := range v.Shortfalls {
		out += s.Sentence(nil, noon) + "\n"
	}
	return out
}

func want(t *testing.T, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s:\n got  %s\n want %s", what, got, wanted)
	}
}
