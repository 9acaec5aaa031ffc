// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// lending has a user's quota lend, after ten minutes.
func lending(q api.ResourceSetQuota) api.ResourceSetQuota {
	minRun := int32(600)
	q.Spec.Borrowing = &api.Borrowing{MinRunSeconds: &minRun}
	return q
}

// aged has pods run for some minutes.
func aged(minutes int, list ...Charged) []Charged {
	for i := range list {
		list[i].Claim.Since = noon.Add(-time.Duration(minutes) * time.Minute)
	}
	return list
}

// yields are the UIDs of who is asked to go, without "p-".
func yields(p Plan) string {
	var names []string
	for _, v := range p.Yield {
		names = append(names, v.Claim.Name)
	}
	return strings.Join(names, " ")
}

// fullNodes are a and b, of one GPU each: bob borrows all of a and half of b, of which
// carol has the other half within her quota.
func fullNodes() Snapshot {
	s := snapshot([]placement.Node{nodeOf("a", 1), nodeOf("b", 1)})
	s.Quotas = []api.ResourceSetQuota{lending(userQuota("speech", "bob", "small", 0))}
	s.Charged = slices.Concat(
		aged(60, open(quota.Borrowed, "a", pods("bob-a", "speech", "bob", "small", 0, 4)...)...),
		aged(30, open(quota.Borrowed, "b", pods("bob-b", "speech", "bob", "small", 0, 2)...)...),
		aged(90, open(quota.Within, "b", pods("carol", "speech", "carol", "small", 0, 2)...)...),
	)
	return s
}

func TestWhoYieldsRoom(t *testing.T) {
	gang := func(n int, set string) []Pending {
		list := pods("x", "vision", "alice", set, 1, n)
		for i := range list {
			list[i].Gang = n
		}
		return list
	}
	headroom := func(s *Snapshot) {
		list := operation("rs", pods("serve", "speech", "ops", "small", 0, 4)...)
		s.Floors = []quota.Floor{floorOf(list[0], 3)}
		s.Charged = slices.Concat(aged(60, open(quota.Headroom, "a", list...)...), s.Charged[4:])
	}
	for name, c := range map[string]struct {
		asks []Pending
		with func(*Snapshot)
		want string
	}{
		"the youngest": {asks: one(pod("x", "vision", "alice", "small", 1)), want: "bob-b-1"},
		"all on one node, which is not where the youngest are": {asks: one(pod("x", "vision", "alice", "large", 1)), want: "bob-a-3 bob-a-2 bob-a-1 bob-a-0"},
		"each pod of a workload for itself":                    {asks: pods("x", "vision", "alice", "small", 1, 3), want: "bob-b-1 bob-b-0 bob-a-3"},
		"a gang":                                               {asks: gang(6, "small"), want: "bob-b-1 bob-b-0 bob-a-3 bob-a-2 bob-a-1 bob-a-0"},
		"not all of a gang, so none":                           {asks: gang(7, "small")},
		"two large ones, of which one would have room":         {asks: gang(2, "large")},
		"what no node has":                                     {asks: one(pod("x", "vision", "alice", "huge", 1))},
		"for a borrower":                                       {asks: one(pod("x", "speech", "bob", "small", 1))},
		"too young":                                            {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) { aged(9, s.Charged[:6]...) }},
		"the young ones stay":                                  {asks: one(pod("x", "vision", "alice", "large", 1)), with: func(s *Snapshot) { aged(9, s.Charged[0:1]...) }},
		"headroom before what is borrowed, though older":       {asks: one(pod("x", "vision", "alice", "small", 1)), with: headroom, want: "serve-3"},
		"the minimum stays":                                    {asks: pods("x", "vision", "alice", "small", 1, 5), with: headroom, want: "serve-3 bob-b-1 bob-b-0"},
		"a minimum has others go": {asks: operation("rs", pods("x", "vision", "ops", "small", 1, 2)...), with: func(s *Snapshot) {
			s.Floors = []quota.Floor{floorOf(s.Pending[0], 1)}
		}, want: "bob-b-1"},
		"behind a head that has no room": {asks: slices.Concat(gang(7, "small"), one(pod("y", "vision", "dan", "small", 0)))},
		"a patient queue waits first": {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) {
			s.Queues = []api.PriorityQueue{queueOf("vision", api.FirstScheduling, 0, 600)}
		}},
		"another in place of one that may not go": {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) {
			s.Charged[5].Claim.Stays = true
		}, want: "bob-b-0"},
		"another replica in place of one that may not go": {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) {
			headroom(s)
			s.Charged[3].Claim.Stays = true
		}, want: "serve-2"},
		"what the node reports": {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) {
			for i, name := range []string{"bob-b-0", "bob-b-1"} {
				s.Nodes[1].Held[gpu.SliceID(fmt.Sprintf("small-0-%d", i))] = "speech/" + name
			}
		}, want: "bob-b-1"},
		"nobody on a node that takes no pods": {asks: one(pod("x", "vision", "alice", "small", 1)), with: func(s *Snapshot) {
			s.Nodes[1].Usable = false
		}, want: "bob-a-3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fullNodes()
			s.Pending = c.asks
			if c.with != nil {
				c.with(&s)
			}
			p := decide(t, s)
			requireOpened(t, p, "")
			if got := yields(p); got != c.want {
				t.Errorf("%q are asked to go, want %q", got, c.want)
			}
			for _, v := range p.Yield {
				if v.For.Name != "x" || !strings.Contains(v.Message, "which is within its quota") {
					t.Errorf("victim %+v", v)
				}
			}
		})
	}
}

