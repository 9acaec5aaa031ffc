// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/test/kit"
)

// bench is a state on a clock that stands until it is moved.
type bench struct {
	*node.State
	t   *testing.T
	now time.Time
	// overbooked allows counters to be exceeded: the kubelet was seen to.
	overbooked bool
	version    uint64
}

func newBench(t *testing.T, layout gpu.Layout) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
	b.State = node.New(node.Config{Now: func() time.Time { return b.now }, Grace: 10 * time.Second, Settle: 2 * time.Second})
	b.SetLayout(layout)
	t.Cleanup(b.check)
	return b
}

func (b *bench) check() {
	b.t.Helper()
	s := b.Snapshot()
	if s.Version < b.version {
		b.t.Errorf("version went from %d back to %d", b.version, s.Version)
	}
	b.version = s.Version
	if err := node.Invariants(s); err != nil && !b.overbooked {
		b.t.Errorf("invariants: %v", err)
	}
}

func (b *bench) mustClaim(set string, ids ...gpu.SliceID) {
	b.t.Helper()
	if err := b.Claim(set, ids); err != nil {
		b.t.Fatalf("claim: %v", err)
	}
	b.check()
}

func (b *bench) refused(want node.Reason, set string, ids ...gpu.SliceID) *node.ClaimError {
	b.t.Helper()
	err := b.Claim(set, ids)
	fail, ok := errors.AsType[*node.ClaimError](err)
	if !ok || fail.Reason != want {
		b.t.Fatalf("claim %v: got %v, want reason %s", ids, err, want)
	}
	b.check()
	return fail
}

func (b *bench) want(set, states string) {
	b.t.Helper()
	b.check()
	if got := kit.States(b.Snapshot(), set); got != states {
		b.t.Errorf("set %s: states %s, want %s", set, got, states)
	}
}

// see observes that the pods hold what is given, and that the API server knows
// exactly these pods and those in besides.
func (b *bench) see(holdings []gpu.Holding, besides ...gpu.Pod) bool {
	b.t.Helper()
	o := gpu.Observation{Mark: b.Mark(), Holdings: holdings, Pods: besides, PodsKnown: true}
	for _, h := range holdings {
		o.Pods = append(o.Pods, gpu.Pod{Namespace: h.Holder.Namespace, Name: h.Holder.Pod, UID: "uid-" + h.Holder.Pod,
			Sets: map[string]int{h.Set: len(h.Slices)}})
	}
	defer b.check()
	return b.Observe(o)
}

func holds(pod, set string, ids ...gpu.SliceID) gpu.Holding {
	return gpu.Holding{Holder: gpu.Holder{Namespace: "team", Pod: pod, Container: "main"}, Set: set, Slices: ids}
}

func (b *bench) status(id gpu.SliceID) gpu.Status {
	b.t.Helper()
	for _, st := range b.Snapshot().Slices {
		if st.Slice.ID == id {
			return st
		}
	}
	b.t.Fatalf("no slice %s", id)
	return gpu.Status{}
}

var mixed = func() gpu.Layout {
	return kit.MakeLayout(2).Block("small", 25).Block("medium", 50).Whole("large", 1).Obj()
}

func TestASliceThatIsTakenBlocksOverlappingOnesOfOtherSizes(t *testing.T) {
	b := newBench(t, mixed())
	b.want("small", "FFFFFFFF")
	b.want("medium", "FFFF")
	b.want("large", "FF")
	b.mustClaim("small", kit.ID(0, "small", 2))
	b.want("small", "FFHFFFFF")
	b.want("medium", "FBFF")
	b.want("large", "BF")
	b.mustClaim("medium", kit.ID(0, "medium", 1))
	b.want("small", "FBHBFFFF")
	b.want("medium", "BHFF")
	if st := b.status(kit.ID(0, "large", 0)); st.BlockedBy != kit.Blocks(0) {
		t.Errorf("large is blocked by %q, want %q", st.BlockedBy, kit.Blocks(0))
	}
	want := gpu.Count{Total: 8, Free: 5, Held: 1}
	if diff := cmp.Diff(want, b.Snapshot().Count("small")); diff != "" {
		t.Errorf("count of small (-want +got):\n%s", diff)
	}
}

