// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

const gib = uint64(1) << 30

// bench is one GPU of 100 GiB whose slices a test sets, and a clock.
type bench struct {
	*testing.T
	ladder *Ladder
	now    sharer.Instant
	sample Sample
	all    []Action
	plan   Plan
}

func newBench(t *testing.T, s ...Slice) *bench {
	b := &bench{T: t, ladder: New(Config{Spare: gib}), sample: Sample{Usable: 100 * gib, CanCheckpoint: true, Slices: s}}
	b.look(0)
	return b
}

// look observes d later and remembers the actions.
func (b *bench) look(d time.Duration) []Action {
	b.now = b.now.Add(d)
	b.sample.At = b.now
	b.plan = b.ladder.Observe(b.sample)
	b.all = append(b.all, b.plan.Actions...)
	return b.plan.Actions
}

// pass observes every 50 ms for d.
func (b *bench) pass(d time.Duration) {
	for end := b.now.Add(d); b.now < end; {
		b.look(50 * time.Millisecond)
	}
}

func (b *bench) slice(id gpu.SliceID) *Slice {
	i := slices.IndexFunc(b.sample.Slices, func(s Slice) bool { return s.ID == id })
	return &b.sample.Slices[i]
}

func (b *bench) limit(id gpu.SliceID) Limit {
	i := slices.IndexFunc(b.plan.Limits, func(l Limit) bool { return l.Slice == id })
	return b.plan.Limits[i]
}

func (b *bench) kinds() []Kind {
	var kinds []Kind
	for _, a := range b.all {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

func (b *bench) wantKinds(want ...Kind) {
	b.Helper()
	if got := b.kinds(); !slices.Equal(got, want) {
		b.Fatalf("at %v the actions were %v, want %v", time.Duration(b.now), got, want)
	}
	b.all = nil
}

func owner(guaranteed uint64) Slice { return Slice{ID: "owner", Guaranteed: guaranteed * gib} }

func borrower(guaranteed, used uint64) Slice {
	return Slice{ID: "borrower", Guaranteed: guaranteed * gib, Max: 100 * gib, Used: used * gib}
}

func TestWhatNobodyUsesIsLent(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 5))
	b.pass(3 * time.Second)
	if got := b.limit("borrower").Bytes; got != 99*gib {
		t.Errorf("the borrower may have %d GiB of an idle GPU, want all but the spare, 99", got/gib)
	}
	if got := b.limit("owner").Bytes; got != 50*gib {
		t.Errorf("the owner does not borrow and may have %d GiB, want its 50", got/gib)
	}
	b.slice("owner").Used = 30 * gib
	b.look(50 * time.Millisecond)
	if got := b.limit("borrower").Bytes; got != 69*gib {
		t.Errorf("the owner uses 30 GiB, and the borrower may have %d at once, want 69", got/gib)
	}
	b.wantKinds()
}

func TestANewBorrowerMayBorrowAtOnce(t *testing.T) {
	b := newBench(t)
	b.now = b.now.Add(time.Hour)
	b.sample.Slices = []Slice{borrower(20, 0)}
	b.look(0)
	if got := b.limit("borrower").Bytes; got != 99*gib {
		t.Errorf("a borrower alone on the GPU may have %d GiB at once, want 99", got/gib)
	}
}

func TestTwoBorrowersHaveEqualParts(t *testing.T) {
	one, two := borrower(20, 20), borrower(10, 10)
	two.ID, two.Max = "two", 15*gib
	b := newBench(t, one, two)
	b.pass(3 * time.Second)
	if one, two := b.limit("borrower").Bytes, b.limit("two").Bytes; two != 15*gib || one != 84*gib {
		t.Errorf("limits are %d and %d GiB, want 84 and 15: its maximum, and the rest", one/gib, two/gib)
	}
}

func TestTheLadderIsClimbedWhileAnOwnerWaits(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 80))
	b.slice("owner").Wanted = 30 * gib
	b.look(50 * time.Millisecond)
	b.wantKinds(Refused, Trimmed)
	if l := b.limit("borrower"); l.Bytes != 80*gib || l.Step != Trim {
		t.Errorf("at first the borrower may have %d GiB and is at step %d, want what it has, 80, and %d", l.Bytes/gib, l.Step, Trim)
	}
	if !slices.Equal(b.plan.Coming, []gpu.SliceID{"owner"}) {
		t.Errorf("memory comes for %v, want the owner", b.plan.Coming)
	}
	b.slice("borrower").Used = 70 * gib
	b.look(50 * time.Millisecond)
	if l := b.limit("borrower"); l.Bytes != 70*gib {
		t.Errorf("the borrower gave 10 GiB back and may have %d GiB, want the 70 that are left", l.Bytes/gib)
	}
	b.wantKinds()
	b.look(50 * time.Millisecond)
	b.wantKinds(Demoted)
	b.look(199 * time.Millisecond)
	b.wantKinds()
	b.look(time.Millisecond)
	b.wantKinds(Checkpointed)
	b.slice("borrower").Residence = Leaving
	b.pass(40 * time.Second)
	b.wantKinds() // a slow checkpoint is waited for
	b.slice("borrower").Residence = Parked
	b.slice("owner").Used, b.slice("owner").Wanted = 30*gib, 0
	b.pass(30 * time.Second)
	b.wantKinds() // 70 beside 30 do not leave the spare
	b.slice("owner").Used = 20 * gib
	b.pass(2100 * time.Millisecond)
	b.wantKinds(Restored)
}

