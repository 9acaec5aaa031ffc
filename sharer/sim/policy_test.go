// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
)

const (
	micro = time.Microsecond
	milli = time.Millisecond
)

// on is a tenant of one GPU that lends and borrows.
func on(id string, permille int, programs ...Program) Job {
	return Job{
		Tenant: sharer.Tenant{
			ID: sharer.TenantID(id), Legs: []sharer.Leg{{GPU: "0", Permille: permille}}, Lend: true, Borrow: true,
		},
		Programs: programs,
	}
}

// expectShare fails when a tenant's share in any window differs from a target by
// more than so many hundredths.
func expectShare(t *testing.T, s *Sim, id sharer.TenantID, window, from, to time.Duration, target, points float64) {
	t.Helper()
	for i, share := range s.Usage(id).Shares("0", window, from, to) {
		if math.Abs(share-target)*100 > points {
			t.Errorf("%s has %.2f %% of the GPU in window %d of %v, want %.0f ± %.1f", id, 100*share, i, window, 100*target, points)
		}
	}
}

func TestBusyTenantsHaveTheirShares(t *testing.T) {
	for _, kernel := range []time.Duration{200 * micro, milli, 5 * milli, 20 * milli} {
		for permille := 100; permille < 1000; permille += 100 {
			s := New(Config{Seed: 1}, []Job{on("a", permille, Loop(1, kernel)), on("b", 1000-permille, Loop(2, kernel))})
			s.Run(6 * time.Second)
			// A window cuts at most one turn at each end.
			bound := 1.5 + float64(kernel)/float64(10*milli)
			expectShare(t, s, "a", time.Second, time.Second, 6*time.Second, float64(permille)/1000, bound)
			expectShare(t, s, "b", time.Second, time.Second, 6*time.Second, 1-float64(permille)/1000, bound)
		}
	}
}

// TestASmallSliceLosesNoMoreToChanges makes them dear: a switch and two messages.
func TestASmallSliceLosesNoMoreToChanges(t *testing.T) {
	c := Config{Seed: 1, Switch: 300 * micro, Arbiter: sharer.Config{Handover: -1, Change: 420 * micro}}
	for _, permille := range []int{100, 300} {
		s := New(c, []Job{on("small", permille, Loop(1, milli)), on("large", 1000-permille, Loop(2, milli))})
		s.Run(21 * time.Second)
		small, large := s.Usage("small").Busy("0", time.Second, 21*time.Second), s.Usage("large").Busy("0", time.Second, 21*time.Second)
		part := float64(small) / float64(small+large)
		if want := float64(permille) / 1000; math.Abs(part/want-1) > 0.02 {
			t.Errorf("the small slice has %.4f of what both have, want %.2f", part, want)
		}
	}
}

// TestGivingLeasesBackBuysNothing lets a tenant take a turn for a moment, again and
// again, that is hardly longer than a change.
func TestGivingLeasesBackBuysNothing(t *testing.T) {
	s := New(Config{Seed: 1, Arbiter: sharer.Config{Linger: 1}}, []Job{
		on("short", 50, &Requests{
			Gap: func(*rand.Rand) time.Duration { return 350 * micro }, Closed: true, Commands: 1, Length: 100 * micro,
		}),
		on("other", 950, Loop(2, milli)),
	})
	s.Run(11 * time.Second)
	if short := s.Usage("short").Shares("0", 10*time.Second, time.Second, 11*time.Second)[0]; short > 0.05 {
		t.Errorf("it has %.3f of the GPU, want at most 0.05", short)
	}
	// The changes themselves take some of what is left.
	if other := s.Usage("other").Shares("0", 10*time.Second, time.Second, 11*time.Second)[0]; other < 0.9 {
		t.Errorf("the other one has %.3f of the GPU, want at least 0.9", other)
	}
}

func TestShareDoesNotDependOnTheLengthOfKernels(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{on("long", 300, Loop(1, 50*milli)), on("short", 700, Loop(2, 100*micro))})
	s.Run(21 * time.Second)
	expectShare(t, s, "long", 10*time.Second, time.Second, 21*time.Second, 0.3, 1)
	expectShare(t, s, "short", 10*time.Second, time.Second, 21*time.Second, 0.7, 1)
}

func TestProcessesOfATenantShareItsTime(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{
		on("many", 500, Loop(1, milli), Loop(2, milli), Loop(3, milli), Loop(4, milli)), on("one", 500, Loop(5, milli)),
	})
	s.Run(11 * time.Second)
	expectShare(t, s, "many", 10*time.Second, time.Second, 11*time.Second, 0.5, 1)
	expectShare(t, s, "one", 10*time.Second, time.Second, 11*time.Second, 0.5, 1)
}