func TestAClaimIsAllOrNothingAndSaysWhoIsInTheWay(t *testing.T) {
	b := newBench(t, mixed())
	b.mustClaim("small", kit.ID(0, "small", 0))
	b.see([]gpu.Holding{holds("train", "small", kit.ID(0, "small", 0))})
	fail := b.refused(node.ReasonOverlap, "large", kit.ID(1, "large", 0), kit.ID(0, "large", 0))
	want := &node.ClaimError{
		Set: "large", Slice: kit.ID(0, "large", 0), Reason: node.ReasonOverlap,
		Counter: kit.Blocks(0), Left: 75, Needed: 100,
		Overlaps: []node.Overlap{{Slice: kit.ID(0, "small", 0), Set: "small", Amount: 25,
			Holder: gpu.Holder{Namespace: "team", Pod: "train", Container: "main", PodUID: "uid-train"}}},
	}
	if diff := cmp.Diff(want, fail); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	for _, part := range []string{"aipub.io/set-large", "team/train (main)", "100 of GPU-00000001/blocks needed, 75 left", "create the pod again"} {
		if !strings.Contains(fail.Error(), part) {
			t.Errorf("message %q lacks %q", fail.Error(), part)
		}
	}
	b.want("large", "BF")
}

func TestClaimsAreRefusedWithTheirReason(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(b *bench)
		set     string
		id      gpu.SliceID
		want    node.Reason
	}{
		"unknown slice": {set: "small", id: "nowhere", want: node.ReasonUnknown},
		"wrong set":     {set: "medium", id: kit.ID(0, "small", 0), want: node.ReasonWrongSet},
		"unhealthy": {set: "small", id: kit.ID(0, "small", 0), want: node.ReasonUnhealthy,
			prepare: func(b *bench) { b.SetHealth(kit.UUID(0), node.Whole, node.Whole, gpu.Health{Reason: "XidCritical"}) }},
		"no hardware yet": {set: "mig", id: kit.ID(0, "mig", 0), want: node.ReasonPreparing,
			prepare: func(b *bench) { b.SetLayout(kit.MakeLayout(1).MIG("mig", 2).Obj()) }},
		"retired, and its holder is known": {set: "small", id: kit.ID(0, "small", 0), want: node.ReasonRetired,
			prepare: func(b *bench) {
				b.see([]gpu.Holding{holds("train", "small", kit.ID(0, "small", 0))})
				b.SetLayout(kit.MakeLayout(2).Whole("large", 1).Obj())
			}},
		"beside what is retired": {set: "large", id: kit.ID(0, "large", 0), want: node.ReasonOverlap,
			prepare: func(b *bench) {
				b.see([]gpu.Holding{holds("train", "small", kit.ID(0, "small", 0))})
				b.SetLayout(kit.MakeLayout(2).Whole("large", 1).Obj())
			}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, mixed())
			if tc.prepare != nil {
				tc.prepare(b)
			}
			if fail := b.refused(tc.want, tc.set, tc.id); fail.Error() == "" {
				t.Error("no message")
			}
		})
	}
}

func TestAnUnlistedClaimIsKeptForAWhileOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		known bool
		kept  time.Duration
	}{
		"the API server knows no pod that waits": {known: true, kept: 2 * time.Second},
		"the API server has not been heard":      {known: false, kept: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, mixed())
			b.mustClaim("small", kit.ID(0, "small", 0))
			b.now = b.now.Add(tc.kept - time.Millisecond)
			if b.Observe(gpu.Observation{Mark: b.Mark(), PodsKnown: tc.known}) {
				t.Error("an unlisted claim counts as settled")
			}
			b.want("small", "HFFFFFFF")
			b.now = b.now.Add(time.Millisecond)
			if !b.Observe(gpu.Observation{Mark: b.Mark(), PodsKnown: tc.known}) {
				t.Error("nothing is open, yet it is not settled")
			}
			b.want("small", "FFFFFFFF")
		})
	}
}

