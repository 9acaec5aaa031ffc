// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
)

func blockGPU(uuid, set string, percent, n int) gpu.Layout {
	l := gpu.Layout{
		Modes:  map[string]gpu.Mode{uuid: gpu.ModeBlock},
		Totals: map[gpu.Counter]int64{gpu.Counter(uuid + "/blocks"): 100},
	}
	for i := range n {
		l.Slices = append(l.Slices, gpu.Slice{
			ID: gpu.SliceID(uuid + "-" + set + "-" + string(rune('0'+i))), Set: set, Kind: gpu.KindBlock,
			GPUs: []string{uuid}, Block: &gpu.Block{Percent: percent},
			Uses: []gpu.Use{{Counter: gpu.Counter(uuid + "/blocks"), Amount: int64(percent)}},
		})
	}
	return l
}

func wholeGPU(uuid string) gpu.Layout {
	c := gpu.Counter(uuid + "/gpu")
	return gpu.Layout{
		Modes:  map[string]gpu.Mode{uuid: gpu.ModeWhole},
		Totals: map[gpu.Counter]int64{c: 1},
		Slices: []gpu.Slice{{ID: gpu.SliceID(uuid + "-large-0"), Set: "large", Kind: gpu.KindWhole, GPUs: []string{uuid}, Uses: []gpu.Use{{Counter: c, Amount: 1}}}},
	}
}

func join(ls ...gpu.Layout) gpu.Layout {
	out := gpu.Layout{Modes: map[string]gpu.Mode{}, Totals: map[gpu.Counter]int64{}}
	for _, l := range ls {
		for k, v := range l.Modes {
			out.Modes[k] = v
		}
		for k, v := range l.Totals {
			out.Totals[k] = v
		}
		out.Slices = append(out.Slices, l.Slices...)
	}
	return out
}

func TestTransition(t *testing.T) {
	cases := map[string]struct {
		from, to    gpu.Layout
		held        []gpu.SliceID
		want        gpu.Layout
		wantWaiting []Waiting
	}{
		"an idle node takes the new layout": {
			from: join(blockGPU("a", "small", 25, 4), wholeGPU("b")),
			to:   join(wholeGPU("a"), blockGPU("b", "small", 25, 4)),
			want: join(wholeGPU("a"), blockGPU("b", "small", 25, 4)),
		},
		"a GPU in use keeps what is held and offers nothing else, the idle one beside it changes": {
			from: join(blockGPU("a", "small", 25, 4), wholeGPU("b")),
			to:   join(wholeGPU("a"), blockGPU("b", "small", 25, 4)),
			held: []gpu.SliceID{"a-small-2"},
			want: join(blockGPU("b", "small", 25, 4), func() gpu.Layout {
				l := blockGPU("a", "small", 25, 4)
				l.Slices = l.Slices[2:3]
				return l
			}()),
			wantWaiting: []Waiting{{GPU: "a", Held: []gpu.SliceID{"a-small-2"}}},
		},
		"another size in the same mode takes effect at once, but not for what is held": {
			from: blockGPU("a", "small", 25, 2),
			to:   blockGPU("a", "small", 30, 2),
			held: []gpu.SliceID{"a-small-0"},
			want: func() gpu.Layout {
				l := blockGPU("a", "small", 30, 2)
				l.Slices[0] = blockGPU("a", "small", 25, 1).Slices[0]
				return l
			}(),
		},
		"a set that is gone is left out though it is held": {
			from: join(blockGPU("a", "small", 25, 1), blockGPU("a", "medium", 50, 1)),
			to:   blockGPU("a", "small", 25, 1),
			held: []gpu.SliceID{"a-medium-0"},
			want: blockGPU("a", "small", 25, 1),
		},
		"without a policy only what is held stays": {
			from: join(blockGPU("a", "small", 25, 2), wholeGPU("b")),
			held: []gpu.SliceID{"a-small-0"},
			want: func() gpu.Layout {
				l := blockGPU("a", "small", 25, 2)
				l.Slices = l.Slices[:1]
				return l
			}(),
			wantWaiting: []Waiting{{GPU: "a", Held: []gpu.SliceID{"a-small-0"}}},
		},
		"the old policy again gives back all of a GPU that waited": {
			from: func() gpu.Layout {
				l := blockGPU("a", "small", 25, 4)
				l.Slices = l.Slices[2:3]
				return l
			}(),
			to:   blockGPU("a", "small", 25, 4),
			held: []gpu.SliceID{"a-small-2"},
			want: blockGPU("a", "small", 25, 4),
		},
		"from nothing": {to: wholeGPU("a"), want: wholeGPU("a")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			held := map[gpu.SliceID]bool{}
			for _, id := range tc.held {
				held[id] = true
			}
			got, waiting := Transition(tc.from, tc.to, held)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("layout (-want +got): %s", diff)
			}
			if diff := cmp.Diff(tc.wantWaiting, waiting); diff != "" {
				t.Errorf("waiting (-want +got): %s", diff)
			}
		})
	}
}
