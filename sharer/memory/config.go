// SPDX-License-Identifier: Apache-2.0

package memory

import "time"

// Config says how patient a Ladder is. Zero values mean the defaults.
type Config struct {
	// Demote and Checkpoint are how long after the first step, which asks to
	// allocate nothing more and to trim, the next steps are taken if memory is
	// still short. Defaults 100 and 300 ms.
	Demote, Checkpoint time.Duration
	// Grace is how long after its first step a borrower may be ended. Default
	// 30 s.
	Grace time.Duration
	// Arrival is how long nothing of a new slice's guarantee is lent, so that a
	// container finds its memory free when it starts. Default 1 minute.
	Arrival time.Duration
	// Calm is how long the same holds for a slice that was short of memory.
	// Default 10 s.
	Calm time.Duration
	// Settle is how long a limit that fell stays before it may rise, and how long
	// there must be room before a checkpointed borrower is restored. Default 2 s.
	Settle time.Duration
	// Spare is kept free beside what is lent, so that an owner's first
	// allocations find memory. Default 512 MiB or 2 % of the GPU, what is more.
	Spare uint64
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.Demote, 100 * time.Millisecond},
		{&c.Checkpoint, 300 * time.Millisecond},
		{&c.Grace, 30 * time.Second},
		{&c.Arrival, time.Minute},
		{&c.Calm, 10 * time.Second},
		{&c.Settle, 2 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return c
}

const (
	smallestSpare = 512 << 20
	granule       = 64 << 20 // limits beyond a guarantee are multiples of it
)

func (c Config) spare(usable uint64) uint64 {
	if c.Spare > 0 {
		return c.Spare
	}
	return max(smallestSpare, usable/50)
}
