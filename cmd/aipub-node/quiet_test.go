// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer/attach"
)

func TestTheLogSaysOfEachKindOnceAMinute(t *testing.T) {
	q, now := quiet{}, time.Now()
	one, other := findingKind{attach.NotAttached, "a"}, findingKind{attach.NotAttached, "b"}
	lines, cases := map[findingKind]int{}, map[findingKind]int{}
	for i := range 1200 { // ten minutes, twice a second
		for _, kind := range []findingKind{one, other} {
			if kind == other && i != 7 {
				continue
			}
			if n, say := q.due(now, kind); say {
				lines[kind]++
				cases[kind] += n
			}
		}
		now = now.Add(500 * time.Millisecond)
	}
	if lines[one] != 10 || cases[one] != 9*120+1 || lines[other] != 1 || cases[other] != 1 {
		t.Errorf("lines %v tell of %v cases; want 10 of the first kind, of %d, and one of the other", lines, cases, 9*120+1)
	}
	q.forget(now)
	if _, kept := q[other]; kept || len(q) != 1 {
		t.Errorf("%v is remembered, want the first kind alone", q)
	}
}
