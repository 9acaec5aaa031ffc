// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// Config are the arbiter's times. A zero field means the default.
type Config struct {
	// Quantum is the longest lease given while others wait. Whatever its length, to
	// change hands costs the GPU 0.1 to 0.2 ms; so longer turns leave all of them
	// more. A waking owner does not wait for their end, only for whoever has the GPU
	// to have had what it is owed. Default 10 ms. Who is alone has leases of two
	// quanta.
	Quantum time.Duration
	// MinLease is the shortest lease, however many wait. Default 1 ms.
	MinLease time.Duration
	// Round is the time in which everybody who always has work has a turn, unless
	// there are so many that turns would be shorter than MinLease. Default 40 ms.
	Round time.Duration
	// Bank is the most GPU time that the idle tenants of a GPU save up together,
	// each by its guarantee. Who wakes spends it before others have their turns, so
	// it bounds how long they are put off. Default 20 ms.
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
	// Change is what it costs the GPU to go from one tenant's turn to the next one's.
	// All who compete bear that, by weight. Otherwise a small slice would have too
	// little, whose part of the turns is larger than that of the time. Negative
	// means that whoever comes next bears it. Default 0.1 ms, what the switch of
	// contexts and the way of the grant take at least.
	Change time.Duration
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
	orElse(&c.Quantum, 10*time.Millisecond)
	orElse(&c.MinLease, time.Millisecond)
	orElse(&c.Round, 40*time.Millisecond)
	orElse(&c.Bank, 20*time.Millisecond)
	orElse(&c.Window, 2*time.Millisecond)
	orElse(&c.Lead, 500*time.Microsecond)
	orElse(&c.Patience, 200*time.Millisecond)
	orElse(&c.LongestKernel, 2*time.Second)
	orElse(&c.Linger, 300*time.Microsecond)
	if c.Handover == 0 {
		c.Handover = 100 * time.Microsecond
	}
	if c.Change == 0 {
		c.Change = 100 * time.Microsecond
	}
	c.MinLease = min(c.MinLease, c.Quantum)
	c.Lead = min(c.Lead, c.MinLease/2)
	return c
}

// bank is what a tenant with that part of a GPU's time may save up.
func (c Config) bank(part float64) float64 { return part * float64(c.Bank) }

// quantum is the length of a lease among n who want the GPU.
func (c Config) quantum(n int) time.Duration {
	if n <= 1 {
		return 2 * c.Quantum
	}
	return min(c.Quantum, max(c.MinLease, c.Round/time.Duration(n)))
}