func TestIdleTimeIsLentByWeight(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{on("idle", 600), on("a", 100, Loop(1, milli)), on("b", 300, Loop(2, milli))})
	s.Run(11 * time.Second)
	expectShare(t, s, "a", 10*time.Second, time.Second, 11*time.Second, 0.25, 1)
	expectShare(t, s, "b", 10*time.Second, time.Second, 11*time.Second, 0.75, 1)
	idle, b := s.Arbiter().Stats()[0], s.Arbiter().Stats()[2]
	if lent := idle.Lent.Seconds() / 11; math.Abs(lent-0.6) > 0.02 {
		t.Errorf("the idle tenant has lent %.2f of the GPU, want 0.6", lent)
	}
	if borrowed := b.Borrowed.Seconds() / 11; math.Abs(borrowed-0.45) > 0.02 {
		t.Errorf("b has borrowed %.2f of the GPU, want 0.45", borrowed)
	}
}

func TestCapsHoldAloneAndInCompany(t *testing.T) {
	cases := []struct {
		name     string
		permille int
		borrow   bool
		most     int
		company  bool
		kernel   time.Duration
		want     float64
	}{
		{"no borrowing, alone", 300, false, 0, false, milli, 0.3},
		{"no borrowing, alone, long kernels", 300, false, 0, false, 20 * milli, 0.3},
		{"no borrowing, in company", 300, false, 0, true, milli, 0.3},
		{"at most 0.6, alone", 300, true, 600, false, milli, 0.6},
		{"at most 0.6, in company", 300, true, 600, true, milli, 0.3},
		{"a cap below the guarantee", 300, true, 100, false, milli, 0.3},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			x := on("x", tc.permille, Loop(1, tc.kernel))
			x.Borrow, x.MaxPermille = tc.borrow, tc.most
			jobs := []Job{x, on("other", 1000-tc.permille)}
			if tc.company {
				jobs[1].Programs = []Program{Loop(2, milli)}
			}
			s := New(Config{Seed: 1}, jobs)
			s.Run(6 * time.Second)
			expectShare(t, s, "x", time.Second, time.Second, 6*time.Second, tc.want, 1+float64(tc.kernel)/float64(10*milli))
		})
	}
}

func TestACapHoldsAfterTimesOfLess(t *testing.T) {
	x := on("x", 300, Loop(1, milli))
	x.MaxPermille = 600
	other := on("other", 700, &ending{at: sharer.Instant(5 * time.Second), Program: Loop(2, milli)})
	s := New(Config{Seed: 1}, []Job{x, other})
	s.Run(8 * time.Second)
	expectShare(t, s, "x", time.Second, time.Second, 5*time.Second, 0.3, 1.5)
	expectShare(t, s, "x", time.Second, 5*time.Second, 8*time.Second, 0.6, 1.5)
	x.Borrow = false
	s.Update([]sharer.Tenant{x.Tenant, other.Tenant})
	s.Run(3 * time.Second)
	expectShare(t, s, "x", time.Second, 8*time.Second, 11*time.Second, 0.3, 1.5)
}

// ending ends a program at a moment.
type ending struct {
	at sharer.Instant
	Program
}

func (e *ending) Next(now sharer.Instant) (Step, bool) {
	if now >= e.at {
		return Step{}, false
	}
	return e.Program.Next(now)
}

func TestTimeThatIsNotLentStaysUnused(t *testing.T) {
	keeper := on("keeper", 500)
	keeper.Lend = false
	s := New(Config{Seed: 1}, []Job{keeper, on("idle", 100), on("busy", 400, Loop(1, milli))})
	s.Run(11 * time.Second)
	// It borrows from idle, and nothing from keeper.
	expectShare(t, s, "busy", 10*time.Second, time.Second, 11*time.Second, 0.5, 1.5)
}

func TestAReturningOwnerTakesNoRevenge(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{
		on("owner", 500, &later{at: sharer.Instant(10 * time.Second), Program: Loop(1, milli)}), on("guest", 500, Loop(2, milli)),
	})
	s.Run(12 * time.Second)
	expectShare(t, s, "owner", time.Second, 11*time.Second, 12*time.Second, 0.5, 1)
	// What it saved is its half of the bank, on top of its half of the time; and a
	// turn may be cut.
	expectShare(t, s, "owner", 100*milli, 10*time.Second, 10*time.Second+100*milli, 0.5, 15)
	if guest := s.Usage("guest").Busy("0", time.Second, 10*time.Second); guest < 8990*milli {
		t.Errorf("the guest has used %v of 9 s in which the owner was idle", guest)
	}
}

// later begins a program at a moment.
type later struct {
	at sharer.Instant
	Program
}

func (l *later) Next(now sharer.Instant) (Step, bool) {
	step, ok := l.Program.Next(now)
	step.At = max(step.At, l.at)
	return step, ok
}

func TestNewWeightsHoldAtOnce(t *testing.T) {
	jobs := []Job{on("a", 200, Loop(1, milli)), on("b", 800, Loop(2, milli))}
	s := New(Config{Seed: 1}, jobs)
	s.Run(3 * time.Second)
	jobs[0].Legs[0].Permille, jobs[1].Legs[0].Permille = 700, 300
	s.Update([]sharer.Tenant{jobs[0].Tenant, jobs[1].Tenant})
	s.Run(3 * time.Second)
	expectShare(t, s, "a", time.Second, time.Second, 3*time.Second, 0.2, 1)
	expectShare(t, s, "a", 500*milli, 3*time.Second, 6*time.Second, 0.7, 2)
}

