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
	from, last    sharer.Instant
	start, latest time.Duration // as the process says, in total
	seen          time.Duration // as the driver says, since from
	short         bool          // in the last full window the process said too little
	detail        string
}

// The driver samples several times a second and in whole percents; a window is
// long enough to make little of that, and the rest is forgiven.
const (
	busyWindow = 5 * time.Second
	// busyForgiven is the part of a window that may be unexplained.
	busyForgiven = 0.15
)

// unaccountedTime finds processes that keep a GPU busy for longer than they say:
// work that is launched past the library.
func (a *Auditor) unaccountedTime(ix index) []Finding {
	clocks := map[clockKey]clock{}
	var found []Finding
	for _, p := range ix.OnGPU {
		pl := ix.place(p)
		if p.BusyPercent < 0 || pl.verdict != isFine {
			continue
		}
		key := clockKey{p.Process, p.GPU}
		c, seen := a.clocks[key]
		said := ix.busy(p)
		if !seen {
			c = clock{from: ix.At, last: ix.At, start: said}
		}
		c.advance(ix.At, said, min(p.BusyPercent, 100))
		clocks[key] = c
		if c.short {
			f := Finding{Reason: UnaccountedTime, Slice: pl.slice, GPU: p.GPU, Process: p.Process, Container: p.Container}
			f.Message = message(f, c.detail)
			found = append(found, f)
		}
	}
	a.clocks = clocks
	return found
}

func (c *clock) advance(now sharer.Instant, said time.Duration, percent int) {
	c.seen += now.Sub(c.last) * time.Duration(percent) / 100
	c.last, c.latest = now, said
	length := now.Sub(c.from)
	if length < busyWindow {
		return
	}
	claimed := c.latest - c.start
	c.short = c.seen-claimed > time.Duration(busyForgiven*float64(length))
	c.detail = fmt.Sprintf("%s of %s, and says %s",
		c.seen.Round(time.Millisecond), length.Round(time.Millisecond), claimed.Round(time.Millisecond))
	c.from, c.start, c.seen = now, said, 0
}

// busy is how long a process says that it kept a GPU busy, in total.
func (ix index) busy(p OnGPU) (d time.Duration) {
	for _, at := range ix.attached[p.Process] {
		if ix.slices[at.Slice].GPU == p.GPU {
			d += at.Busy
		}
	}
	return d
}
