// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer"
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
