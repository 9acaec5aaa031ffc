// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// repeats is how often each plan is timed; the fastest counts, so that a busy
// machine does not decide.
const repeats = 5

// BenchmarkPlan times Plan for a node of 16 GPUs, for each of the 723 layouts
// (the empty one is the free choice), and reports the 99th percentile.
func BenchmarkPlan(b *testing.B) {
	n := node("n", 192, 2048*gib, gpus(16, "H200", 141*gib, hopper()))
	all, _ := layouts(hopper(), 7)
	for b.Loop() {
		var took []time.Duration
		var raw []string
		for _, counts := range all {
			spec := fixed(hopper(), counts)
			sets := partitioner.Divide(spec, []partitioner.Node{n}).Sets
			d := time.Duration(math.MaxInt64)
			for range repeats {
				began := time.Now()
				l, r := partitioner.Plan(n, spec, sets)
				d = min(d, time.Since(began))
				if len(l.Slices) == 0 {
					b.Fatalf("%v: no slices: %v", counts, r.Rejections)
				}
			}
			took = append(took, d)
			raw = append(raw, fmt.Sprintf("%v %d ns", counts, d.Nanoseconds()))
		}
		slices.Sort(took)
		p := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Nanoseconds()) / 1000 }
		b.Logf("%d layouts: p50 %.0f, p99 %.0f, max %.0f µs", len(took), p(0.5), p(0.99), p(1))
		figure(b, "node.plan_us", p(0.99), "us", raw)
	}
}

// BenchmarkLayoutFailures asks for the instances of every full layout in every
// order, and creates each on a strict board: as planned, and for comparison at
// the lowest free place.
func BenchmarkLayoutFailures(b *testing.B) {
	tables := []struct {
		profiles []gpu.Profile
		compute  int
	}{{hopper(), 7}, {a30(), 4}}
	for b.Loop() {
		planned, naive, orders := 0, 0, 0
		var raw []string
		for _, t := range tables {
			n := node("n", 64, 512*gib, gpus(1, "GPU", 141*gib, t.profiles))
			_, full := layouts(t.profiles, t.compute)
			for _, counts := range full {
				spec := fixed(t.profiles, counts)
				l, _ := partitioner.Plan(n, spec, partitioner.Divide(spec, []partitioner.Node{n}).Sets)
				arrivals(counts, nil, func(order []int) {
					orders++
					if err := arrive(l, t.compute, order); err != nil {
						planned++
						raw = append(raw, fmt.Sprintf("planned %v in order %v: %v", counts, order, err))
					}
					if err := firstFit(t.profiles, t.compute, order); err != nil {
						naive++
						raw = append(raw, fmt.Sprintf("lowest start %v in order %v: %v", counts, order, err))
					}
				})
			}
		}
		b.Logf("%d orders of arrival: %d fail as planned, %d at the lowest free place", orders, planned, naive)
		figure(b, "node.layout_failures", float64(planned), "failures", raw)
		figure(b, "node.layout_failures.lowest_start", float64(naive), "failures", nil)
	}
}

// arrivals calls f with every order of the instances.
func arrivals(counts, order []int, f func([]int)) {
	end := true
	for i := range counts {
		if counts[i] > 0 {
			end = false
			counts[i]--
			arrivals(counts, append(order, i), f)
			counts[i]++
		}
	}
	if end {
		f(order)
	}
}

// arrive takes a planned slice for each instance and creates it.
func arrive(l gpu.Layout, compute int, order []int) error {
	b, held := &board{compute: compute}, map[gpu.SliceID]bool{}
	for _, i := range order {
		left := l.Remaining(held)
		k := slices.IndexFunc(l.Slices, func(s gpu.Slice) bool {
			_, ok := s.Fits(left)
			return ok && s.Set == setName(i) && !held[s.ID]
		})
		if k < 0 {
			return fmt.Errorf("no slice of %s is free", setName(i))
		}
		held[l.Slices[k].ID] = true
		if err := b.create(*l.Slices[k].MIG); err != nil {
			return err
		}
	}
	return nil
}

// firstFit creates each instance at the lowest place that is free.
func firstFit(profiles []gpu.Profile, compute int, order []int) error {
	b := &board{compute: compute}
	for _, i := range order {
		free := func(pl gpu.Placement) bool {
			return b.create(gpu.MIGTarget{Profile: profiles[i], Placement: pl}) == nil
		}
		if !slices.ContainsFunc(profiles[i].Placements, free) {
			return fmt.Errorf("no place for %s", profiles[i].Name)
		}
	}
	return nil
}
