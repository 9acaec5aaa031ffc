// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer"
)

func TestAComplaintIsSaidAtOnceAndThenOnceAMinute(t *testing.T) {
	var c complaint
	now, lines, cases := sharer.Instant(time.Hour), 0, 0
	for range 10 * 60 * 2 { // ten minutes, twice a second
		if n, say := c.due(now); say {
			lines++
			cases += n
		}
		now = now.Add(500 * time.Millisecond)
	}
	if lines != 10 || cases != 9*120+1 {
		t.Errorf("%d lines tell of %d cases, want 10, the last of them at minute 9, of %d", lines, cases, 9*120+1)
	}
	now = now.Add(time.Hour)
	if n, say := c.due(now); !say || n != 120 {
		t.Errorf("after an hour of quiet: said %v, of %d cases, want the new one and the 119 before", say, n)
	}
}
