// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

// pauses issues one command after another, each with the same pause after the end of
// the one before.
func pauses(length, pause time.Duration) Program {
	return &Requests{Gap: func(*rand.Rand) time.Duration { return pause }, Closed: true, Commands: 1, Length: length}
}

// What a tenant used is the time that it had the GPU: its commands, the pauses between
// them for which it kept the lease, and what it costs to give a lease and take it back.
// No time is counted twice, and none in which it had no lease.
func TestUsedIsTheTimeThatATenantHadTheGPU(t *testing.T) {
	const long = 10 * time.Second
	for name, tc := range map[string]struct {
		jobs []Job
		// The least and the most of what was used beyond the commands, in parts of the commands.
		least, most float64
	}{
		"alone, without pauses":      {[]Job{on("a", 500, Loop(1, milli))}, -0.001, 0.001},
		"two, without pauses":        {[]Job{on("a", 500, Loop(1, milli)), on("b", 500, Loop(2, milli))}, 0, 0.04},
		"eight, without pauses":      {eight(Loop), 0, 0.04},
		"long kernels":               {[]Job{on("a", 500, Loop(1, 50*milli)), on("b", 500, Loop(2, 50*milli))}, 0, 0.01},
		"alone, pauses within":       {[]Job{on("a", 500, pauses(100*micro, 100*micro))}, 0.9, 1.3},
		"alone, pauses beyond":       {[]Job{on("a", 500, pauses(100*micro, 5*milli))}, 1, 6},
		"beside another, and pauses": {[]Job{on("a", 500, pauses(milli, 100*micro)), on("b", 500, Loop(2, milli))}, 0.05, 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{Seed: 1}, tc.jobs)
			s.Run(long)
			sum := time.Duration(0)
			for _, st := range s.Arbiter().Stats() {
				busy := s.Usage(st.Tenant).Busy("0", 0, long)
				sum += st.Used
				t.Logf("%s: used %v, commands took %v, %d leases; beyond %.1f %%", st.Tenant, st.Used, busy, st.Leases, 100*float64(st.Used-busy)/float64(busy))
				if beyond := float64(st.Used-busy) / float64(busy); st.Tenant == "a" && (beyond < tc.least || beyond > tc.most) {
					t.Errorf("it used %v for commands of %v: %.3f beyond them, want %.3f to %.3f", st.Used, busy, beyond, tc.least, tc.most)
				}
			}
			if sum > long {
				t.Errorf("all used %v of %v", sum, long)
			}
		})
	}
}

func eight(loop func(uint64, ...time.Duration) Program) (all []Job) {
	for i := range 8 {
		all = append(all, on(string(rune('a'+i)), 125, loop(uint64(i), milli)))
	}
	return all
}
