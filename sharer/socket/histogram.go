// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"slices"
	"time"
)

// Histogram counts durations.
type Histogram struct {
	// Bounds are the buckets' upper bounds, ascending. Counts has one more, for
	// what is longer; each bucket counts what is in no smaller one.
	Bounds []time.Duration
	Counts []uint64
	Count  uint64
	Sum    time.Duration
	Max    time.Duration
}

func newHistogram() Histogram {
	bounds := []time.Duration{
		50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second,
	}
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) observe(d time.Duration) {
	i, _ := slices.BinarySearch(h.Bounds, d)
	h.Counts[i]++
	h.Count++
	h.Sum += d
	h.Max = max(h.Max, d)
}

func (h Histogram) clone() Histogram {
	h.Counts = slices.Clone(h.Counts)
	return h
}
