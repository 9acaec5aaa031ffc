// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// stepTolerance is what a machine's clock may run off without being called a step:
// time services correct less than this smoothly.
const stepTolerance = 2 * time.Second

// Clock is the wall clock of the moment it was first asked, carried on by the machine's
// monotonic clock, so that somebody who sets the machine's clock ends nobody's time.
// Only the leader asks it. Before, while another led, its machine's clock may have been
// set: that moves no deadline of the other's.
// When the wall clock was set, [Clock.Step] says by how much: whoever keeps deadlines
// moves them by the same, so that each lasts as long as it would have, and then has the
// clock follow.
type Clock struct {
	machine clock.PassiveClock
	mu      sync.Mutex
	began   time.Time // with its monotonic reading; zero before it is asked
	offset  time.Duration
}

// NewClock makes a clock; machine nil is the machine's own.
func NewClock(machine clock.PassiveClock) *Clock {
	if machine == nil {
		machine = clock.RealClock{}
	}
	return &Clock{machine: machine}
}

// Now is the time, in UTC and without a monotonic reading.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	if c.began.IsZero() {
		c.began = c.machine.Now()
	}
	return c.began.Round(0).Add(c.machine.Since(c.began) + c.offset).UTC()
}

// Step is by how much the machine's wall clock was set since it was followed last:
// positive when it was set forward, zero when it was not set.
func (c *Clock) Step() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	step := c.machine.Now().Round(0).Sub(now)
	if step.Abs() <= stepTolerance {
		return 0
	}
	return step
}

// Follow moves Now by a step, when all deadlines have been moved by it.
func (c *Clock) Follow(step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += step
}