func TestAnUnlistedClaimIsKeptWhileAPodWaitsForItsSlices(t *testing.T) {
	b := newBench(t, mixed())
	b.mustClaim("small", kit.ID(0, "small", 0))
	b.now = b.now.Add(time.Hour)
	// An init container's slices are never listed; its pod is what is seen.
	b.see(nil, gpu.Pod{Namespace: "team", Name: "fetch", Sets: map[string]int{"small": 1}})
	b.want("small", "HFFFFFFF")
	b.see(nil, gpu.Pod{Namespace: "team", Name: "other", Sets: map[string]int{"medium": 1}})
	b.want("small", "FFFFFFFF")
}

func TestAnObservationBegunBeforeAClaimDoesNotContradictIt(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 0)
	b.see([]gpu.Holding{holds("old", "small", id)})
	early := gpu.Observation{Mark: b.Mark(), Holdings: []gpu.Holding{holds("old", "small", id)}, PodsKnown: true}
	empty := gpu.Observation{Mark: b.Mark(), PodsKnown: true}
	b.mustClaim("small", id, kit.ID(0, "small", 1))
	b.now = b.now.Add(time.Hour)
	b.Observe(early)
	if h := b.status(id).Holder; !h.IsZero() {
		t.Errorf("the last holder %v has come back", h)
	}
	b.Observe(empty)
	b.want("small", "HHFFFFFF")
}

func TestAnObservationThatComesLateIsIgnored(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 0)
	late := gpu.Observation{Mark: b.Mark(), Holdings: []gpu.Holding{holds("gone", "small", id)}, PodsKnown: true}
	b.see(nil)
	b.Observe(late)
	b.want("small", "FFFFFFFF")
}

func TestAHolderIsKeptWhileEitherWitnessKnowsIt(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 0)
	b.mustClaim("small", id)
	if !b.see([]gpu.Holding{holds("train", "small", id)}) {
		t.Error("a listed holder is not settled")
	}
	pod := gpu.Pod{Namespace: "team", Name: "train", UID: "uid-train", Sets: map[string]int{"small": 1}}
	b.now = b.now.Add(time.Hour)
	if b.see(nil, pod) { // as just after a start of the kubelet
		t.Error("the witnesses disagree, yet it is settled")
	}
	b.want("small", "HFFFFFFF")
	if b.Observe(gpu.Observation{Mark: b.Mark(), Holdings: []gpu.Holding{holds("train", "small", id)}, PodsKnown: true}) {
		t.Error("a pod that the API server does not know any more counts as settled")
	}
	b.want("small", "HFFFFFFF")
	pod.UID = "another pod of the same name"
	b.see(nil, pod)
	b.want("small", "FFFFFFFF")
}

func TestASliceThatItsPodCannotHaveBesideWhatIsListedIsFreed(t *testing.T) {
	b := newBench(t, mixed())
	// The API server had not been heard, so the pod's UID is not known, and a
	// new pod of the same name now holds another slice.
	b.Observe(gpu.Observation{Mark: b.Mark(), Holdings: []gpu.Holding{holds("db-0", "small", kit.ID(0, "small", 0))}})
	b.see([]gpu.Holding{holds("db-0", "small", kit.ID(0, "small", 1))})
	b.want("small", "FHFFFFFF")
}

func TestWithoutTheAPIServerAMissingHolderIsKeptForTheGrace(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 0)
	listed := []gpu.Holding{holds("train", "small", id)}
	blind := func(h []gpu.Holding) { b.Observe(gpu.Observation{Mark: b.Mark(), Holdings: h}) }
	blind(listed)
	b.now = b.now.Add(time.Hour)
	blind(nil)
	b.now = b.now.Add(9 * time.Second)
	blind(listed) // it is back: the time begins anew
	b.now = b.now.Add(9 * time.Second)
	blind(nil)
	b.now = b.now.Add(9 * time.Second)
	blind(nil)
	b.want("small", "HFFFFFFF")
	b.now = b.now.Add(2 * time.Second)
	blind(nil)
	b.want("small", "FFFFFFFF")
}

func TestTheSameIDGivenToTheNextPodIsANewHolding(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 0)
	b.see([]gpu.Holding{holds("first", "small", id)})
	began := b.status(id).Since
	b.now = b.now.Add(time.Minute)
	b.mustClaim("small", id) // the kubelet knew first that it had ended
	b.see([]gpu.Holding{holds("second", "small", id)})
	st := b.status(id)
	if st.Holder.Pod != "second" || !st.Since.Equal(began.Add(time.Minute)) {
		t.Errorf("held by %v since %v, want second since %v", st.Holder, st.Since, began.Add(time.Minute))
	}
}