func TestABorrowerThatGivesBackIsLeftAlone(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 80))
	b.slice("owner").Wanted = 30 * gib
	b.look(50 * time.Millisecond)
	b.slice("borrower").Used = 49 * gib
	b.slice("owner").Used, b.slice("owner").Wanted = 30*gib, 0
	b.look(50 * time.Millisecond)
	b.wantKinds(Refused, Trimmed, Released)
	b.pass(5 * time.Second)
	if l := b.limit("borrower").Bytes; l != 49*gib {
		t.Errorf("the owner was short just now, and the borrower may have %d GiB, want 49: the guarantee stays set aside", l/gib)
	}
	b.pass(10 * time.Second)
	if l := b.limit("borrower").Bytes; l != 69*gib {
		t.Errorf("the owner has been calm, and the borrower may have %d GiB, want 69", l/gib)
	}
	b.wantKinds()
}

func TestNobodyIsEndedBeforeGrace(t *testing.T) {
	for _, can := range []bool{false, true} {
		b := newBench(t, owner(50), borrower(20, 80))
		b.sample.CanCheckpoint = can
		b.slice("borrower").Residence = Fixed
		b.slice("owner").Wanted = 30 * gib
		b.look(50 * time.Millisecond)
		b.pass(29 * time.Second)
		b.wantKinds(Refused, Trimmed, Demoted)
		b.pass(time.Second)
		b.wantKinds(Ended)
	}
}

func TestGraceIsTheSamples(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 80))
	b.sample.CanCheckpoint, b.sample.Grace = false, 5*time.Second
	b.slice("owner").Wanted = 30 * gib
	b.look(50 * time.Millisecond)
	b.pass(4900 * time.Millisecond)
	b.wantKinds(Refused, Trimmed, Demoted)
	b.pass(100 * time.Millisecond)
	b.wantKinds(Ended)
}

func TestANewSliceFindsItsMemory(t *testing.T) {
	b := newBench(t, borrower(20, 99))
	b.sample.Slices = append(b.sample.Slices, owner(50))
	b.look(50 * time.Millisecond)
	b.pass(300 * time.Millisecond)
	b.wantKinds(Refused, Trimmed, Demoted, Checkpointed)
	for _, a := range b.plan.Actions {
		if a.Reason != NewSlice || a.For != "owner" {
			t.Errorf("%s for %s because of %s, want for the owner, %s", a.Kind, a.For, a.Reason, NewSlice)
		}
	}
	b.slice("borrower").Residence = Fixed
	b.pass(50 * time.Second)
	b.wantKinds() // it has not asked for memory yet, so nobody is ended for it
	b.slice("borrower").Used = 49 * gib
	b.look(50 * time.Millisecond)
	b.wantKinds(Released)
}

func TestAnAgentThatReturnsIsNoArrival(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 80))
	if l := b.limit("borrower").Bytes; l != 80*gib {
		t.Errorf("after a restart the borrower may have %d GiB, want the 80 that it has", l/gib)
	}
	b.pass(5 * time.Second)
	b.wantKinds()
}

func TestAWantBeyondTheGuaranteeIsNobodysDebt(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 80))
	b.slice("owner").Used, b.slice("owner").Wanted = 20*gib, 40*gib
	b.pass(time.Minute)
	b.wantKinds()
}

func TestLimitsDoNotFlap(t *testing.T) {
	b := newBench(t, owner(50), borrower(20, 20))
	b.pass(3 * time.Second)
	changes, last := 0, b.limit("borrower").Bytes
	for i := range 200 {
		b.slice("owner").Used = uint64(i%2) * 10 * gib
		b.look(50 * time.Millisecond)
		if l := b.limit("borrower").Bytes; l != last {
			changes, last = changes+1, l
		}
	}
	if changes > 12 {
		t.Errorf("in 10 s of an owner that comes and goes the limit changed %d times, want at most once a second", changes)
	}
}
