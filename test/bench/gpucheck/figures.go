// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"time"
)

// series is the GPU time of consecutive windows of one second, from a moment on.
func series(lines []line, from time.Time, seconds int) []time.Duration {
	out := make([]time.Duration, seconds)
	for _, l := range lines {
		// A line tells of the time before it.
		if i := int(math.Floor(l.heard.Add(-10 * time.Millisecond).Sub(from).Seconds())); i >= 0 && i < seconds {
			out[i] += l.gpu
		}
	}
	return out
}

// portion is the part of the GPU's time in windows of one second, 0 to 1.
func portion(windows []time.Duration) float64 {
	var busy time.Duration
	for _, w := range windows {
		busy += w
	}
	return busy.Seconds() / float64(len(windows))
}

// shareErrors compares the first of two series with its target in percent of
// what both did, over windows of so many seconds: the mean absolute error in
// points.
func shareErrors(one, other []time.Duration, target float64, seconds int) float64 {
	total, n := 0.0, 0
	for i := 0; i+seconds <= len(one); i += seconds {
		var a, b time.Duration
		for j := range seconds {
			a, b = a+one[i+j], b+other[i+j]
		}
		if a+b == 0 {
			continue
		}
		total += math.Abs(100*float64(a)/float64(a+b) - target)
		n++
	}
	if n == 0 {
		return math.NaN()
	}
	return total / float64(n)
}

func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
