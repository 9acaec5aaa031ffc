// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestSentences(t *testing.T) {
	ws := api.TypeWorkspace
	full := []Claim{pod("train", "alice", small(5)).due(30), pod("eval", "bob", small(3)).due(-10 * 24 * 60)}
	future := []Claim{pod("train", "alice", small(5)).due(30), pod("eval", "bob", small(3))}
	sight := func(names ...string) func(string) bool {
		return func(u string) bool {
			for _, n := range names {
				if n == u {
					return true
				}
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		quota api.ResourceSetQuota
		held  []Claim
		floor *Floor
		asked Claim
		sees  func(string) bool
		want  string
	}{
		"a project": {
			quotaOf("vision", ofProject("vision"), sets("small", 8)), future, nil, pod("x", "alice", small(1)), nil,
			"project vision has 8 of 8 sets small in use (quota vision): alice 5, bob 3; " +
				"the next is due back at 12:30 UTC (in 25 minutes). Wait, or end one of yours.",
		},
		"who holds nothing": {
			quotaOf("vision", ofProject("vision"), sets("small", 8)), future, nil, pod("x", "carol", small(1)), nil,
			"project vision has 8 of 8 sets small in use (quota vision): alice 5, bob 3; " +
				"the next is due back at 12:30 UTC (in 25 minutes). Wait, or ask one of them.",
		},
		"a workspace is refused": {
			quotaOf("vision", ofProject("vision"), sets("small", 8)), future, nil, pod("x", "alice", small(1)).as(ws), nil,
			"project vision has 8 of 8 sets small in use (quota vision): alice 5, bob 3; " +
				"the next is due back at 12:30 UTC (in 25 minutes). Try again then, or end one of yours.",
		},
		"overdue, on another day": {
			quotaOf("vision", ofProject("vision"), sets("small", 8)), full, nil, pod("x", "alice", small(1)).as(ws), nil,
			"project vision has 8 of 8 sets small in use (quota vision): alice 5, bob 3; " +
				"the next was due back at 12:00 UTC on 20 November (10 days ago). Try again later, or end one of yours.",
		},
		"hidden names": {
			quotaOf("vision", ofProject("vision"), sets("small", 9)),
			append([]Claim{pod("y", "carol", small(1))}, future...), nil, pod("x", "bob", small(1)), sight("bob"),
			"project vision has 9 of 9 sets small in use (quota vision): bob 3, 2 others 6; " +
				"the next is due back at 12:30 UTC (in 25 minutes). Wait, or end one of yours.",
		},
		"all hidden": {
			quotaOf("vision", ofProject("vision"), sets("small", 5)), future[:1], nil, pod("x", "bob", small(1)), sight("bob"),
			"project vision has 5 of 5 sets small in use (quota vision): 1 other 5; " +
				"the next is due back at 12:30 UTC (in 25 minutes). Wait.",
		},
		"a person in a project": {
			quotaOf("each", ofEachUser("vision"), sets("small", 2)),
			[]Claim{pod("train", "alice", small(1)), pod("b", "bob", small(2)), pod("p1", "alice", small(1)).of("Notebook", "lab").as(ws)},
			nil, pod("x", "alice", small(1)), sight("alice"),
			"alice has 2 of 2 sets small in use in project vision (quota each): Job ml/train 1, Notebook ml/lab 1. Wait, or end one of yours.",
		},
		"a person everywhere, some room": {
			quotaOf("alice", ofUser("alice"), gpus("1.5")), []Claim{pod("train", "alice", large(1)).in("audio")}, nil,
			pod("x", "alice", map[string]int64{"medium": 2}), nil,
			"alice has 1 of 1.5 GPUs in use (quota alice): 1 in another project; 1 more is asked for. Wait, or end one of yours.",
		},
		"a person's workloads in several projects": {
			quotaOf("alice", ofUser("alice"), sets("small", 7)),
			[]Claim{pod("train", "alice", small(1)), pod("secret", "alice", small(4)).in("audio"), pod("hidden", "alice", small(2)).in("text")}, nil,
			pod("x", "alice", small(1)), nil,
			"alice has 7 of 7 sets small in use (quota alice): Job ml/train 1, 6 in other projects. Wait, or end one of yours.",
		},
		"a person whom the reader does not know": {
			quotaOf("each", ofEachUser("vision"), sets("small", 2)), []Claim{pod("train", "alice", small(2))}, nil,
			pod("x", "alice", small(1)), sight("bob"),
			"a person has 2 of 2 sets small in use in project vision (quota each). Wait, or end one of yours.",
		},
		"the project itself": {
			quotaOf("each", ofEachUser("vision"), sets("small", 1)), []Claim{pod("train", "project:vision", small(1))}, nil,
			pod("x", "project:vision", small(1)), nil,
			"project vision itself has 1 of 1 set small in use in project vision (quota each): Job ml/train 1. Wait, or end it.",
		},
		"by type": {
			quotaOf("vision", ofProject("vision"), only(ws, sets("small", 3))), []Claim{pod("a", "bob", small(2)).as(ws)}, nil,
			pod("x", "alice", small(2)).as(ws), nil,
			"project vision has 2 of 3 sets small in use by Workspaces (quota vision): bob 2; 2 more are asked for. " +
				"Try again later, or ask bob.",
		},
		"kept for minimums": {
			quotaOf("vision", ofProject("vision"), sets("small", 4)), []Claim{pod("a", "bob", small(2))}, ptr(floorOf(2, small(1))),
			pod("x", "bob", small(1)), nil,
			"project vision has 2 of 4 sets small in use and 2 kept for minimums of Operations (quota vision): bob 2. Wait, or end one of yours.",
		},
		"only minimums": {
			quotaOf("vision", ofProject("vision"), sets("small", 2)), nil, ptr(floorOf(2, small(1))), pod("x", "bob", small(1)), nil,
			"project vision has 0 of 2 sets small in use and 2 kept for minimums of Operations (quota vision). " +
				"Wait, or lower the minimum of an Operation.",
		},
		"none allowed": {
			quotaOf("vision", ofProject("vision"), only(ws, sets("large", 0))), nil, nil, pod("x", "bob", large(1)).as(ws), nil,
			"project vision may have no sets large for Workspaces (quota vision). Ask for another set, or ask an administrator to raise the quota.",
		},
		"no GPU allowed": {
			quotaOf("each", ofEachUser("vision"), gpus("0")), nil, nil, pod("x", "bob", large(1)), nil,
			"bob may have no GPUs in project vision (quota each). Ask for a set without a GPU, or ask an administrator to raise the quota.",
		},
		"never": {
			quotaOf("vision", ofProject("vision"), gpus("0.25")), nil, nil, pod("x", "bob", map[string]int64{"medium": 1}), nil,
			"project vision may have at most 0.25 GPUs (quota vision), and 0.5 are asked for. Ask for fewer, or ask an administrator to raise the quota.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := bookOf(c.quota)
			for _, h := range c.held {
				b.Charge(h, Within)
			}
			if c.floor != nil {
				b.Reserve(*c.floor)
			}
			v := b.Check([]Claim{c.asked})
			if len(v.Shortfalls) != 1 {
				t.Fatalf("shortfalls: %s, want one", verdict(v))
			}
			want(t, "sentence", v.Shortfalls[0].Sentence(c.sees, noon.Add(5*time.Minute)), c.want)
		})
	}
}

