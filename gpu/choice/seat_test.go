// SPDX-License-Identifier: Apache-2.0

package choice_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
	"aipub.io/aipub/test/kit"
)

// randomLayout has up to four GPUs that blocks, instances and whole GPUs share,
// and slices that take from two places of the host at once.
func randomLayout(r *rand.Rand) gpu.Layout {
	b := kit.MakeLayout(1 + r.IntN(4)).NUMA(1 + r.IntN(2))
	for k := range 1 + r.IntN(3) {
		switch r.IntN(4) {
		case 0:
			b.Whole(fmt.Sprintf("whole-%d", k), 1+r.IntN(3))
		case 1:
			b.MIG(fmt.Sprintf("mig-%d", k), 1+r.IntN(4))
		default:
			b.Block(fmt.Sprintf("block-%d", k), 20+r.IntN(81))
		}
	}
	l := b.CPU("cpu", 3, 2).Obj()
	host := []gpu.Counter{"zone-0/cpu", "zone-1/cpu", "zone-2/cpu"}
	for _, c := range host {
		l.Totals[c] = int64(1 + r.IntN(2))
	}
	for i := range 2 + r.IntN(2) { // neighbours overlap: the first come is not always the best
		s := gpu.Slice{ID: gpu.SliceID(fmt.Sprintf("span-%d", i)), Set: "span", Kind: gpu.KindCPU}
		for _, z := range r.Perm(3)[:1+r.IntN(2)] {
			s.Uses = append(s.Uses, gpu.Use{Counter: host[z], Amount: 1})
		}
		l.Slices = append(l.Slices, s)
	}
	return l
}

// shown are the slices of all sets that an agent shows as free: of each set those
// that can be held together, taken in order.
func shown(l gpu.Layout, taken map[gpu.SliceID]bool) map[gpu.SliceID]bool {
	free := map[gpu.SliceID]bool{}
	for _, set := range l.Sets() {
		left := l.Remaining(taken)
		for _, s := range l.Slices {
			if _, ok := s.Fits(left); !ok || taken[s.ID] || s.Set != set {
				continue
			}
			free[s.ID] = true
			for _, u := range s.Uses {
				left[u.Counter] -= u.Amount
			}
		}
	}
	return free
}

// canHold tries every combination of the given slices.
func canHold(l gpu.Layout, free map[gpu.SliceID]bool, from int, left map[gpu.Counter]int64, needs map[string]int) bool {
	more := false
	for _, n := range needs {
		more = more || n > 0
	}
	if !more {
		return true
	}
	for i := from; i < len(l.Slices); i++ {
		s := l.Slices[i]
		if _, ok := s.Fits(left); !ok || !free[s.ID] || needs[s.Set] == 0 {
			continue
		}
		after := maps.Clone(left)
		for _, u := range s.Uses {
			after[u.Counter] -= u.Amount
		}
		needs[s.Set]--
		ok := canHold(l, free, i+1, after, needs)
		needs[s.Set]++
		if ok {
			return true
		}
	}
	return false
}

func TestSeatFindsAPlaceWhereThereIsOneAndNoneWhereThereIsNot(t *testing.T) {
	found, none := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := randomLayout(r)
		b := choice.NewBoard(l.Totals, l.Slices)
		state := b.Empty()
		held := map[gpu.SliceID]bool{}
		for range r.IntN(5) {
			i := r.IntN(len(l.Slices))
			if state.Marks[i] == choice.Open && b.Fits(i, state.Left) {
				state.Marks[i], held[l.Slices[i].ID] = choice.Taken, true
				b.Change(i, state.Left, -1)
			}
		}
		left := l.Remaining(held)
		for i, s := range l.Slices {
			if _, want := s.Fits(left); b.Fits(i, state.Left) != want {
				t.Fatalf("seed %d: slice %s fits: %v, by its uses %v", seed, s.ID, !want, want)
			}
		}
		var needs []choice.Need
		want := map[string]int{}
		for _, set := range l.Sets() {
			if n := r.IntN(3); n > 0 {
				needs = append(needs, choice.Need{Set: set, N: n})
				want[set] = n
			}
		}
		got, ok := b.Seat(state, needs)
		if possible := canHold(l, shown(l, held), 0, left, want); possible != ok {
			t.Fatalf("seed %d: Seat of %v says %v, trying every combination says %v", seed, needs, ok, possible)
		}
		if !ok {
			none++
			continue
		}
		found++
		for _, i := range got.Slices {
			s := l.Slices[i]
			if _, fits := s.Fits(left); !fits || held[s.ID] {
				t.Fatalf("seed %d: Seat of %v gave %s, which cannot be taken", seed, needs, s.ID)
			}
			held[s.ID] = true
			left = l.Remaining(held)
			want[s.Set]--
		}
		for set, n := range want {
			if n != 0 {
				t.Fatalf("seed %d: Seat of %v gave %d too few of %s", seed, needs, n, set)
			}
		}
	}
	if found < 200 || none < 200 {
		t.Errorf("%d places found and %d times none; the test needs many of both", found, none)
	}
}

// Nodes that differ in names only have the same answers, so that they are asked
// once.
func TestShapesAreBlindToNamesOnly(t *testing.T) {
	layout := func(prefix string, percent int) gpu.Layout {
		l := kit.MakeLayout(4).NUMA(2).Whole("pair", 2).Block("small", percent).Obj()
		named := gpu.Layout{Totals: map[gpu.Counter]int64{}}
		for c, n := range l.Totals {
			named.Totals[gpu.Counter(prefix)+c] = n
		}
		for _, s := range l.Slices {
			s.ID = gpu.SliceID(prefix) + s.ID
			uuids, uses := []string{}, []gpu.Use{}
			for _, g := range s.GPUs {
				uuids = append(uuids, prefix+g)
			}
			for k := range s.Uses { // in another order than the GPUs'
				u := s.Uses[len(s.Uses)-1-k]
				uses = append(uses, gpu.Use{Counter: gpu.Counter(prefix) + u.Counter, Amount: u.Amount})
			}
			s.GPUs, s.Uses = uuids, uses
			named.Slices = append(named.Slices, s)
		}
		return named
	}
	board := func(l gpu.Layout) choice.Shape { return choice.NewBoard(l.Totals, l.Slices).Shape() }
	plain := kit.MakeLayout(4).NUMA(2).Whole("pair", 2).Block("small", 25).Obj()
	if board(layout("a", 25)) != board(layout("b", 25)) || board(plain) != board(layout("b", 25)) {
		t.Error("boards that differ in names only have different shapes")
	}
	if board(plain) == board(layout("b", 20)) {
		t.Error("boards with slices of other sizes have the same shape")
	}
}
