// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// victims writes them down: "s2 b1", or "no".
func victims(vs []Victim, ok bool) string {
	if !ok {
		return "no"
	}
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = v.Claim.UID
		if v.Reason == api.ReasonYieldedBorrowed {
			names[i] += "(borrowed)"
		}
	}
	return strings.Join(names, " ")
}

// A project of 8 with alice's Operation (minimum 1, three replicas) and bob's
// borrowed jobs, all full.
func fullProject(t *testing.T) *Book {
	t.Helper()
	b := bookOf(
		quotaOf("all", ofProject("vision"), sets("small", 8)),
		quotaOf("each", ofEachUser("vision"), sets("small", 3), lending(600)),
	)
	b.Reserve(floorOf(1, small(1)))
	charged(t, b,
		serve("s1", "r1", small(1)), serve("s2", "r1", small(1)).at(2), serve("s3", "r1", small(1)).at(1),
		pod("b1", "bob", small(3)), pod("b2", "bob", small(1)).at(3), pod("b3", "bob", small(1)).at(4))
	return b
}

func TestWhoYields(t *testing.T) {
	for name, c := range map[string]struct {
		asked   []Claim
		minutes int
		want    string
	}{
		"room already":                        {[]Claim{pod("x", "carol", large(1))}, 60, ""},
		"headroom first, the youngest":        {[]Claim{pod("x", "carol", small(1))}, 60, "s2"},
		"all headroom":                        {[]Claim{pod("x", "carol", small(2))}, 60, "s2 s3"},
		"then who borrows, the minimum stays": {[]Claim{pod("x", "carol", small(3))}, 60, "s2 s3 b3(borrowed)"},
		"more than a person's limit":          {[]Claim{pod("x", "carol", small(4))}, 60, "no"},
		"two people":                          {[]Claim{pod("x", "carol", small(3)), pod("y", "dan", small(1))}, 60, "s2 s3 b3(borrowed) b2(borrowed)"},
		"more than can yield":                 {[]Claim{pod("x", "carol", small(3)), pod("y", "dan", small(2))}, 60, "no"},
		"one borrows for too short a time":    {[]Claim{pod("x", "carol", small(3))}, 13, "s2 s3 b2(borrowed)"},
		"all do":                              {[]Claim{pod("x", "carol", small(3))}, 12, "no"},
		"nobody for a borrower":               {[]Claim{pod("x", "bob", small(1))}, 60, "no"},
		"nobody for headroom":                 {[]Claim{serve("s4", "r1", small(1))}, 60, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			b := fullProject(t)
			vs, ok := b.Yield(c.asked, noon.Add(time.Duration(c.minutes)*time.Minute))
			want(t, "victims", victims(vs, ok), c.want)
			for _, v := range vs {
				b.Release(v.Claim.UID)
			}
			if ok {
				if v := b.Check(c.asked); !v.OK() || v.Grades[0] != Within {
					t.Errorf("afterwards: %s", verdict(v))
				}
			}
		})
	}
}

func TestWhoMayNotGoIsNotAsked(t *testing.T) {
	b := fullProject(t)
	for _, c := range []Claim{serve("s2", "r1", small(1)).at(2), pod("b3", "bob", small(1)).at(4)} {
		c.Stays = true
		grade := Headroom
		if c.Party.User == "bob" {
			grade = Borrowed
		}
		b.Charge(c, grade)
	}
	vs, ok := b.Yield([]Claim{pod("x", "carol", small(3))}, noon.Add(time.Hour))
	want(t, "victims", victims(vs, ok), "s3 s1 b2(borrowed)")
	want(t, "who may go", yielders(b.Yielders(noon.Add(time.Hour))), "s3/1of2 s1/1of2 b2")
}

func TestAsFewAsCanBeYield(t *testing.T) {
	b := bookOf(quotaOf("all", ofProject("vision"), gpus("2")), quotaOf("each", ofEachUser("vision"), gpus("0.25"), lending(0)))
	b.Reserve(floorOf(0, small(1)))
	charged(t, b, serve("s1", "r1", small(1)), pod("b0", "bob", small(1)),
		pod("b1", "bob", large(1)), pod("b2", "bob", small(1)).at(1), pod("b3", "bob", small(1)).at(2))
	vs, ok := b.Yield([]Claim{pod("x", "project:vision", small(1)), pod("y", "carol", small(1)), pod("z", "dan", small(1))}, noon.Add(time.Hour))
	want(t, "one large instead of three small", victims(vs, ok), "b1(borrowed)")
	if vs[0].For != workloadOf("x") {
		t.Errorf("for %+v", vs[0].For)
	}
	want(t, "the sentence", vs[0].Message, "pod ml/b1 ran on quota that its project did not use, and gives its sets back: "+
		"Job ml/x of project vision needs them within its quota")
}

func workloadOf(uid string) Workload { return pod(uid, "", nil).Workload }

// What has come within a person's own limit does not yield.
func TestOnlyWhatStandsAboveYields(t *testing.T) {
	b := fullProject(t)
	b.Release("b1") // b2 and b3 fit bob's own limit now
	charged(t, b, pod("c", "carol", small(3)).at(5))
	vs, ok := b.Yield([]Claim{pod("x", "dan", small(3))}, noon.Add(time.Hour))
	want(t, "victims", victims(vs, ok), "no")
}

func TestWhoAsksIsSpared(t *testing.T) {
	b := bookOf(quotaOf("all", ofProject("vision"), gpus("1")), quotaOf("each", ofEachUser("vision"), sets("small", 1), lending(0)))
	charged(t, b, pod("z", "alice", small(1)), pod("a", "alice", small(2)))
	b.Charge(pod("y", "yan", small(1)), Within)
	for who, wanted := range map[string]string{"a": "no", "x": "a(borrowed)"} {
		c := pod("new", "alice", map[string]int64{"medium": 1})
		c.Workload = workloadOf(who)
		vs, ok := b.Yield([]Claim{c}, noon.Add(time.Hour))
		want(t, "for "+who, victims(vs, ok), wanted)
	}
}
