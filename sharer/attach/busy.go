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
	begun              bool // what may have been in flight before there was the clock is done
	short              bool // in the last full window that says so too little was accounted for
	clearly            int  // such windows in a row in which far too little was
	detail             string
	ungated            bool // at last
}

// account is what explains that a GPU is busy, in total.
type account struct {
	said     time.Duration // by the process
	leased   time.Duration // by the agent, to its container
	overdue  time.Duration // since its container's lease was taken by force
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
	// busyHeld is how long work may be in flight where others should have the GPU
	// before that is told. It is not treated: one kernel may take so long.
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
		// New, or of an agent that was away. What a process that came later has in
		// flight is of this agent's leases.
		later := !seen && ix.At.Sub(a.first) > busyGap
		c = clock{from: ix.At, last: ix.At, now: now, begun: later}
	}
	c.ungated = ungated
	c.advance(ix.At, now, inFlight, min(max(p.BusyPercent, 0), 100))
	return c, true
}

// advance takes in a sample. Work is launched only under a lease, and is done when
// that is drained, so the time of leases explains all that an honest process does,
// whatever it says. The exception is what was launched before there was this agent,
// and may be in flight until the library was seen idle or launching. After that no
// mark of work in flight excuses anything.
func (c *clock) advance(now sharer.Instant, total account, inFlight bool, percent int) {
	c.seen += now.Sub(c.last) * time.Duration(percent) / 100
	c.said += max(0, total.said-c.now.said) // a count that goes back says nothing
	c.leased += total.leased - c.now.leased
	old := c.now
	c.last, c.now = now, total
	length := now.Sub(c.from)
	if !c.begun {
		if c.begun = !inFlight || total.launches != old.launches; c.begun {
			c.short = false
			c.restart()
		} else if c.describe(length); gradeOf(c.seen-c.said, length) != explained {
			c.tell(length)
		}
		return
	}
	if length < busyWindow {
		return
	}
	c.describe(length)
	says := gradeOf(c.seen-max(c.said, c.leased), length)
	c.short = says != explained
	if c.clearly++; says != clearlyShort {
		c.clearly = 0
	}
	if says == explained && gradeOf(c.seen-c.said, length) != explained {
		c.tell(total.overdue)
	}
	c.restart()
}

func (c *clock) describe(length time.Duration) {
	c.detail = fmt.Sprintf("%s of %s, and says %s",
		c.seen.Round(time.Millisecond), length.Round(time.Millisecond), c.said.Round(time.Millisecond))
}

// tell makes a finding of work that is in flight for minutes.
func (c *clock) tell(since time.Duration) {
	if since < busyHeld {
		return
	}
	c.short = true
	c.detail += fmt.Sprintf("; what is in flight since %s may be one kernel that takes so long", since.Round(time.Second))
}

// restart begins a window.
func (c *clock) restart() { c.from, c.seen, c.said, c.leased = c.last, 0, 0, 0 }

// grade is what the unexplained part of a window says.
type grade int

const (
	explained grade = iota
	short
	clearlyShort // measurement cannot be wrong by so much
)

func gradeOf(lacks, length time.Duration) grade {
	if length <= 0 {
		return explained
	}
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
		// They have their leases together.
		total.leased, total.overdue = max(total.leased, sl.Leased), max(total.overdue, sl.Overdue)
		if sl.Damage > 0 {
			continue
		}
		total.said += at.Busy
		total.launches += at.Launches
		inFlight, ungated = inFlight || at.InFlight, ungated || at.Ungated
	}
	return total, inFlight, ungated
}
