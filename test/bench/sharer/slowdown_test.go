// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"testing"
	"time"

	"aipub.io/aipub/sharer/sim"
)

// BenchmarkOwnerSlowdown serves open-loop Poisson requests of an owner, at half
// of the GPU's capacity, and compares their latency with that on a GPU without a
// sharer: with nobody else there, and beside a guest that always has work and a
// guarantee of 1 %. The figures are those of requests of 50 ms GPU time beside
// kernels of 1 ms. The table holds others, and a guest with half of the GPU,
// where the comparison is with a guest that may not borrow.
func BenchmarkOwnerSlowdown(b *testing.B) {
	for b.Loop() {
		table := []string{"request, ms | guest's kernels | compared with | mean, % | p99, %"}
		row := func(request int, guest, with string, base, got []time.Duration) (m, p float64) {
			m = 100 * (mean(got)/mean(base) - 1)
			p = 100 * (quantile(got, 0.99)/quantile(base, 0.99) - 1)
			table = append(table, fmt.Sprintf("%d | %s | %s | %.2f | %.2f", request, guest, with, m, p))
			return m, p
		}
		var alone, alone99, beside, beside99 float64
		for _, request := range []int{10, 25, 50, 100} {
			native := latencies(sim.Config{Seed: 9, Ungated: true}, request, 990, nil)
			m, p := row(request, "none", "no sharer", native, latencies(sim.Config{Seed: 9}, request, 990, nil))
			if request == 50 {
				alone, alone99 = m, p
			}
			for _, k := range []time.Duration{200 * micro, milli, 5 * milli, 50 * milli} {
				guest := job("guest", 10, sim.Loop(1, k))
				m, p := row(request, fmt.Sprint(k), "no sharer", native, latencies(sim.Config{Seed: 9}, request, 990, &guest))
				if request == 50 && k == milli {
					beside, beside99 = m, p
				}
			}
			for _, k := range []time.Duration{milli, 50 * milli} {
				lends, keeps := job("guest", 500, sim.Loop(1, k)), job("guest", 500, sim.Loop(1, k))
				keeps.Borrow = false
				row(request, fmt.Sprint(k), "a guest of 50 % that does not borrow",
					latencies(sim.Config{Seed: 9}, request, 500, &keeps), latencies(sim.Config{Seed: 9}, request, 500, &lends))
			}
		}
		figure(b, "sharer.owner_slowdown_percent", beside, "%", table)
		figure(b, "sharer.owner_slowdown_percent.p99", beside99, "%", nil)
		figure(b, "sharer.owner_slowdown_percent.alone", alone, "%", nil)
		figure(b, "sharer.owner_slowdown_percent.alone_p99", alone99, "%", nil)
	}
}

// latencies of an owner's requests, of so many commands of 1 ms, arriving at half
// of what its guarantee can serve.
func latencies(c sim.Config, request, permille int, guest *sim.Job) []time.Duration {
	gap := 2 * time.Duration(request) * milli * 1000 / time.Duration(permille)
	jobs := []sim.Job{job("owner", permille, bursts(11, gap, request, 0))}
	if guest != nil {
		jobs = append(jobs, *guest)
	}
	s := sim.New(c, jobs)
	s.Run(1000 * gap)
	return s.Usage("owner").Latencies
}