// TestRoomIsFreedOnceAndForWhomItWasFreed follows a large pod from the shortage to its
// start. The victims' Job is older than the one that they go for, and makes them again
// at once.
func TestRoomIsFreedOnceAndForWhomItWasFreed(t *testing.T) {
	s := fullNodes()
	large := pod("x", "vision", "alice", "large", 1)
	s.Pending = one(large)
	p := decide(t, s)
	if len(p.Yield) != 4 || p.Wait[0].Reason != api.ReasonNoRoomOnNodes || !strings.Contains(p.Wait[0].Message, "4 pods that borrow") {
		t.Fatalf("yields %+v, waits %+v", p.Yield, p.Wait)
	}
	for i := range 4 {
		s.Charged[i].Leaving = true
		again := pod("bob-a", "speech", "bob", "small", 600)
		again.Claim.UID, again.Claim.Name = fmt.Sprintf("p-again-%d", i), fmt.Sprintf("again-%d", i)
		again.Ask.UID, again.Ask.Name = again.Claim.UID, again.Claim.Name
		s.Pending = append(s.Pending, again)
	}
	s.Queues = []api.PriorityQueue{queueOf("speech", api.FirstScheduling, 9, 600)}
	// They end one after the other, and while one is there nobody else goes or comes.
	for range 4 {
		p = decide(t, s)
		requireOpened(t, p, "")
		if len(p.Yield) > 0 {
			t.Fatalf("%s are asked to go too, with %d still ending", yields(p), len(s.Charged)-4)
		}
		s.Charged = s.Charged[1:]
	}
	p = decide(t, s)
	requireOpened(t, p, "x")
}