func TestOwnersHaveTheGPUBackWithinTheBound(t *testing.T) {
	for _, kernel := range []time.Duration{200 * micro, 5 * milli, 50 * milli} {
		for _, n := range []struct{ owners, guests int }{{1, 1}, {1, 7}, {4, 4}, {19, 1}} {
			permille := 1000 / (n.owners + n.guests)
			idle := 4 * milli * 1000 / time.Duration(permille)
			var jobs []Job
			for i := range n.owners {
				r := rand.New(rand.NewPCG(uint64(i), 0))
				gap := func(r *rand.Rand) time.Duration { return idle + time.Duration(r.Int64N(int64(20*milli))) }
				jobs = append(jobs, on(fmt.Sprint("owner", i), permille, &Requests{
					Gap: gap, Closed: true, Commands: 2, Length: milli, Random: r,
				}))
			}
			for i := range n.guests {
				jobs = append(jobs, on(fmt.Sprint("guest", i), permille, Loop(uint64(i), kernel)))
			}
			s := New(Config{Seed: 3}, jobs)
			s.Run(20 * time.Second)
			var waits []time.Duration
			for i := range n.owners {
				u := s.Usage(jobs[i].ID)
				for k, at := range u.Arrivals {
					// Before, all are new and have a bank to spend.
					if at > sharer.Instant(2*time.Second) {
						waits = append(waits, u.Waits[k])
					}
				}
			}
			slices.Sort(waits)
			if p99 := waits[len(waits)*99/100]; p99 > 20*milli+kernel {
				t.Errorf("%d owners, %d guests with kernels of %v: p99 is %v, want at most 20 ms and the kernel", n.owners, n.guests, kernel, p99)
			}
		}
	}
}

func TestAGangHasItsShareBesideOthers(t *testing.T) {
	for _, kernel := range []time.Duration{200 * micro, 5 * milli, 50 * milli} {
		gang := on("gang", 330, Loop(1, kernel))
		gang.Legs = append(gang.Legs, sharer.Leg{GPU: "1", Permille: 330})
		else1 := on("else1", 500, Loop(4, kernel))
		else1.Legs[0].GPU = "1"
		s := New(Config{Seed: 1}, []Job{gang, on("a", 330, Loop(2, kernel)), on("b", 330, Loop(3, kernel)), else1})
		s.Run(11 * time.Second)
		for _, id := range []sharer.TenantID{"gang", "a", "b"} {
			expectShare(t, s, id, 10*time.Second, time.Second, 11*time.Second, 0.33, 2)
		}
		// GPU 1 is kept for the gang at times, and used by the other one meanwhile
		// where its kernels are short enough.
		least := 0.5
		if kernel == 50*milli {
			least = 0.4
		}
		if share := s.Usage("else1").Shares("1", 10*time.Second, time.Second, 11*time.Second)[0]; share < least {
			t.Errorf("kernels of %v: the tenant of GPU 1 has %.2f of it, want at least %.1f", kernel, share, least)
		}
	}
}

func TestRandomGangsAlwaysGetOn(t *testing.T) {
	for seed := range uint64(60) {
		jobs := gangs(rand.New(rand.NewPCG(seed, 0)))
		s := New(Config{Seed: seed}, jobs)
		s.Run(10 * time.Second)
		for _, j := range jobs {
			// Gangs that exclude each other cannot all have their guarantee.
			had := s.Usage(j.ID).Busy(j.Legs[0].GPU, 0, 10*time.Second)
			if least := time.Duration(j.Legs[0].Permille) * milli; had < least {
				t.Errorf("seed %d: %s %v has had %v of 10 s, want at least %v", seed, j.ID, j.Legs, had, least)
			}
		}
	}
}

// gangs are tenants on one to four of four GPUs that always have work.
func gangs(r *rand.Rand) []Job {
	left := [4]int{1000, 1000, 1000, 1000}
	var jobs []Job
	for i := range 2 + r.IntN(7) {
		permille := 50 + r.IntN(450)
		x := sharer.Tenant{ID: sharer.TenantID(fmt.Sprint("t", i)), Lend: true, Borrow: r.IntN(2) == 0}
		for g := range left {
			if r.IntN(2) == 0 && left[g] >= permille {
				left[g] -= permille
				x.Legs = append(x.Legs, sharer.Leg{GPU: fmt.Sprint(g), Permille: permille})
			}
		}
		if len(x.Legs) > 0 {
			kernel := []time.Duration{200 * micro, milli, 5 * milli, 50 * milli}[r.IntN(4)]
			jobs = append(jobs, Job{x, []Program{Loop(1, kernel)}})
		}
	}
	return jobs
}
