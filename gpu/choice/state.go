// SPDX-License-Identifier: Apache-2.0

package choice

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu"
)

// Mark says what may be done with a slice now, apart from what the counters say.
type Mark uint8

const (
	// Open says that it can be taken if the counters allow it.
	Open Mark = iota
	// Taken says that somebody holds it.
	Taken
	// TakenUnfit says that somebody holds it, and its hardware is not fit for use.
	TakenUnfit
	// Out says that nobody holds it and nobody can take it, as its hardware is missing or
	// unfit, or because it is kept for somebody.
	Out
)

// State is a board at one moment. Its owner may change it between questions.
type State struct {
	// Left of each counter.
	Left []int64
	// Marks of each slice.
	Marks []Mark
}

// Empty is the state in which nothing is taken.
func (b *Board) Empty() State {
	return State{Left: slices.Clone(b.totals), Marks: make([]Mark, len(b.slices))}
}

// Clone is a copy that can be changed by itself.
func (s State) Clone() State { return State{slices.Clone(s.Left), slices.Clone(s.Marks)} }

// At is the position of a slice.
func (b *Board) At(id gpu.SliceID) (i int, ok bool) { i, ok = b.pos[id]; return i, ok }

// Members are the positions of a set's slices, none for a set that the board does
// not have. They are to be read only.
func (b *Board) Members(set string) []int {
	if i, ok := b.setOf[set]; ok {
		return b.members[i]
	}
	return nil
}

// Sets are the names of the sets that have slices, in order of first appearance.
// They are to be read only.
func (b *Board) Sets() []string { return b.sets }

// Group is the same number for slices of one set that take the same from the
// same GPUs.
func (b *Board) Group(i int) int { return b.slices[i].group }

// Fits reports whether the counters leave room for a slice, whatever its mark. It
// is gpu.Slice.Fits by position.
func (b *Board) Fits(i int, left []int64) bool {
	for _, u := range b.slices[i].uses {
		if left[u.counter] < u.amount {
			return false
		}
	}
	return true
}

// Change gives a slice's uses back to left (sign +1) or takes them (-1).
func (b *Board) Change(i int, left []int64, sign int64) {
	for _, u := range b.slices[i].uses {
		left[u.counter] += sign * u.amount
	}
}

// Size is the share of GPUs that one slice of a set takes, in millionths of one: of
// its first slice, where they differ.
func (b *Board) Size(set string) int64 {
	if m := b.Members(set); len(m) > 0 {
		return b.slices[m[0]].size
	}
	return 0
}

// Ordered are the needs in the order in which Seat serves them: the set with the
// largest slices first, equal ones by name.
func (b *Board) Ordered(needs []Need) []Need {
	out := slices.Clone(needs)
	slices.SortStableFunc(out, func(x, y Need) int {
		return cmp.Or(cmp.Compare(b.Size(y.Set), b.Size(x.Set)), cmp.Compare(x.Set, y.Set))
	})
	return out
}

// Uses calls f with each counter that a slice takes from, and how much.
func (b *Board) Uses(i int, f func(counter int, amount int64)) {
	for _, u := range b.slices[i].uses {
		f(u.counter, u.amount)
	}
}

// Users are the positions of the slices that take from a counter. They are to be
// read only.
func (b *Board) Users(counter int) []int { return b.users[counter] }

// Unused is the mean over the counters of what is left of them, in millionths: 0
// for a node on which nothing more fits, 1,000,000 for an empty one.
func (b *Board) Unused(left []int64) int64 {
	var sum, n int64
	for c, total := range b.totals {
		if total > 0 {
			sum += left[c] * perGPU / total
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}
