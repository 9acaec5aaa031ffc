// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

func TestFree(t *testing.T) {
	spec := policy([]api.GPURule{{Indices: []int32{0, 1}, Mode: api.GPUBlock}},
		blockSet("small", 25), blockSet("medium", 50), wholeSet("one", 1), wholeSet("two", 2))
	l, _ := planned(t, box("n", 64, 512, h200s(4, false), false), spec)
	first := map[string]gpu.SliceID{}
	for _, s := range l.Slices {
		if _, ok := first[s.Set]; !ok {
			first[s.Set] = s.ID
		}
	}
	cases := map[string]struct {
		held []string
		want map[string]int
	}{
		"nothing is held":                         {nil, map[string]int{"small": 8, "medium": 4, "one": 2, "two": 1}},
		"a small one costs a medium one":          {[]string{"small"}, map[string]int{"small": 7, "medium": 3, "one": 2, "two": 1}},
		"a medium one costs two small ones":       {[]string{"medium"}, map[string]int{"small": 6, "medium": 3, "one": 2, "two": 1}},
		"one whole GPU breaks the pair":           {[]string{"one"}, map[string]int{"small": 8, "medium": 4, "one": 1, "two": 0}},
		"the pair takes both":                     {[]string{"two"}, map[string]int{"small": 8, "medium": 4, "one": 0, "two": 0}},
		"small and medium together, then no more": {[]string{"small", "medium"}, map[string]int{"small": 5, "medium": 2, "one": 2, "two": 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			held := map[gpu.SliceID]bool{}
			for _, set := range tc.held {
				held[first[set]] = true
			}
			if diff := cmp.Diff(tc.want, Free(l, held)); diff != "" {
				t.Errorf("free (-want +got): %s", diff)
			}
			for set, n := range tc.want {
				if !Fit(l, held, set, n) || Fit(l, held, set, n+1) {
					t.Errorf("%s: %d fit, want exactly %d", set, n, n)
				}
			}
		})
	}
}

// TestFreeIsExact compares Free with trying every choice of slices.
func TestFreeIsExact(t *testing.T) {
	compared := 0
	for seed := range uint64(cases) {
		g := newGenerator(seed)
		l, _ := planned(t, g.node("n"), g.policy(true))
		held, left := g.fill(l)
		for set, n := range Free(l, held) {
			var list []gpu.Slice
			for _, s := range l.Slices {
				if s.Set == set && !held[s.ID] {
					list = append(list, s)
				}
			}
			if len(list) > 14 {
				continue
			}
			compared++
			if most := mostOf(list, nil, left); most != n {
				t.Fatalf("seed %d, set %s: %d are free, said %d", seed, set, most, n)
			}
		}
	}
	t.Logf("%d comparisons", compared)
}

func TestFullestBlocksIsExact(t *testing.T) {
	for seed := range uint64(cases) {
		g := newGenerator(seed)
		const memory = 100
		var items []blockItem
		for range 1 + g.IntN(3) {
			items = append(items, blockItem{percent: 15 + g.IntN(60), memory: int64(5 + g.IntN(60))})
		}
		if got, want := fullestBlocks(items, memory), tryAllBlocks(items, 100, memory); got != want {
			t.Fatalf("seed %d: %+v fill %d percent, said %d", seed, items, want, got)
		}
	}
}

// tryAllBlocks is the most percent that can be used, by trying everything.
func tryAllBlocks(items []blockItem, percent int, memory int64) int {
	best := 0
	for _, it := range items {
		if it.percent <= percent && it.memory <= memory {
			best = max(best, it.percent+tryAllBlocks(items, percent-it.percent, memory-it.memory))
		}
	}
	return best
}