// A minimum that does not fit is refused, so nobody is told to wait for it.
func TestARefusedMinimumDoesNotWait(t *testing.T) {
	for asker, wanted := range map[string]string{
		"carol": "Try again then, or ask one of them.",
		"alice": "Try again then, or end one of yours.",
		"bob":   "Try again then, or end yours.",
	} {
		b := bookOf(quotaOf("vision", ofProject("vision"), sets("small", 6)))
		b.Charge(pod("train", "alice", small(5)).due(30), Within)
		b.Charge(pod("eval", "bob", small(1)), Within)
		floor := floorOf(1, small(1))
		floor.Party.User, floor.Workload.Name, floor.Workload.UID = asker, "new", "new"
		short := b.CheckFloor(floor).Shortfalls
		if len(short) != 1 {
			t.Fatalf("%s: %d shortfalls, want one", asker, len(short))
		}
		want(t, asker, short[0].Sentence(nil, noon), "project vision has 6 of 6 sets small in use (quota vision): alice 5, bob 1; "+
			"the next is due back at 12:30 UTC (in 30 minutes). "+wanted)
	}
}

func ptr[T any](v T) *T { return &v }

func TestHoldersAreBounded(t *testing.T) {
	b := bookOf(quotaOf("vision", ofProject("vision"), sets("small", 40)))
	for i := range 15 {
		b.Charge(pod(string(rune('a'+i)), string(rune('a'+i)), small(int64(1+i%5))).due(100-i), Within)
	}
	s := b.Check([]Claim{pod("x", "zoe", small(1))}).Shortfalls[0]
	if len(s.Holders) != maxHolders || s.HoldersLeft != 5 || s.Holders[0].Held != 5 || !s.Next.Equal(noon.Add(86*time.Minute)) {
		t.Errorf("%d holders, %d left, first %+v, next %s", len(s.Holders), s.HoldersLeft, s.Holders[0], s.Next)
	}
	want(t, "sentence", s.Sentence(nil, noon.Add(time.Hour)), "project vision has 45 of 40 sets small in use (quota vision): "+
		"e 5, j 5, o 5, 12 others 30; the next is due back at 13:26 UTC (in 26 minutes). Wait, or ask one of them.")
}

