// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"time"

	"aipub.io/aipub/sharer"
)

type clockKey = ledgerKey

// clock adds up, over a window, how long the driver and the process itself say
// that it kept a GPU busy.
type clock struct {
	from, last sharer.Instant
	start, now account
	seen       time.Duration // as the driver says, since from
	short      bool          // in the last full window that says so too little was accounted for
	clearly    int           // such windows in a row in which far too little was
	detail     string
}

// account is what explains that a GPU is busy, in total.
type account struct {
	said   time.Duration // by the process
	leased time.Duration // by the agent, to its container
}

// The driver samples several times a second and in whole percents; a window is
// long enough to make little of that, and the rest is forgiven.
const (
	busyWindow = 5 * time.Second
	// busyGap is the longest time between two looks that a window spans.
	busyGap = 2 * time.Second
	// busyForgiven is the part of a window that may be unexplained, and busyNoise
	// the part that measurement may be wrong by at the very most.
	busyForgiven = 0.15
	busyNoise    = 0.25
	// busyProof is how many windows in a row it takes to be sure: none of what an
	// honest program does stays unexplained for so long.
	busyProof = 3
)

// unaccountedTime finds processes that keep a GPU busy for longer than they say
// and than their container has had it: work that is launched past the library.
func (a *Auditor) unaccountedTime(ix index) []Finding {
	clocks := map[clockKey]clock{}
	var found []Finding
	for _, p := range ix.OnGPU {
		pl, key := ix.place(p), clockKey{p.Process, p.GPU}
		c, seen := a.clocks[key]
		if pl.verdict != isFine || (!seen && p.BusyPercent < 0) {
			continue
		}
		now, inFlight, ungated := ix.account(p)
		if !seen || c.now.said > now.said || c.now.leased > now.leased || ix.At.Sub(c.last) > busyGap {
			// New, or counted anew: by another program, or an agent that returned.
			c = clock{from: ix.At, last: ix.At, start: now, now: now}
		}
		c.advance(ix.At, now, inFlight, min(max(p.BusyPercent, 0), 100))
		clocks[key] = c
		if c.short {
			f := Finding{Reason: UnaccountedTime, Slice: pl.slice, GPU: p.GPU, Process: p.Process, Container: p.Container}
			f.Message = message(f, c.detail)
			f.Unsure = c.clearly < busyProof || p.Overlaps || ungated
			found = append(found, f)
		}
	}
	a.clocks = clocks
	return found
}

func (c *clock) advance(now sharer.Instant, total account, inFlight bool, percent int) {
	c.seen += now.Sub(c.last) * time.Duration(percent) / 100
	c.last, c.now = now, total
	length := now.Sub(c.from)
	if length < busyWindow {
		return
	}
	said, leased := total.said-c.start.said, total.leased-c.start.leased
	lacks := float64(c.seen-max(said, leased)) / float64(length)
	if lacks <= busyForgiven {
		c.short = false
	}
	if lacks <= busyNoise {
		c.clearly = 0
	}
	if !inFlight { // else it is told of when that ends: the window says nothing
		c.short = lacks > busyForgiven
		if lacks > busyNoise {
			c.clearly++
		}
	}
	c.detail = fmt.Sprintf("%s of %s, and says %s",
		c.seen.Round(time.Millisecond), length.Round(time.Millisecond), said.Round(time.Millisecond))
	c.from, c.start, c.seen = now, total, 0
}

// account is what explains how busy a process keeps a GPU. Of a page that is
// damaged nothing is believed.
func (ix index) account(p OnGPU) (total account, inFlight, ungated bool) {
	for _, at := range ix.attached[p.Process] {
		sl := ix.slices[at.Slice]
		if sl.GPU != p.GPU {
			continue
		}
		total.leased = max(total.leased, sl.Leased) // they have their leases together
		if sl.Damage > 0 {
			continue
		}
		total.said += at.Busy
		inFlight, ungated = inFlight || at.InFlight, ungated || at.Ungated
	}
	return total, inFlight, ungated
}
