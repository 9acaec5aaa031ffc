// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

func decide(t *testing.T, s Snapshot) Plan {
	t.Helper()
	p := Decide(s, 1000)
	check(t, s, p)
	return p
}

func TestPodsOfOneDecisionSeeEachOther(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 2)}, pods("train", "vision", "alice", "small", 9, 5))
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 3)}
	p := decide(t, s)
	requireOpened(t, p, "train-0 train-1 train-2")
	requireWaits(t, p, map[string]string{"train-3": api.ReasonProjectQuotaReached, "train-4": api.ReasonProjectQuotaReached})
	if !strings.Contains(p.Wait[0].Message, "3 of 3") {
		t.Errorf("the message does not say how much is used: %s", p.Wait[0].Message)
	}
}

func TestPodsOfOneWorkloadGoInTheOrderOfTheirNumbers(t *testing.T) {
	list := pods("train", "vision", "alice", "small", 5, 12)
	slices.Reverse(list)
	s := snapshot([]placement.Node{nodeOf("a", 3)}, list)
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 4)}
	requireOpened(t, decide(t, s), "train-0 train-1 train-2 train-3")
}

func TestTheHeadHoldsUpItsProjectOnlyUnderFirstAllocating(t *testing.T) {
	for policy, want := range map[api.QueuePolicy]string{api.FirstAllocating: "other", api.FirstScheduling: "second other"} {
		s := snapshot([]placement.Node{nodeOf("a", 4)},
			one(pod("head", "vision", "alice", "large", 9)), one(pod("second", "vision", "bob", "small", 8)),
			one(pod("other", "speech", "carol", "small", 1)))
		s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "large", 1)}
		s.Charged = open(quota.Within, "a", pod("held", "vision", "bob", "large", 20))
		s.Queues = []api.PriorityQueue{queueOf("vision", policy, 1, 600)}
		p := decide(t, s)
		requireOpened(t, p, want)
		if policy == api.FirstAllocating {
			requireWaits(t, p, map[string]string{"head": api.ReasonProjectQuotaReached, "second": api.ReasonBehindHead})
			if p.Heads["vision"].Workload.Name != "head" || !strings.Contains(p.Wait[1].Message, "Job head") {
				t.Errorf("head %+v, message %q: want Job head", p.Heads, p.Wait[1].Message)
			}
		}
	}
}

func TestWhoWaitsForOthersTakesNothing(t *testing.T) {
	held := pod("held", "vision", "alice", "large", 9)
	held.OtherGates = "example.com/admission"
	list := append(one(held), one(pod("next", "vision", "bob", "large", 8))...)
	for _, policy := range []api.QueuePolicy{api.FirstAllocating, api.FirstScheduling} {
		s := snapshot([]placement.Node{nodeOf("a", 1)}, list)
		s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "large", 1)}
		s.Queues = []api.PriorityQueue{queueOf("vision", policy, 1, 600)}
		p := decide(t, s)
		requireOpened(t, p, "next")
		requireWaits(t, p, map[string]string{"held": api.ReasonOtherGates})
		if !strings.Contains(p.Wait[0].Message, held.OtherGates) {
			t.Errorf("%s: the message does not name the gate: %s", policy, p.Wait[0].Message)
		}
	}
}

func TestWhoAsksForMoreThanTheLimitEverLeavesStepsAside(t *testing.T) {
	gang := pods("gang", "vision", "alice", "small", 8, 3)
	for i := range gang {
		gang[i].Gang = 3
	}
	s := snapshot([]placement.Node{nodeOf("a", 4)},
		one(pod("none", "vision", "alice", "large", 9)), gang, one(pod("next", "vision", "bob", "small", 1)))
	small := projectQuota("vision", "small", 2)
	small.Name = "small"
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "large", 0), small}
	p := decide(t, s)
	requireOpened(t, p, "next")
	if got := waits(p); got["none"] != api.ReasonProjectQuotaReached || got["gang-0"] != api.ReasonProjectQuotaReached {
		t.Errorf("waiting %v", got)
	}
}

