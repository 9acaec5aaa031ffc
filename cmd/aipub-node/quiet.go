// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/attach"
)

// quietTime is how long the log says nothing more of one kind.
const quietTime = time.Minute

// findingKind is what a container can do over and over, each time with another
// process.
type findingKind struct {
	reason attach.Reason
	slice  gpu.SliceID
}

// quiet keeps what containers do from flooding the log: of each kind the first is
// said, and then one a minute with how many there were.
type quiet map[findingKind]hushed

type hushed struct {
	said  time.Time
	times int // since then
}

// due takes one in and reports whether to say so, and of how many.
func (q quiet) due(now time.Time, kind findingKind) (times int, say bool) {
	h := q[kind]
	h.times++
	if say = now.Sub(h.said) >= quietTime; say {
		times, h = h.times, hushed{said: now}
	}
	q[kind] = h
	return times, say
}

// forget drops what nobody has done for long.
func (q quiet) forget(now time.Time) {
	for kind, h := range q {
		if now.Sub(h.said) >= 2*quietTime {
			delete(q, kind)
		}
	}
}
