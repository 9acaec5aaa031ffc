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
	now        account // at last
	// Since from: what the driver saw, the process said, and the agent leased.
	seen, said, leased time.Duration
	// told is a moment before which all work is told of: what is in flight began
	// later.
	told    sharer.Instant
	short   bool // in the last full window that says so too little was accounted for
	clearly int  // such windows in a row in which far too little was
	detail  string
	ungated bool // at last
}

// account is what explains that a GPU is busy, in total.
type account struct {
	said     time.Duration // by the process
	leased   time.Duration // by the agent, to its container
	launches uint64
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
	// busyHeld is how long work may be in flight before that is told. It is not
	// treated: one kernel may take so long.
	busyHeld = 5 * time.Minute
)

// unaccountedTime finds processes that keep a GPU busy for longer than they say
// and than their container has had it: work that is launched past the library.
func (a *Auditor) unaccountedTime(ix index) []Finding {
	clocks := map[clockKey]clock{}
	var found []Finding
	for _, p := range ix.OnGPU {
		pl := ix.place(p)
		c, ok := a.follow(ix, p, pl.verdict)
		if !ok {
			continue
		}
		clocks[clockKey{p.Process, p.GPU}] = c
		if c.short {
			f := Finding{Reason: UnaccountedTime, Slice: pl.slice, GPU: p.GPU, Process: p.Process, Container: p.Container}
			f.Message = message(f, c.detail)
			f.Unsure = c.clearly < busyProof || p.Overlaps || c.ungated
			found = append(found, f)
		}
	}
	a.clocks = clocks
	return found
}

// follow takes a process's clock on; false: it has none.
func (a *Auditor) follow(ix index, p OnGPU, where verdict) (clock, bool) {
	c, seen := a.clocks[clockKey{p.Process, p.GPU}]
	away := ix.At.Sub(c.last) > busyGap
	switch {
	case where == isLoose:
		return c, seen && !away // who lets its place go for a moment begins no new window
	case where != isFine, !seen && p.BusyPercent < 0:
		return clock{}, false
	}
	now, inFlight, ungated := ix.account(p)
	if !seen || away || c.now.leased > now.leased {
		// New, or of an agent that was away.
		c = clock{from: ix.At, last: ix.At, told: ix.At, now: now}
	}
	c.ungated = ungated
	c.advance(ix.At, now, inFlight, min(max(p.BusyPercent, 0), 100))
	return c, true
}

// advance takes in a sample. What is in flight is told of when it ends: as long as
// that can make a difference to what a window says, the window goes on. The library
// launches only under a lease, and has no lease before all that it launched under
// the one before is told of. So in flight is only what began since it was last seen
// idle or launching; more than that no mark excuses.
func (c *clock) advance(now sharer.Instant, total account, inFlight bool, percent int) {
	c.seen += now.Sub(c.last) * time.Duration(percent) / 100
	c.said += max(0, total.said-c.now.said) // a count that goes back says nothing
	c.leased += total.leased - c.now.leased
	if !inFlight {
		c.told = now
	} else if total.launches != c.now.launches {
		c.told = c.last
	}
	c.last, c.now = now, total
	length := now.Sub(c.from)
	if length < busyWindow {
		return
	}
	lacks := c.seen - max(c.said, c.leased)
	says := gradeOf(lacks, length)
	c.detail = fmt.Sprintf("%s of %s, and says %s",
		c.seen.Round(time.Millisecond), length.Round(time.Millisecond), c.said.Round(time.Millisecond))
	if says != gradeOf(lacks-now.Sub(c.told), length) {
		if length >= busyHeld {
			c.short = true
			c.detail += "; what is in flight may be one kernel that takes so long"
		}
		return
	}
	c.short = says != explained
	if c.clearly++; says != clearlyShort {
		c.clearly = 0
	}
	c.from, c.seen, c.said, c.leased = now, 0, 0, 0
}

// grade is what the unexplained part of a window says.
type grade int

const (
	explained grade = iota
	short
	clearlyShort // measurement cannot be wrong by so much
)

func gradeOf(lacks, length time.Duration) grade {
	switch part := float64(lacks) / float64(length); {
	case part <= busyForgiven:
		return explained
	case part <= busyNoise:
		return short
	}
	return clearlyShort
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
		total.launches += at.Launches
		inFlight, ungated = inFlight || at.InFlight, ungated || at.Ungated
	}
	return total, inFlight, ungated
}
