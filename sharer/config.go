// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// Config are the arbiter's times. A zero field means the default.
type Config struct {
	// Quantum is the longest lease given while others wait. Default 5 ms. Who is
	// alone has leases of a Round.
	Quantum time.Duration
	// MinLease is the shortest lease, however many wait: a handover costs about
	// 0.1 ms, and is to stay below a tenth of what it buys. Default 1 ms.
	MinLease time.Duration
	// Round is the time in which everybody who waits should have had a turn. It
	// bounds what a tenant can save up, so that all of them can wake at once and
	// still be served within it. Default 20 ms.
	Round time.Duration
	// Bank is the most GPU time that an idle tenant saves up; less for a small
	// one, see Round. Default, and at most, two quanta.
	Bank time.Duration
	// Window is the predicted GPU time that a process may have in flight. It is
	// what an owner waits for most of the time. Default 2 ms: in the simulator 1 ms
	// halves the owner's slowdown, but kernels of 1 ms then run with a pause after
	// each, and 1 % of the GPU is lost.
	Window time.Duration
	// Lead is how long before a lease's end it is decided, at the latest, whether to
	// extend it; of long leases an eighth, so that a late Tick ends none of them.
	// It must cover the way to the processes. Default 0.5 ms, at most half of
	// MinLease.
	Lead time.Duration
	// Handover is how long before the predicted end of the work in flight the next
	// tenant is granted, so that the GPU does not idle during the message.
	// Negative means never early. Default 0.1 ms.
	Handover time.Duration
	// Patience is how long after the end of a lease, or after the predicted end of
	// the work in flight, it is taken by force. Default 200 ms.
	Patience time.Duration
	// LongestKernel is the most that is believed of such a prediction, and the most
	// that a tenant can owe for one. Default 2 s.
	LongestKernel time.Duration
	// Linger is how long a process keeps an idle lease, see Arbiter.Linger.
	// Default 0.3 ms.
	Linger time.Duration
	// Record, when set, is given every event and its answer, see Replay.
	Record func(Entry)
}

func (c Config) withDefaults() Config {
	orElse := func(d *time.Duration, fallback time.Duration) {
		if *d <= 0 {
			*d = fallback
		}
	}
	orElse(&c.Quantum, 5*time.Millisecond)
	orElse(&c.MinLease, time.Millisecond)
	orElse(&c.Round, 20*time.Millisecond)
	orElse(&c.Bank, 2*c.Quantum)
	orElse(&c.Window, 2*time.Millisecond)
	orElse(&c.Lead, 500*time.Microsecond)
	orElse(&c.Patience, 200*time.Millisecond)
	orElse(&c.LongestKernel, 2*time.Second)
	orElse(&c.Linger, 300*time.Microsecond)
	if c.Handover == 0 {
		c.Handover = 100 * time.Microsecond
	}
	c.MinLease = min(c.MinLease, c.Quantum)
	c.Bank = min(c.Bank, 2*c.Quantum)
	c.Lead = min(c.Lead, c.MinLease/2)
	return c
}

// bank is what a tenant with that part of a GPU's time may save up.
func (c Config) bank(part float64) float64 {
	return min(float64(c.Bank), part*float64(c.Round))
}

// quantum is the length of a lease among n who want the GPU.
func (c Config) quantum(n int) time.Duration {
	if n <= 1 {
		return c.Round
	}
	return min(c.Quantum, max(c.MinLease, c.Round/time.Duration(n)))
}