func TestWhoIsOverTheirOwnLimitStepsAside(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 2)},
		one(pod("mine", "vision", "alice", "small", 9)), one(pod("next", "vision", "bob", "small", 8)))
	s.Quotas = []api.ResourceSetQuota{userQuota("vision", "alice", "small", 0), projectQuota("vision", "small", 1)}
	p := decide(t, s)
	requireOpened(t, p, "next")
	requireWaits(t, p, map[string]string{"mine": api.ReasonUserQuotaReached})
	// Where the project is short as well, they still hold up nobody.
	s.Charged = open(quota.Within, "a", pod("held", "vision", "bob", "small", 20))
	s.Pending = append(s.Pending, pod("large", "vision", "bob", "large", 1))
	p = decide(t, s)
	if got := waits(p); got["mine"] != api.ReasonUserQuotaReached || got["next"] != api.ReasonProjectQuotaReached {
		t.Errorf("waiting %v", got)
	}
}

func TestAnUnknownSetHoldsUpNobody(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 1)},
		one(pod("odd", "vision", "alice", "huge", 9)), one(pod("next", "vision", "bob", "small", 8)))
	p := decide(t, s)
	requireOpened(t, p, "next")
	requireWaits(t, p, map[string]string{"odd": api.ReasonNoNodeHasSet})
}

func TestGangsStartTogether(t *testing.T) {
	gang := func(n int) []Pending {
		list := pods("gang", "vision", "alice", "large", 9, n)
		for i := range list {
			list[i].Gang = 3
		}
		return list
	}
	t.Run("incomplete", func(t *testing.T) {
		p := decide(t, snapshot([]placement.Node{nodeOf("a", 4)}, gang(2), one(pod("next", "vision", "bob", "large", 1))))
		requireOpened(t, p, "next")
		requireWaits(t, p, map[string]string{"gang-0": api.ReasonGangIncomplete, "gang-1": api.ReasonGangIncomplete})
	})
	t.Run("one is held by others", func(t *testing.T) {
		list := gang(3)
		list[1].OtherGates = "example.com/admission"
		p := decide(t, snapshot([]placement.Node{nodeOf("a", 4)}, list))
		requireOpened(t, p, "")
		requireWaits(t, p, map[string]string{
			"gang-0": api.ReasonGangIncomplete, "gang-1": api.ReasonOtherGates, "gang-2": api.ReasonGangIncomplete,
		})
	})
	t.Run("those before them are still ending", func(t *testing.T) {
		s := snapshot([]placement.Node{nodeOf("a", 4)}, gang(3))
		for i, p := range gang(3) {
			p.Claim.UID = fmt.Sprintf("p-before-%d", i)
			p.Ask.UID = p.Claim.UID
			s.Charged = append(s.Charged, open(quota.Within, "a", p)...)
			s.Charged[i].Leaving = true
		}
		requireOpened(t, decide(t, s), "") // room for one
		s.Charged = s.Charged[2:]
		requireOpened(t, decide(t, s), "gang-0 gang-1 gang-2")
	})
	t.Run("quota for two", func(t *testing.T) {
		s := snapshot([]placement.Node{nodeOf("a", 4)}, gang(3))
		s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "large", 2)}
		requireOpened(t, decide(t, s), "")
	})
	t.Run("room for two", func(t *testing.T) {
		p := decide(t, snapshot([]placement.Node{nodeOf("a", 1), nodeOf("b", 1)}, gang(3)))
		requireOpened(t, p, "")
		if p.Wait[0].Reason != api.ReasonNoRoomOnNodes {
			t.Errorf("waits for %s", p.Wait[0].Reason)
		}
	})
	t.Run("all, and what is beyond the gang on its own", func(t *testing.T) {
		p := decide(t, snapshot([]placement.Node{nodeOf("a", 2), nodeOf("b", 2)}, gang(5)))
		requireOpened(t, p, "gang-0 gang-1 gang-2 gang-3")
		if !p.Open[0].Gang || !p.Open[2].Gang || p.Open[3].Gang {
			t.Errorf("gang marks wrong: %+v", p.Open)
		}
	})
	t.Run("one that runs counts", func(t *testing.T) {
		list := gang(3)
		s := snapshot([]placement.Node{nodeOf("a", 3)}, list[1:])
		s.Charged = open(quota.Within, "a", list[0])
		requireOpened(t, decide(t, s), "gang-1 gang-2")
	})
	t.Run("a full plan does not cut it", func(t *testing.T) {
		s := snapshot([]placement.Node{nodeOf("a", 4)}, one(pod("first", "vision", "bob", "large", 20)), gang(3))
		p := Decide(s, 3)
		requireOpened(t, p, "first")
		if !p.More {
			t.Error("the plan does not say that there is more")
		}
		check(t, s, p)
		s.Pending = s.Pending[1:]
		requireOpened(t, Decide(s, 2), "gang-0 gang-1 gang-2")
	})
}