func TestTheAnswerFollowsWhatIsCharged(t *testing.T) {
	b := bookOf(quotaOf("vision", ofProject("vision"), sets("small", 1)))
	b.Charge(pod("a", "alice", small(1)).due(30), Within)
	first := b.Check([]Claim{pod("x", "zoe", small(1))}).Shortfalls[0]
	b.Charge(pod("a", "alice", small(1)).due(90), Within) // extended
	b.Charge(pod("b", "bob", small(2)), Within)
	second := b.Check([]Claim{pod("x", "zoe", small(1))}).Shortfalls[0]
	if !first.Next.Equal(noon.Add(30*time.Minute)) || !second.Next.Equal(noon.Add(90*time.Minute)) || second.Holders[0].User != "bob" {
		t.Errorf("first %+v, then %+v", first, second)
	}
}

func TestTimesReadWell(t *testing.T) {
	seoul := time.FixedZone("KST", 9*3600)
	for after, wanted := range map[time.Duration]string{
		10 * time.Second:  "; the next is due back at 21:00 KST (in less than a minute)",
		time.Minute:       "; the next is due back at 21:01 KST (in 1 minute)",
		89 * time.Second:  "; the next is due back at 21:01 KST (in 2 minutes)",
		150 * time.Minute: "; the next is due back at 23:30 KST (in 3 hours)",
		47 * time.Hour:    "; the next is due back at 20:00 KST on 2 December (in 47 hours)",
		49 * time.Hour:    "; the next is due back at 22:00 KST on 2 December (in 3 days)",
		0:                 "; the next was due back at 21:00 KST (less than a minute ago)",
		-time.Hour:        "; the next was due back at 20:00 KST (60 minutes ago)",
	} {
		want(t, after.String(), dueText(noon.Add(after), noon.In(seoul)), wanted)
	}
	want(t, "unknown", dueText(time.Time{}, noon), "")
}

func TestTheNextIsTheFirstOfThoseThatAreLeft(t *testing.T) {
	both := map[string]int64{"large": 1, "small": 1}
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 0), sets("large", 1), only(api.TypeJob, sets("small", 0))))
	b.Charge(pod("w", "bob", small(1)).as(api.TypeWorkspace).due(20), Within)
	b.Charge(pod("j", "bob", small(1)).due(30), Within)
	b.Charge(pod("a1", "alice", both).of("Job", "a").due(10), Within)
	b.Charge(pod("a2", "alice", large(1)).of("Job", "a").due(10), Within)
	next := func(what, wanted string) {
		t.Helper()
		got := ""
		for _, s := range b.Check([]Claim{pod("x", "zoe", both)}).Shortfalls {
			got += string(s.Type) + "/" + s.Set + " " + s.Next.Format("15:04") + "; "
		}
		want(t, what, got, wanted)
	}
	next("all", "/large 12:10; /small 12:10; Job/small 12:10; ")
	b.Release("a1")
	next("one of two gone", "/large 12:10; /small 12:20; Job/small 12:30; ")
	b.Release("a2")
	next("both gone", "/small 12:20; Job/small 12:30; ")
}