func TestWhatTheKubeletListsIsHeldWhateverTheNodeThought(t *testing.T) {
	b := newBench(t, mixed())
	b.overbooked = true
	b.mustClaim("large", kit.ID(0, "large", 0))
	b.see([]gpu.Holding{holds("a", "large", kit.ID(0, "large", 0)), holds("b", "medium", kit.ID(0, "medium", 0)), holds("c", "lost", "an-old-id")})
	b.want("large", "HF")
	b.want("medium", "HBFF")
	b.want("lost", "R")
	if left := b.Snapshot().Left[kit.Blocks(0)]; left != -50 {
		t.Errorf("left %d, want -50", left)
	}
	b.overbooked = false
	b.see([]gpu.Holding{holds("a", "large", kit.ID(0, "large", 0))})
	b.want("medium", "BBFF")
	b.want("lost", "")
}

func TestSlicesThatVanishFromTheLayoutAreRetiredUntilTheirHolderEnds(t *testing.T) {
	b := newBench(t, mixed())
	id := kit.ID(0, "small", 3)
	b.see([]gpu.Holding{holds("train", "small", id)})
	b.SetLayout(kit.MakeLayout(2).Block("medium", 50).Obj())
	b.want("small", "R")
	b.want("medium", "FBFF")
	if st := b.status(id); !st.Available() || st.Holder.Pod != "train" {
		t.Errorf("retired slice: %+v, want available and held by train", st)
	}
	b.SetLayout(mixed())
	b.want("small", "FFFHFFFF") // it came back in time
	b.SetLayout(kit.MakeLayout(2).Block("medium", 50).Obj())
	b.see(nil)
	b.want("small", "")
	b.want("medium", "FFFF")
}

func TestAHeldSliceKeepsTheSizeUnderWhichItWasGivenAway(t *testing.T) {
	b := newBench(t, kit.MakeLayout(1).Block("small", 25).Obj())
	id := kit.ID(0, "small", 0)
	b.see([]gpu.Holding{holds("train", "small", id)})
	b.SetLayout(kit.MakeLayout(1).Block("small", 40).Obj())
	if got := b.status(id).Slice.Block.Percent; got != 25 {
		t.Errorf("held slice has %d percent, want 25", got)
	}
	b.want("small", "HF")
	b.see(nil)
	if got := b.status(id).Slice.Block.Percent; got != 40 {
		t.Errorf("free slice has %d percent, want 40", got)
	}
	b.want("small", "FF")
}

