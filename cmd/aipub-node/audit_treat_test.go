// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
)

// An eviction that a disruption budget forbids is tried again, and not said
// twice a second.
func TestATreatmentThatFailsIsTriedAgainAndSaidOnceAMinute(t *testing.T) {
	var n attempts
	tries, said := 0, 0
	now := sharer.Instant(time.Hour)
	for range int(10 * time.Minute / auditEvery) {
		if !n.done && now >= n.next {
			tries++
			if n.loud(now) {
				said++
			}
			n = n.after(now, failed)
		}
		now = now.Add(auditEvery)
	}
	if tries != 60 || said != 10 {
		t.Errorf("in ten minutes it was tried %d times and said %d times, want 60 and 10", tries, said)
	}
	if n = n.after(now, nothing); n.done {
		t.Error("it is done without having been treated")
	}
	if n = n.after(now, treatedNow); !n.done {
		t.Error("it is not done when it was treated")
	}
}

// What processes write of themselves is cut to what the slice may have; where that
// has no limit there is nothing to hold it against.
func TestMemoryThatCannotBeIsNotReported(t *testing.T) {
	for name, tc := range map[string]struct{ says, now, most, want uint64 }{
		"possible":                {5, 10, 10, 5},
		"within what it borrows":  {15, 10, 20, 15},
		"more than it can be":     {1 << 62, 10, 20, 20},
		"more, and never lent to": {1 << 62, 10, 0, 10},
		"no limit":                {1000, 0, 0, 1000},
	} {
		v := socket.SliceView{Slice: socket.Slice{MemoryBytes: tc.now, MaxMemoryBytes: tc.most}, Memory: socket.Memory{Committed: tc.says}}
		if got := possible(v); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