func TestRoomIsKeptForALargeOne(t *testing.T) {
	held := pods("held", "vision", "bob", "small", 60, 3)
	for _, tc := range []struct {
		name   string
		policy api.QueuePolicy
		age    int
		want   string
	}{
		{"first allocating", api.FirstAllocating, 1, ""},
		{"first scheduling, patient", api.FirstScheduling, 5, "tiny"},
		{"first scheduling, after its patience", api.FirstScheduling, 11, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Another project's small one would fit where the large one will.
			tiny := pod("tiny", "speech", "carol", "small", 0)
			s := snapshot([]placement.Node{nodeOf("a", 1)}, one(pod("large", "vision", "alice", "large", tc.age)), one(tiny))
			s.Charged = open(quota.Within, "a", held...)
			s.Queues = []api.PriorityQueue{queueOf("vision", tc.policy, 5, 600), queueOf("speech", api.FirstAllocating, 0, 600)}
			p := decide(t, s)
			requireOpened(t, p, tc.want)
			if tc.want == "" && waits(p)["tiny"] != api.ReasonKeptForEarlier {
				t.Errorf("tiny waits for %s", waits(p)["tiny"])
			}
		})
	}
}

func TestAGuaranteedReplicaStandsBehindNobody(t *testing.T) {
	replicas := operation("rs-1", pods("serve", "vision", "ops", "small", 1, 3)...)
	s := snapshot([]placement.Node{nodeOf("a", 4)}, one(pod("head", "vision", "alice", "large", 9)), replicas)
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "large", 1)}
	s.Charged = open(quota.Within, "a", pod("held", "vision", "bob", "large", 20))
	s.Floors = []quota.Floor{floorOf(replicas[0], 2)}
	p := decide(t, s)
	requireOpened(t, p, "serve-0 serve-1")
	requireWaits(t, p, map[string]string{"head": api.ReasonProjectQuotaReached, "serve-2": api.ReasonBehindHead})
}

func TestAMinimumKeepsQuotaFromOthers(t *testing.T) {
	replica := operation("rs-1", pod("serve", "vision", "ops", "small", 1))[0]
	s := snapshot([]placement.Node{nodeOf("a", 4)}, pods("train", "vision", "alice", "small", 9, 3))
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 3)}
	s.Floors = []quota.Floor{floorOf(replica, 2)}
	requireOpened(t, decide(t, s), "train-0")
	// Two minimums that do not fit together: the elder one is kept, and of the other
	// what is left.
	younger := operation("rs-2", pod("late", "vision", "ops", "small", 1))[0]
	s.Floors = append(s.Floors, floorOf(younger, 2))
	s.Pending = append(s.Pending, replica, younger)
	requireOpened(t, decide(t, s), "late serve")
}

