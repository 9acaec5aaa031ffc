// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"aipub.io/aipub/sharer"
)

// bin is the resolution in which GPU time is kept.
const bin = 100 * time.Millisecond

// Usage is what a tenant had of its GPUs.
type Usage struct {
	busy map[string][]time.Duration // GPU → time used in each bin
	// Waits are, for each request, from its arrival to the start of its first
	// command; Latencies to the end of its last.
	Waits, Latencies []time.Duration
	// Arrivals are the requests' arrivals, in the order of Waits.
	Arrivals []sharer.Instant
}

// Add books the time that a GPU worked for the tenant.
func (u *Usage) Add(gpu string, from, to time.Duration) {
	if u.busy == nil {
		u.busy = map[string][]time.Duration{}
	}
	bins := u.busy[gpu]
	for from < to {
		i := int(from / bin)
		for len(bins) <= i {
			bins = append(bins, 0)
		}
		end := min(to, time.Duration(i+1)*bin)
		bins[i] += end - from
		from = end
	}
	u.busy[gpu] = bins
}

func (u *Usage) starts(arrived, start sharer.Instant) {
	u.Waits = append(u.Waits, start.Sub(arrived))
	u.Arrivals = append(u.Arrivals, arrived)
}

func (u *Usage) ends(arrived, end sharer.Instant) {
	u.Latencies = append(u.Latencies, end.Sub(arrived))
}

// Busy is the time that a GPU worked for the tenant between two moments, which
// are multiples of 100 ms.
func (u *Usage) Busy(gpu string, from, to time.Duration) time.Duration {
	total := time.Duration(0)
	bins := u.busy[gpu]
	for i := int(from / bin); i < int(to/bin) && i < len(bins); i++ {
		total += bins[i]
	}
	return total
}

// Shares are the parts of a GPU's time that the tenant had in each window from
// one moment to another; all are multiples of 100 ms.
func (u *Usage) Shares(gpu string, window, from, to time.Duration) []float64 {
	var shares []float64
	for t := from; t+window <= to; t += window {
		shares = append(shares, float64(u.Busy(gpu, t, t+window))/float64(window))
	}
	return shares
}
