// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestRollOutsGoOnAtAFullQuota(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 3)))
	charged(t, b, pod("j", "bob", small(1)), serve("a1", "r1", small(1)), serve("a2", "r1", small(1)))

	want(t, "no other generation", verdict(b.Check([]Claim{serve("x", "r1", small(1))})), "q///small 3+0+1>3; ")
	want(t, "another workload", verdict(b.Check([]Claim{pod("x", "alice", small(1)).generation("r2")})), "q///small 3+0+1>3; ")
	next := serve("b1", "r2", small(1)).at(1)
	want(t, "the first of the new ones", verdict(b.Check([]Claim{next})), "[Surge]")
	want(t, "two at once, one allowed", verdict(b.Check([]Claim{next, serve("b2", "r2", small(1))})), "q///small 3+0+2>3; ")
	b.Charge(next, Surge)
	want(t, "the second while the first stands above", verdict(b.Check([]Claim{serve("b2", "r2", small(1)).at(2)})), "q///small 4+0+1>3; ")
	if s := b.Status("q"); s.Surge.Pods != 1 || s.Surge.Sets["small"] != 1 || len(b.Over("q")) != 0 {
		t.Errorf("surge %+v, over %+v", s.Surge, b.Over("q"))
	}

	b.Release("a1") // what it replaces has ended: it is within
	if s := b.Status("q"); s.Surge.Pods != 0 {
		t.Errorf("with room, %d pods stand above", s.Surge.Pods)
	}
	last := serve("b2", "r2", small(1)).at(3)
	want(t, "the second now", verdict(b.Check([]Claim{last})), "[Surge]")
	b.Charge(last, Surge)
	b.Release("a2")
	want(t, "no old ones left", verdict(b.Check([]Claim{serve("b3", "r2", small(1)).at(4)})), "q///small 3+0+1>3; ")
}

func TestSurgeComesWithinAsSoonAsThereIsRoom(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 3)))
	charged(t, b, pod("j", "bob", small(1)), serve("a1", "r1", small(1)), serve("a2", "r1", small(1)), serve("b1", "r2", small(1)).at(1))
	b.Release("j") // somebody else made room
	if s := b.Status("q"); s.Surge.Pods != 0 {
		t.Errorf("with room, %d pods stand above", s.Surge.Pods)
	}
	want(t, "the room is taken", verdict(b.Check([]Claim{pod("x", "bob", small(1)).at(2)})), "q///small 3+0+1>3; ")
	want(t, "its old pods count again", verdict(b.Check([]Claim{serve("b2", "r2", small(1)).at(2)})), "[Surge]")
}

func TestSurgeNeedsLeaveOfEveryQuotaExceeded(t *testing.T) {
	b := bookOf(
		quotaOf("project", ofProject("vision"), sets("small", 2), surges(2)),
		quotaOf("user", ofUser("alice"), sets("small", 2), surges(0)),
	)
	charged(t, b, serve("a1", "r1", small(1)), serve("a2", "r1", small(1)))
	want(t, "one allows none", verdict(b.Check([]Claim{serve("b1", "r2", small(1))})),
		"project///small 2+0+1>2; user/alice//small 2+0+1>2; ")

	b = bookOf(quotaOf("project", ofProject("vision"), sets("small", 2), surges(9)), quotaOf("user", ofUser("alice"), sets("small", 9)))
	charged(t, b, serve("a1", "r1", small(1)), serve("a2", "r1", small(1)))
	c := []Claim{serve("b1", "r2", small(1)), serve("b2", "r2", small(1))}
	want(t, "as many as old ones", verdict(b.Check(c)), "[Surge Surge]")
	want(t, "more than old ones", verdict(b.Check(append(c, serve("b3", "r2", small(1))))), "project///small 2+0+3>2; ")
	charged(t, b, c...)
	want(t, "a third generation does not replace pods twice", verdict(b.Check([]Claim{serve("c1", "r3", small(1)).at(1)})),
		"project///small 4+0+1>2; ")
}

// A roll-out to larger sets is no way past a limit: what is replaced covers what
// replaces it, in every set and in units.
func TestAReplacementAsksForNoMoreThanWhatItReplaces(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), gpus("1")), quotaOf("none", ofEachUser("vision"), sets("large", 0)))
	charged(t, b, serve("a1", "r1", small(4)), serve("x1", "s1", map[string]int64{"cpu": 1}))
	want(t, "as much", verdict(b.Check([]Claim{serve("b1", "r2", small(4))})), "[Surge]")
	want(t, "less", verdict(b.Check([]Claim{serve("b1", "r2", small(3))})), "[Surge]")
	for name, c := range map[string]Claim{
		"more":        serve("b1", "r2", small(5)),
		"another set": serve("b1", "r2", map[string]int64{"medium": 1}),
		"larger":      serve("b1", "r2", large(2)),
	} {
		if v := b.Check([]Claim{c}); v.OK() {
			t.Errorf("%s: %v, want it refused", name, v.Grades)
		}
	}
}

