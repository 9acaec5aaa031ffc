// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"aipub.io/aipub/sharer"
)

// Step is a command that a program issues.
type Step struct {
	// At is when the program gets to it; a moment in the past means at once.
	At sharer.Instant
	// Length is the GPU time that it takes.
	Length time.Duration
	// Sync makes the program wait until it is done.
	Sync bool
	// First and Last mark the first and last command of a request that arrived at
	// Arrived.
	First, Last bool
	Arrived     sharer.Instant
}

// A Program is what a process does on the GPU. Next is called when the program
// gets on: after a launch, or, after one with Sync, when that is done. It returns
// false when there is no more.
type Program interface {
	Next(now sharer.Instant) (Step, bool)
}

// process runs a program as the preloaded library lets it.
type process struct {
	tenant   *tenant
	program  Program
	step     Step // the next command, not yet issued
	fetched  bool // step is there
	sleeping bool // until step.At
	syncing  bool // until the last command is done
	over     bool
	inflight time.Duration
	issued   []Step // in flight, oldest first; commands end in their order
}

// waits reports whether work waits for the gate.
func (p *process) waits() bool { return p.fetched && p.step.At <= p.tenant.sim.now }

// pump issues what can be issued now.
func (p *process) pump() {
	s, t := p.tenant.sim, p.tenant
	for !t.stopped && !t.dead && p.ready() {
		if !t.open && !s.config.Ungated {
			t.ask()
			return
		}
		if len(p.issued) > 0 && p.inflight+p.step.Length > s.arbiter.Window() {
			return
		}
		step := p.step
		p.fetched, p.syncing = false, step.Sync
		p.inflight += step.Length
		p.issued = append(p.issued, step)
		start, end := t.launch(step.Length)
		if step.First {
			t.starts(step.Arrived, start)
		}
		s.completes(end, p)
	}
}

// ready fetches the next command and reports whether it is to be issued now.
func (p *process) ready() bool {
	s := p.tenant.sim
	if !p.fetched {
		if p.syncing || p.over {
			return false
		}
		step, ok := p.program.Next(s.now)
		if !ok {
			p.over = true
			return false
		}
		p.step, p.fetched = step, true
	}
	if p.step.At > s.now {
		if !p.sleeping {
			p.sleeping = true
			s.at(p.step.At, func() {
				p.sleeping = false
				p.pump()
			})
		}
		return false
	}
	return true
}

// completed is called when the oldest command in flight is done.
func (p *process) completed() {
	step := p.issued[0]
	p.issued = p.issued[:copy(p.issued, p.issued[1:])]
	p.inflight -= step.Length
	p.syncing = p.syncing && !step.Sync
	if step.Last {
		p.tenant.ends(step.Arrived, p.tenant.sim.now)
	}
	if p.ready() && len(p.issued) == 0 {
		p.tenant.sim.after(p.tenant.sim.config.Launch, p.pump)
	} else {
		p.pump()
	}
	p.tenant.completed()
}
