// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"aipub.io/aipub/sharer/sim"
)

const (
	micro = time.Microsecond
	milli = time.Millisecond
)

// launches are the kinds of work, each by the GPU time of its commands.
var launches = []struct {
	name    string
	lengths []time.Duration
	figure  string // of its own, where commands are so long that no order of them reaches the bound
}{
	{"tiny 10us", []time.Duration{10 * micro}, ""},
	{"plain 1ms", []time.Duration{milli}, ""},
	{"cooperative 1ms (same as plain in this model)", []time.Duration{milli}, ""},
	{"Ex 1ms (same as plain in this model)", []time.Duration{milli}, ""},
	{"graph 5ms", []time.Duration{5 * milli}, ""},
	{"persistent grid 20ms", []time.Duration{20 * milli}, ""},
	{"long 50ms", []time.Duration{50 * milli}, ""},
	{"mixed 10us 1ms 5ms", []time.Duration{10 * micro, milli, 5 * milli}, ""},
	{"mixed 10us 1ms 5ms 50ms", []time.Duration{10 * micro, milli, 5 * milli, 50 * milli}, "mixed_50ms"},
	{"persistent grid 300ms", []time.Duration{300 * milli}, "persistent_300ms"},
}

const (
	warmup = time.Second
	span   = 20 * time.Second
)

// BenchmarkShareError runs two tenants that always have work, in nine splits,
// and reports the mean absolute difference from the target share in points, of
// the worst kind of launch; and the lowest mean share as a part of its target.
// Beside each stands what remains without any cost of sharing, when whoever is
// most behind always runs the next command: commands are not divisible.
func BenchmarkShareError(b *testing.B) {
	for b.Loop() {
		worst1, worst10, lowest := 0.0, 0.0, 1.0
		table := []string{"launch | error over 1 s, points | over 10 s | without costs: over 1 s | 10 s | mean share / target, lowest"}
		for _, l := range launches {
			var e1, e10, f1, f10 float64
			low := 1.0
			for permille := 100; permille < 1000; permille += 100 {
				s := sim.New(sim.Config{Seed: 1}, []sim.Job{
					job("a", permille, sim.Loop(1, l.lengths...)), job("b", 1000-permille, sim.Loop(2, l.lengths...)),
				})
				s.Run(warmup + span)
				for _, t := range []struct {
					usage  *sim.Usage
					target float64
				}{{s.Usage("a"), float64(permille) / 1000}, {s.Usage("b"), float64(1000-permille) / 1000}} {
					e1 += points(t.usage, time.Second, t.target) / 18
					e10 += points(t.usage, 10*time.Second, t.target) / 18
					share := float64(t.usage.Busy(gpu, warmup, warmup+span)) / float64(span)
					low = min(low, share/t.target)
				}
				ideal := greedy(float64(permille)/1000, l.lengths)
				f1 += points(ideal, time.Second, float64(permille)/1000) / 9
				f10 += points(ideal, 10*time.Second, float64(permille)/1000) / 9
			}
			table = append(table, fmt.Sprintf("%s | %.2f | %.2f | %.2f | %.2f | %.3f", l.name, e1, e10, f1, f10, low))
			if l.figure != "" {
				figure(b, "sharer.share_error_1s."+l.figure, e1, "points", nil)
				figure(b, "sharer.share_error_1s."+l.figure+"_without_costs", f1, "points", nil)
				continue
			}
			worst1, worst10, lowest = max(worst1, e1), max(worst10, e10), min(lowest, low)
		}
		figure(b, "sharer.share_error_1s", worst1, "points", table)
		figure(b, "sharer.share_error_10s", worst10, "points", nil)
		figure(b, "sharer.share_mean", lowest, "of target", nil)
	}
}

// points is the mean absolute difference from the target, in hundredths.
func points(u *sim.Usage, window time.Duration, target float64) float64 {
	shares := u.Shares(gpu, window, warmup, warmup+span)
	sum := 0.0
	for _, s := range shares {
		sum += 100 * math.Abs(s-target)
	}
	return sum / float64(len(shares))
}

// greedy is the share of the first of two when whoever is most behind its share
// runs a command, and nothing costs anything.
func greedy(target float64, lengths []time.Duration) *sim.Usage {
	programs := [2]sim.Program{sim.Loop(1, lengths...), sim.Loop(2, lengths...)}
	shares := [2]float64{target, 1 - target}
	var had [2]time.Duration
	var usage sim.Usage
	for now := time.Duration(0); now < warmup+span; {
		i := 0
		if float64(had[1])/shares[1] < float64(had[0])/shares[0] {
			i = 1
		}
		step, _ := programs[i].Next(0)
		if i == 0 {
			usage.Add(gpu, now, now+step.Length)
		}
		had[i] += step.Length
		now += step.Length
	}
	return &usage
}