func TestAMinimumThatIsTooLargeIsKeptAsFarAsItFits(t *testing.T) {
	replicas := operation("rs-1", pods("serve", "vision", "ops", "small", 1, 9)...)
	train := pods("train", "vision", "alice", "small", 9, 9)
	s := snapshot([]placement.Node{nodeOf("a", 4)}, train, replicas)
	// An autoscaler asks for more than the user of the workload may have.
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 6), userQuota("vision", "ops", "small", 4)}
	s.Charged = open(quota.Within, "a", pod("held", "vision", "ops", "small", 60))
	s.Floors = []quota.Floor{floorOf(replicas[0], 1_000_000)}
	requireOpened(t, decide(t, s), "serve-0 serve-1 serve-2 train-0 train-1")
	// Who may have nothing more has no minimum, and keeps nothing from others.
	s.Quotas[1] = userQuota("vision", "ops", "small", 1)
	requireOpened(t, decide(t, s), "train-0 train-1 train-2 train-3 train-4")
}

func TestARollingUpdateGoesOnAtFullQuotaBehindABlockedHead(t *testing.T) {
	old := operation("rs-1", pods("serve", "vision", "ops", "small", 60, 2)...)
	replacements := operation("rs-2", pods("serve", "vision", "ops", "small", 1, 2)...)
	for i := range replacements {
		replacements[i].Claim.UID += "-new"
		replacements[i].Claim.Name += "-new"
		replacements[i].Ask.UID = replacements[i].Claim.UID
	}
	s := snapshot([]placement.Node{nodeOf("a", 4)}, one(pod("head", "vision", "alice", "small", 90)), replacements)
	s.Charged = open(quota.Within, "a", old...)
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 2)}
	p := decide(t, s)
	requireOpened(t, p, "serve-0-new")
	if p.Open[0].Grade != quota.Surge {
		t.Errorf("grade %s", p.Open[0].Grade)
	}
}

func TestPriorityAndPromotionOrderProjects(t *testing.T) {
	late := pod("late", "speech", "carol", "large", 1)
	s := snapshot([]placement.Node{nodeOf("a", 1)}, one(pod("early", "vision", "alice", "large", 9)), one(late))
	s.Queues = []api.PriorityQueue{queueOf("vision", api.FirstAllocating, 0, 0), queueOf("speech", api.FirstAllocating, 7, 0)}
	requireOpened(t, decide(t, s), "late")
	s.Pending[0].Promoted = "a"
	requireOpened(t, decide(t, s), "early")
}

func TestPositionsCountWhoWaits(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 1)},
		one(pod("one", "vision", "alice", "large", 9)), pods("two", "vision", "bob", "large", 8, 2),
		one(pod("three", "vision", "alice", "large", 7)))
	p := decide(t, s)
	requireOpened(t, p, "one")
	got := map[string]int{}
	for _, w := range p.Wait {
		got[w.Claim.Name] = w.Position
	}
	if got["two-0"] != 1 || got["two-1"] != 1 || got["three"] != 2 {
		t.Errorf("positions %v", got)
	}
}

func TestNamesAreSaidOnlyWhereTheyCanBeReadAnyway(t *testing.T) {
	asks := pod("mine", "vision", "alice", "small", 1)
	near, far := pod("near", "vision", "bob", "small", 9), pod("far", "vision", "zoe", "small", 9)
	far.Claim.Namespace = "vision-secret"
	s := snapshot([]placement.Node{nodeOf("a", 1)}, one(asks))
	s.Charged = slices.Concat(open(quota.Within, "a", near), open(quota.Within, "a", far))
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 2)}
	message := decide(t, s).Wait[0].Message
	if !strings.Contains(message, "bob") || strings.Contains(message, "zoe") {
		t.Errorf("message %q: want bob, who is in the same namespace, and not zoe, who is not", message)
	}
}