func TestJobsBorrowWhatTheProjectHasLeft(t *testing.T) {
	b := bookOf(
		quotaOf("all", ofProject("vision"), sets("small", 4)),
		quotaOf("each", ofEachUser("vision"), sets("small", 2), lending(600)),
	)
	charged(t, b, pod("a1", "alice", small(2)))
	want(t, "a job", verdict(b.Check([]Claim{pod("x", "alice", small(2))})), "[Borrowed]")
	want(t, "a job beyond the project", verdict(b.Check([]Claim{pod("x", "alice", small(3))})), "all///small 2+0+3>4; each/alice//small 2+0+3>2; ")
	want(t, "a gang beyond the project", verdict(b.Check([]Claim{pod("x", "alice", small(2)), pod("y", "alice", small(1))})),
		"all///small 2+0+3>4; each/alice//small 2+0+3>2; ")
	for _, kind := range []api.WorkloadType{api.TypeWorkspace, api.TypeOperation} {
		want(t, string(kind), verdict(b.Check([]Claim{pod("x", "alice", small(1)).as(kind)})), "each/alice//small 2+0+1>2; ")
	}
	charged(t, b, pod("a2", "alice", small(1)).at(1))
	if s := b.Status("each"); s.Borrowed.Pods != 1 || s.Borrowed.Sets["small"] != 1 || len(b.Over("each")) != 0 {
		t.Errorf("borrowed %+v, over %+v", s.Borrowed, b.Over("each"))
	}
	if s := b.Status("all"); s.Borrowed.Pods != 0 || s.Used.Sets["small"] != 3 {
		t.Errorf("of the project: borrowed %+v, used %+v", s.Borrowed, s.Used)
	}
	b.Release("a1")
	if s := b.Status("each"); s.Borrowed.Pods != 0 {
		t.Errorf("with room, %d pods borrow", s.Borrowed.Pods)
	}
}

func TestNobodyBorrowsElsewhere(t *testing.T) {
	for name, qs := range map[string][]api.ResourceSetQuota{
		"without leave":            {quotaOf("q", ofEachUser("vision"), sets("small", 1))},
		"of a project":             {quotaOf("q", ofProject("vision"), sets("small", 1), lending(0))},
		"of a person everywhere":   {quotaOf("q", ofUser("alice"), sets("small", 1), lending(0))},
		"where another says no":    {quotaOf("p", ofPair("vision", "alice"), sets("small", 1), lending(0)), quotaOf("q", ofEachUser("vision"), sets("small", 1))},
		"where the person is full": {quotaOf("p", ofPair("vision", "alice"), sets("small", 1), lending(0)), quotaOf("q", ofUser("alice"), sets("small", 1))},
	} {
		t.Run(name, func(t *testing.T) {
			b := bookOf(qs...)
			charged(t, b, pod("a", "alice", small(1)))
			if v := b.Check([]Claim{pod("x", "alice", small(1))}); v.OK() {
				t.Errorf("granted: %s", verdict(v))
			}
		})
	}
}

// A pod that was opened above a limit is not counted as such for a quota that does
// not allow it: it is plainly over.
func TestMarksExcuseOnlyWhereAllowed(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 1)), quotaOf("each", ofEachUser("vision"), sets("small", 1)))
	b.Charge(pod("a", "alice", small(3)), Borrowed)
	for _, name := range []string{"q", "each"} {
		if over := b.Over(name); len(over) != 1 || over[0].Excess != 2 {
			t.Errorf("over %s: %+v, want 2 above", name, over)
		}
	}
}

// What stands above is explained by pods of the type that the limit is for.
func TestMarksExcuseOnlyTheirType(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), only(api.TypeJob, sets("small", 1))))
	b.Charge(pod("j", "bob", small(2)), Within)
	b.Charge(serve("s", "r2", small(1)), Surge)
	if over := b.Over("q"); len(over) != 1 || over[0].Excess != 1 || over[0].Type != api.TypeJob {
		t.Errorf("over %+v, want 1 of Jobs", over)
	}
}

func TestNoMinimumRestsOnPodsAboveALimit(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 1)))
	charged(t, b, serve("a1", "r1", small(1)), serve("b1", "r2", small(1)).at(1))
	want(t, "what is within", verdict(b.CheckFloor(floorOf(1, small(1)))), "[]")
	want(t, "what stands above", verdict(b.CheckFloor(floorOf(2, small(1)))), "q///small 2+0+1>1; ")
}