func TestHealthReachesTheSlicesOfItsScopeAndComesBack(t *testing.T) {
	b := newBench(t, kit.MakeLayout(2).MIG("mig", 3).Whole("large", 1).Obj())
	for gpu0 := range 2 {
		for slot := range 3 {
			if err := b.SetInstance(kit.ID(gpu0, "mig", slot), gpu.Instance{GPU: kit.UUID(gpu0), GIID: slot + 7, UUID: "MIG-" + string(kit.ID(gpu0, "mig", slot))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.want("mig", "FFFFFF")
	bad := gpu.Health{Reason: "XidCritical", Message: "Xid 63."}
	b.SetHealth(kit.UUID(0), 8, 0, bad)
	b.want("mig", "FUFFFF")
	b.want("large", "FF")
	b.SetHealth(kit.UUID(0), node.Whole, node.Whole, bad)
	b.want("mig", "UUUFFF")
	b.want("large", "UF")
	if h := b.Snapshot().GPUs[kit.UUID(0)]; h != bad {
		t.Errorf("health of the GPU %v, want %v", h, bad)
	}
	b.SetHealth(kit.UUID(0), node.Whole, node.Whole, gpu.Health{OK: true})
	b.want("mig", "FUFFFF") // the instance's own fault is not healed by that
	id := kit.ID(0, "mig", 1)
	b.ClearInstance(id)
	b.want("mig", "FPFFFF")
	if err := b.SetInstance(id, gpu.Instance{GPU: kit.UUID(0), GIID: 8, UUID: "MIG-new"}); err != nil {
		t.Fatal(err)
	}
	b.want("mig", "FFFFFF")
}

func TestAHeldSliceStaysAvailableUnlessItsHardwareFails(t *testing.T) {
	b := newBench(t, kit.MakeLayout(1).MIG("mig", 1).Obj())
	id := kit.ID(0, "mig", 0)
	b.see([]gpu.Holding{holds("train", "mig", id)}) // as after a reboot: no hardware yet
	if st := b.status(id); st.State != gpu.StateHeld || !st.Available() {
		t.Errorf("held slice: %+v, want held and available", st)
	}
	b.SetHealth(kit.UUID(0), node.Whole, node.Whole, gpu.Health{Reason: "DeviceLost"})
	if st := b.status(id); st.State != gpu.StateHeld || st.Available() {
		t.Errorf("held slice: %+v, want held and not available", st)
	}
}

func TestARestartKeepsHoldersAndRetiredSlices(t *testing.T) {
	before := newBench(t, mixed())
	before.see([]gpu.Holding{holds("a", "small", kit.ID(0, "small", 0)), holds("b", "medium", kit.ID(1, "medium", 1))})
	smaller := kit.MakeLayout(2).Block("small", 25).Obj()
	before.SetLayout(smaller)

	after := newBench(t, smaller)
	after.now = before.now.Add(time.Hour)
	record := before.Snapshot().Slices
	after.Restore(record)
	if diff := cmp.Diff(before.Snapshot().Slices, after.Snapshot().Slices, cmp.FilterPath(
		func(p cmp.Path) bool { return p.Last().String() == ".Since" }, cmp.Ignore())); diff != "" {
		t.Errorf("restored (-before +after):\n%s", diff)
	}
	timeless := gpu.Status{Slice: record[1].Slice, State: gpu.StateHeld, Holder: record[0].Holder}
	after.Restore([]gpu.Status{timeless})
	if since := after.status(timeless.Slice.ID).Since; !since.Equal(after.now) {
		t.Errorf("a record without a time is held since %v, want now", since)
	}
	after.see([]gpu.Holding{holds("a", "small", kit.ID(0, "small", 0))}) // b has ended meanwhile
	after.want("small", "HFFFFFFF")
	after.want("medium", "")
}

func TestWatchersAreToldOfChangesOnlyAndNeverHoldAnybodyUp(t *testing.T) {
	b := newBench(t, mixed())
	slow, stopSlow := b.Watch()
	defer stopSlow()
	quick, stopQuick := b.Watch()
	ready := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	if !ready(quick) {
		t.Error("a new watcher is not ready at once")
	}
	for i := range 4 {
		b.mustClaim("small", kit.ID(0, "small", i))
	}
	if !ready(quick) || ready(quick) {
		t.Error("four changes should be one notification")
	}
	version := b.Snapshot().Version
	b.SetHealth(kit.UUID(0), node.Whole, node.Whole, gpu.Health{OK: true})
	b.SetLayout(mixed())
	if ready(quick) || b.Snapshot().Version != version {
		t.Error("told of a change where nothing changed")
	}
	if !ready(slow) {
		t.Error("the slow watcher was not told")
	}
	stopQuick()
	b.see(nil)
	b.mustClaim("small", kit.ID(1, "small", 0))
	if ready(quick) {
		t.Error("told after it had stopped")
	}
}

func TestASliceOfWhichOnlyTheIDWasKnownGetsItsDefinition(t *testing.T) {
	b := newBench(t, gpu.Layout{})
	layout := kit.MakeLayout(1).Block("small", 25).Block("medium", 50).Obj()
	id := kit.ID(0, "small", 0)
	b.Observe(gpu.Observation{Mark: b.Mark(), Holdings: []gpu.Holding{{
		Holder: gpu.Holder{Namespace: "team", Pod: "p", Container: "c"}, Set: "small", Slices: []gpu.SliceID{id}}}})
	b.SetLayout(layout) // as after the record of the node was lost
	if got := b.Snapshot().Left[kit.Blocks(0)]; got != 75 {
		t.Errorf("%d blocks are left beside the held slice, want 75", got)
	}
	if diff := cmp.Diff("FB", kit.States(b.Snapshot(), "medium")); diff != "" {
		t.Errorf("medium (-want +got):\n%s", diff)
	}
}