func TestWhatANodeReportsIsNotTakenTwice(t *testing.T) {
	node := nodeOf("a", 1)
	held := pod("held", "vision", "bob", "small", 60)
	node.Held["small-0-0"] = "vision/held"
	s := snapshot([]placement.Node{node}, pods("more", "vision", "alice", "small", 1, 4))
	s.Charged = open(quota.Within, "a", held)
	requireOpened(t, decide(t, s), "more-0 more-1 more-2")
}

func TestPodsOfUnmanagedNamespacesTakeRoomAndNoQuota(t *testing.T) {
	s := snapshot([]placement.Node{nodeOf("a", 1)}, pods("more", "vision", "alice", "small", 1, 4))
	s.Charged = open(quota.Within, "a", pod("old", "vision", "bob", "small", 60))
	s.Charged[0].Unmanaged = true
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 4)}
	requireOpened(t, decide(t, s), "more-0 more-1 more-2")
}

func TestBorrowedPodsYieldOnceToWhomItBelongs(t *testing.T) {
	minRun := int32(600)
	quotas := []api.ResourceSetQuota{projectQuota("vision", "small", 3), userQuota("vision", "alice", "small", 1), userQuota("vision", "bob", "small", 2)}
	quotas[1].Spec.Borrowing = &api.Borrowing{MinRunSeconds: &minRun}
	held := pods("held", "vision", "alice", "small", 60, 3)
	s := snapshot([]placement.Node{nodeOf("a", 2)}, pods("mine", "vision", "bob", "small", 1, 1))
	s.Quotas = quotas
	s.Charged = slices.Concat(open(quota.Within, "a", held[0]), open(quota.Borrowed, "a", held[1:]...))
	p := decide(t, s)
	if len(p.Yield) != 1 || p.Yield[0].Reason != api.ReasonYieldedBorrowed || p.Yield[0].For.Name != "mine" {
		t.Fatalf("yields %+v, want one borrowed pod for mine", p.Yield)
	}
	requireWaits(t, p, map[string]string{"mine-0": api.ReasonProjectQuotaReached})

	// While the victim is going, nobody else is asked.
	for i := range s.Charged {
		s.Charged[i].Leaving = s.Charged[i].Claim.UID == p.Yield[0].Claim.UID
	}
	if p := decide(t, s); len(p.Yield) != 0 {
		t.Errorf("yields %+v while one is going", p.Yield)
	}
	// A second one that waits is a second shortage.
	s.Pending = append(s.Pending, pod("also", "vision", "bob", "small", 0))
	s.Queues = []api.PriorityQueue{queueOf("vision", api.FirstScheduling, 0, 600)}
	if p := decide(t, s); len(p.Yield) != 1 {
		t.Errorf("yields %+v, want one more", p.Yield)
	}
	// A borrower has nobody go.
	s.Pending = pods("greedy", "vision", "alice", "small", 1, 1)
	if p := decide(t, s); len(p.Yield) != 0 {
		t.Errorf("a borrower has %+v go", p.Yield)
	}
}

func TestYoungBorrowersMayRunTheirTime(t *testing.T) {
	minRun := int32(600)
	s := snapshot([]placement.Node{nodeOf("a", 2)}, pods("mine", "vision", "bob", "small", 1, 1))
	s.Quotas = []api.ResourceSetQuota{projectQuota("vision", "small", 1), userQuota("vision", "alice", "small", 0)}
	s.Quotas[1].Spec.Borrowing = &api.Borrowing{MinRunSeconds: &minRun}
	s.Charged = open(quota.Borrowed, "a", pod("young", "vision", "alice", "small", 5))
	if p := decide(t, s); len(p.Yield) != 0 {
		t.Errorf("yields %+v after 5 of 10 minutes", p.Yield)
	}
	s.Now = noon.Add(6 * time.Minute)
	if p := decide(t, s); len(p.Yield) != 1 {
		t.Errorf("yields %+v after 11 of 10 minutes, want 1", p.Yield)
	}
}
