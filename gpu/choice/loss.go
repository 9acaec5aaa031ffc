// SPDX-License-Identifier: Apache-2.0

package choice

// lossOf works out what taking a slice costs other sets, once for all slices that
// are alike, with buffers that are used again.
type lossOf struct {
	*Board
	known []int64 // by group; unknownLoss
	seen  []int   // by slice: the round in which it was found beside another
	round int
	found []int
	work  [][]int64 // what is left, by set
}

const unknownLoss = -1

func newLossOf(b *Board) lossOf {
	l := lossOf{Board: b, known: make([]int64, b.groups), seen: make([]int, len(b.slices)), work: make([][]int64, len(b.sets))}
	l.reset()
	return l
}

// reset forgets what was worked out, as the state has changed.
func (l *lossOf) reset() {
	for i := range l.known {
		l.known[i] = unknownLoss
	}
}

// of is what the other sets on the same GPUs can no longer take once the slice
// at position i is taken, in millionths of a GPU.
func (l *lossOf) of(s State, i int) int64 {
	if s.Marks[i] == Taken || s.Marks[i] == TakenUnfit {
		return 0
	}
	group := l.slices[i].group
	if l.known[group] == unknownLoss {
		l.known[group] = l.lost(s, i)
	}
	return l.known[group]
}

func (l *lossOf) lost(s State, i int) int64 {
	beside := l.beside(s, i)
	if len(beside) == 0 {
		return 0
	}
	before := l.takeable(beside, s.Left)
	l.Change(i, s.Left, -1)
	after := l.takeable(beside, s.Left)
	l.Change(i, s.Left, +1)
	return before - after
}

// beside is the slices of other sets on a slice's GPUs that could be given away
// if they fit.
func (l *lossOf) beside(s State, i int) []int {
	l.round++
	l.found = l.found[:0]
	for _, g := range l.slices[i].gpus {
		for _, j := range l.onGPU[g] {
			if s.Marks[j] == Open && l.slices[j].set != l.slices[i].set && l.seen[j] != l.round {
				l.seen[j] = l.round
				l.found = append(l.found, j)
			}
		}
	}
	return l.found
}

// takeable is the sum over the sets of what each could take by itself, in
// millionths of a GPU.
func (l *lossOf) takeable(of []int, left []int64) (sum int64) {
	for k := range l.work {
		l.work[k] = l.work[k][:0]
	}
	for _, j := range of {
		s := &l.slices[j]
		work := l.work[s.set]
		if len(work) == 0 {
			work = append(work, left...)
			l.work[s.set] = work
		}
		if l.Fits(j, work) {
			l.Change(j, work, -1)
			sum += s.size
		}
	}
	return sum
}