// A gang gets its room however many have to go for it, of nodes and of a quota.
func TestMoreGoForOneGangThanForAllOthers(t *testing.T) {
	const nodes = MaxYield/4 + 1
	var s Snapshot
	for i := range nodes {
		name := fmt.Sprintf("n%02d", i)
		s.Nodes = append(s.Nodes, nodeOf(name, 1))
		s.Charged = append(s.Charged, aged(60, open(quota.Borrowed, name, pods("bob-"+name, "speech", "bob", "small", 0, 4)...)...)...)
	}
	gang := pods("x", "vision", "alice", "large", 9, nodes)
	for i := range gang {
		gang[i].Gang = nodes
	}
	s.Now, s.Sizes, s.Pending = noon, sizes, slices.Concat(gang, one(pod("next", "vision", "carol", "small", 1)))
	s.Quotas = []api.ResourceSetQuota{lending(userQuota("speech", "bob", "small", 0))}
	if p := decide(t, s); len(p.Yield) != 4*nodes {
		t.Errorf("%d are asked to go for the room of %d", len(p.Yield), 4*nodes)
	}
	gpus := resource.MustParse(fmt.Sprint(nodes))
	whole := projectQuota("vision", "small", 999)
	whole.Spec.Limits.GPU = &gpus
	s.Quotas = []api.ResourceSetQuota{whole, lending(userQuota("vision", "bob", "small", 0))}
	for i := range s.Charged {
		s.Charged[i].Claim.Party.Project = "vision"
	}
	if p := decide(t, s); len(p.Yield) != 4*nodes {
		t.Errorf("%d are asked to go for the quota of %d", len(p.Yield), 4*nodes)
	}
}

func TestQuotaIsFreedForWhomItWasFreed(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 4)}, one(pod("x", "vision", "carol", "large", 1)))
	whole := projectQuota("vision", "small", 100)
	whole.Spec.Limits = api.QuotaLimits{}
	gpus := resource.MustParse("1")
	whole.Spec.Limits.GPU = &gpus
	s.Quotas = []api.ResourceSetQuota{whole, lending(userQuota("vision", "bob", "small", 0))}
	s.Charged = aged(60, open(quota.Borrowed, "a", pods("bob", "vision", "bob", "small", 0, 4)...)...)
	s.Queues = []api.PriorityQueue{queueOf("vision", api.FirstScheduling, 0, 600)}
	p := decide(t, s)
	if len(p.Yield) != 4 {
		t.Fatalf("yields %+v", p.Yield)
	}
	again := pods("bob", "vision", "bob", "small", 600, 1)
	again[0].Claim.UID, again[0].Ask.UID, again[0].Claim.Name = "p-again", "p-again", "again"
	s.Pending = append(s.Pending, again...)
	for i := range s.Charged {
		s.Charged[i].Leaving = true
	}
	for range 4 {
		p = decide(t, s)
		requireOpened(t, p, "")
		s.Charged = s.Charged[1:]
	}
	requireOpened(t, decide(t, s), "x")
}

func TestWhatIsLentComesAfterWhatIsWithin(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 1)},
		pods("borrows", "vision", "bob", "small", 90, 4), pods("within", "vision", "carol", "small", 1, 2))
	s.Quotas = []api.ResourceSetQuota{lending(userQuota("vision", "bob", "small", 1))}
	p := decide(t, s)
	requireOpened(t, p, "borrows-0 within-0 within-1 borrows-1")
	if p.Open[3].Grade != quota.Borrowed || waits(p)["borrows-2"] != api.ReasonNoRoomOnNodes {
		t.Errorf("%+v\n%+v", p.Open, p.Wait)
	}
	// While the first of those within has no room, nothing that is kept for it is lent.
	s.Pending = slices.Concat(pods("borrows", "vision", "bob", "small", 90, 4), one(pod("within", "vision", "carol", "large", 1)))
	p = decide(t, s)
	requireOpened(t, p, "borrows-0")
	requireWaits(t, p, map[string]string{"within": api.ReasonNoRoomOnNodes,
		"borrows-1": api.ReasonKeptForEarlier, "borrows-2": api.ReasonKeptForEarlier, "borrows-3": api.ReasonKeptForEarlier})
}

func TestNamesOfOtherNamespacesAreNotTold(t *testing.T) {
	s := fullNodes()
	s.Pending = one(pod("x", "vision", "alice", "small", 1))
	if m := decide(t, s).Yield[0].Message; !strings.Contains(m, "yields set small to a workload of project vision") {
		t.Errorf("message %q", m)
	}
	s.Pending = one(pod("x", "speech", "alice", "small", 1))
	if m := decide(t, s).Yield[0].Message; !strings.Contains(m, "yields set small to Job speech/x of project speech") {
		t.Errorf("message %q", m)
	}
}
