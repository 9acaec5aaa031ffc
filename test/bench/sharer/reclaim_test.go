// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/sim"
)

// wakes is how many reclaims a case measures, at least; a tenth with long kernels.
const wakes = 10_000

// requests of two commands of a millisecond each. After each the owner is idle at
// least as long as they take of its guarantee, and then for a random time.
func requests(seed uint64, permille int) sim.Program {
	least := 2 * 2 * milli * 1000 / time.Duration(permille)
	more := sim.Poisson(20 * milli)
	return &sim.Requests{
		Gap:    func(r *rand.Rand) time.Duration { return least + more(r) },
		Closed: true, Commands: 2, Length: milli, Random: rand.New(rand.NewPCG(seed, 3)),
	}
}

// BenchmarkReclaim lets owners wake at random while others have the GPU, and
// reports how long it takes from the launch call to the start of the kernel: all
// of the way, with messages and work in flight. An owner uses less than half of its
// guarantee, so that it is owed time whenever it wakes. The figure is the worst
// case with kernels of at most 1 ms; the table holds the others, and what is left
// without the longest kernel.
func BenchmarkReclaim(b *testing.B) {
	kernels := []struct {
		name   string
		length time.Duration
	}{{"200us", 200 * micro}, {"1ms", milli}, {"graph 5ms", 5 * milli}, {"50ms", 50 * milli}, {"300ms", 300 * milli}}
	nodes := []struct {
		name           string
		owners, guests int
	}{{"1 owner, 1 guest", 1, 1}, {"1 owner, 7 guests", 1, 7}, {"4 owners, 4 guests", 4, 4}, {"19 owners, 1 guest", 19, 1}}
	for b.Loop() {
		worst50, worst99 := 0.0, 0.0
		table := []string{"tenants | guests' kernels | p50, ms | p99, ms | longest, ms | p99 less the longest kernel, ms | wakes"}
		for _, n := range nodes {
			for _, k := range kernels {
				waits := reclaims(n.owners, n.guests, k.length)
				p50, p99 := quantile(waits, 0.5), quantile(waits, 0.99)
				rest := p99 - float64(k.length)/float64(milli)
				table = append(table, fmt.Sprintf("%s | %s | %.2f | %.2f | %.2f | %.2f | %d",
					n.name, k.name, p50, p99, quantile(waits, 1), rest, len(waits)))
				if k.length <= milli {
					worst50, worst99 = max(worst50, p50), max(worst99, p99)
				}
			}
		}
		figure(b, "sharer.reclaim_p50_ms", worst50, "ms", table)
		figure(b, "sharer.reclaim_p99_ms", worst99, "ms", nil)
	}
}

// reclaims runs owners that ask for less than half of their guarantee, and guests
// that always have work, and returns the owners' waits.
func reclaims(owners, guests int, kernel time.Duration) []time.Duration {
	permille := 1000 / (owners + guests)
	var jobs []sim.Job
	for i := range owners {
		jobs = append(jobs, job(fmt.Sprint("owner", i), permille, requests(uint64(i), permille)))
	}
	for i := range guests {
		jobs = append(jobs, job(fmt.Sprint("guest", i), permille, sim.Loop(uint64(i), kernel)))
	}
	s := sim.New(sim.Config{Seed: 7}, jobs)
	var waits []time.Duration
	enough := wakes
	if kernel >= 50*milli {
		enough /= 10
	}
	for len(waits) < enough {
		s.Run(50 * time.Second)
		waits = nil
		for i := range owners {
			u := s.Usage(jobs[i].ID)
			for k, at := range u.Arrivals {
				// At first all are new, and spend what a new tenant is given.
				if at > sharer.Instant(5*time.Second) {
					waits = append(waits, u.Waits[k])
				}
			}
		}
	}
	return waits
}
