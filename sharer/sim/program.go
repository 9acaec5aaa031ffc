// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	"aipub.io/aipub/sharer"
)

// Loop issues commands without end, as fast as it may: a training loop, or a
// benchmark. With more than one length it draws one at random each time.
func Loop(seed uint64, lengths ...time.Duration) Program {
	return loop{rand.New(rand.NewPCG(seed, 2)), lengths}
}

type loop struct {
	random  *rand.Rand
	lengths []time.Duration
}

func (l loop) Next(sharer.Instant) (Step, bool) {
	i := 0
	if len(l.lengths) > 1 {
		i = l.random.IntN(len(l.lengths))
	}
	return Step{Length: l.lengths[i]}, true
}

// Requests serves requests one after the other in the order of their arrival.
type Requests struct {
	// Gap returns the time from one arrival to the next.
	Gap func(*rand.Rand) time.Duration
	// Closed counts Gap from the end of the request before, not from its arrival:
	// a user who thinks, not a crowd.
	Closed bool
	// Commands is how many a request has, of Length each; the last one is waited for.
	Commands int
	Length   time.Duration
	// Random is the source for Gap.
	Random *rand.Rand
	// Quiet are times without arrivals, as a part of each Period at its end.
	Quiet  float64
	Period time.Duration

	arrived sharer.Instant
	issued  int
}

// Next implements Program.
func (r *Requests) Next(now sharer.Instant) (Step, bool) {
	if r.issued == 0 {
		base := r.arrived
		if r.Closed {
			base = now
		}
		r.arrived = r.awake(base.Add(r.Gap(r.Random)))
	}
	first := r.issued == 0
	r.issued = (r.issued + 1) % r.Commands
	last := r.issued == 0
	return Step{At: r.arrived, Length: r.Length, Sync: last, First: first, Last: last, Arrived: r.arrived}, true
}

// awake moves an arrival out of the quiet part of the period.
func (r *Requests) awake(at sharer.Instant) sharer.Instant {
	if r.Period == 0 {
		return at
	}
	phase := time.Duration(at) % r.Period
	if phase < time.Duration((1-r.Quiet)*float64(r.Period)) {
		return at
	}
	return at.Add(r.Period - phase)
}

// Poisson returns exponential gaps of that mean.
func Poisson(mean time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(r.ExpFloat64() * float64(mean)) }
}
