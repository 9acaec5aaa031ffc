// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer"
)

func TestAStoppedProcessCostsOthersAMomentOnce(t *testing.T) {
	for phase := range time.Duration(40) {
		s := New(Config{Seed: 1}, []Job{on("stopped", 500, Loop(1, milli)), on("other", 500, Loop(2, milli))})
		s.Run(time.Second + phase*milli/2)
		s.Stop("stopped")
		s.Run(3*time.Second - phase*milli/2)
		// The patience of 200 ms, and from then on all of the GPU.
		if had := s.Usage("other").Busy("0", time.Second, 4*time.Second); had < 2750*milli {
			t.Errorf("stopped at %v: the other one has had %v of 3 s", phase*milli/2, had)
		}
		s.Continue("stopped")
		s.Run(3 * time.Second)
		// It pays back what it held, and has its half again.
		expectShare(t, s, "stopped", time.Second, 6*time.Second, 7*time.Second, 0.5, 2)
	}
}

func TestALongStopIsNotPaidBackForEver(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{on("stopped", 500, Loop(1, milli)), on("other", 500, Loop(2, milli))})
	s.Run(time.Second)
	s.Stop("stopped")
	s.Run(100 * time.Second)
	s.Continue("stopped")
	s.Run(10 * time.Second)
	// It owes two seconds at most, and works them off with its half in four.
	expectShare(t, s, "stopped", time.Second, 106*time.Second, 111*time.Second, 0.5, 2)
}

// TestAStoppedProcessDoesNotShiftTheSharesOfOthers lets two go on beside one that
// never gives its lease back: what is left is theirs by weight.
func TestAStoppedProcessDoesNotShiftTheSharesOfOthers(t *testing.T) {
	s := New(Config{Seed: 1}, []Job{on("stopped", 250, Loop(1, milli)), on("half", 500, Loop(2, milli)), on("quarter", 250, Loop(3, milli))})
	s.Run(time.Second)
	s.Stop("stopped")
	s.Run(9 * time.Second)
	expectShare(t, s, "half", time.Second, 2*time.Second, 10*time.Second, 2./3, 2)
	expectShare(t, s, "quarter", time.Second, 2*time.Second, 10*time.Second, 1./3, 2)
}

func TestAKilledProcessLeavesNoLease(t *testing.T) {
	for phase := range time.Duration(40) {
		s := New(Config{Seed: 1}, []Job{on("killed", 500, Loop(1, milli)), on("other", 500, Loop(2, milli))})
		s.Run(time.Second + phase*milli/2)
		s.Kill("killed")
		s.Run(time.Second - phase*milli/2)
		if had := s.Usage("other").Busy("0", 1100*milli, 2*time.Second); had < 895*milli {
			t.Errorf("killed at %v: the other one has had %v of 900 ms", phase*milli/2, had)
		}
	}
}

func TestARecordOfANodeReplays(t *testing.T) {
	var record []sharer.Entry
	c := Config{Seed: 2}
	c.Arbiter.Record = func(e sharer.Entry) { record = append(record, e) }
	s := New(c, []Job{on("a", 300, Loop(1, milli)), on("b", 700, Loop(2, 5*milli))})
	s.Run(2 * time.Second)
	if err := sharer.Replay(sharer.Config{}, record); err != nil || len(record) < 100 {
		t.Errorf("%d entries: %v", len(record), err)
	}
}
