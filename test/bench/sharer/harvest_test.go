// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"aipub.io/aipub/sharer/sim"
)

// hour is a day of the diurnal traces: long against every time of the arbiter.
const hour = 20 * time.Second

// traces are mixtures of owners that are idle for a while and guests that are not.
var traces = []struct {
	name string
	jobs func() []sim.Job
}{
	{"one bursty owner 50 %, one training loop 50 %", func() []sim.Job {
		return []sim.Job{job("owner", 500, bursts(1, 100*milli, 20, 0)), job("loop", 500, sim.Loop(1, milli))}
	}},
	{"four bursty owners 20 %, one training loop 20 %", func() []sim.Job {
		jobs := []sim.Job{job("loop", 200, sim.Loop(1, milli))}
		for i := range uint64(4) {
			jobs = append(jobs, job(fmt.Sprint("owner", i), 200, bursts(i, 100*milli, 10, 0)))
		}
		return jobs
	}},
	{"many short wakes: owner of 2 ms each 10 ms, loop", func() []sim.Job {
		return []sim.Job{job("owner", 500, bursts(1, 10*milli, 2, 0)), job("loop", 500, sim.Loop(1, 200*micro))}
	}},
	{"diurnal: two owners, quiet two thirds of the day, loop of 5 ms graphs", func() []sim.Job {
		return []sim.Job{
			job("owner0", 400, bursts(1, 50*milli, 20, 0.67)), job("owner1", 400, bursts(2, 80*milli, 20, 0.67)),
			job("loop", 200, sim.Loop(1, 5*milli)),
		}
	}},
	{"bursty owners only, none always busy", func() []sim.Job {
		var jobs []sim.Job
		for i := range uint64(4) {
			jobs = append(jobs, job(fmt.Sprint("owner", i), 250, bursts(i, 60*milli, 15, 0)))
		}
		return jobs
	}},
}

// bursts are requests that arrive whatever has become of those before.
func bursts(seed uint64, gap time.Duration, commands int, quiet float64) sim.Program {
	r := &sim.Requests{
		Gap: sim.Poisson(gap), Commands: commands, Length: milli, Random: rand.New(rand.NewPCG(seed, 4)), Quiet: quiet,
	}
	if quiet > 0 {
		r.Period = hour
	}
	return r
}

// BenchmarkHarvest reports how much of the GPU time that a GPU without any
// sharer would have used (the same work, launched at will, worked off without a
// pause) is used under the arbiter; of the worst trace. The table also says what
// static shares would have used.
func BenchmarkHarvest(b *testing.B) {
	const span = 3 * hour
	for b.Loop() {
		worst := 100.0
		table := []string{"trace | used, % of the work-conserving ideal | static shares, %"}
		for _, tr := range traces {
			ideal := used(sim.Config{Seed: 5, Ungated: true}, tr.jobs(), span)
			shared := used(sim.Config{Seed: 5}, tr.jobs(), span)
			static := tr.jobs()
			for i := range static {
				static[i].Lend, static[i].Borrow = false, false
			}
			fixed := used(sim.Config{Seed: 5}, static, span)
			table = append(table, fmt.Sprintf("%s | %.2f | %.2f", tr.name, 100*shared/ideal, 100*fixed/ideal))
			worst = min(worst, 100*shared/ideal)
		}
		figure(b, "sharer.harvest_percent", worst, "%", table)
	}
}

// used is the GPU time in seconds that all jobs had together.
func used(c sim.Config, jobs []sim.Job, span time.Duration) float64 {
	s := sim.New(c, jobs)
	s.Run(span)
	total := 0.0
	for _, j := range jobs {
		total += s.Usage(j.ID).Busy(gpu, 0, span).Seconds()
	}
	return total
}
