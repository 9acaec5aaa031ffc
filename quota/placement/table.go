// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"maps"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

// table is one node's ledger.
type table struct {
	node  *Node
	board *choice.Board
	shape int // the same number for boards that are the same but for names
	now   choice.State
	// seated is by whom slices are held that seats have, by position; the others
	// that are held are held as reported.
	seated map[int]string
	byWhom map[string][]int     // as reported; made when first asked for
	held   map[gpu.SliceID]bool // the same as the marks; made when first asked for
	kept   *future              // nil: nothing is kept here
	// parting are held slices whose holders are on their way out; leavers are pods
	// here that may be asked to leave, the first to go first.
	parting map[int]bool
	leavers []*leaver
	free    int64        // how much of the node is free, in millionths
	open    choice.State // what others may take: now, less what is kept
	digest  uint64       // of open
	salt    uint64       // see Room.confirmed
	stale   bool         // free, open and digest are to be worked out
}

// future is the ledger as it will be when those who stand in the way of what is
// kept have left, and it is taken.
type future struct {
	choice.State
	// leaving are held slices that this ledger counts as given back.
	leaving map[int]bool
	// hopes is true when it counts on some of whom nobody knows when they leave.
	hopes bool
	// may says by slice who may be asked to leave, chosen who is; while room is
	// cleared. nil: anybody leaves.
	may    map[int]*leaver
	chosen []*leaver
}

func newTable(n *Node) *table {
	if n.start == nil {
		own := *n
		own.compile()
		n = &own
	}
	return &table{node: n, board: n.board, now: n.start.Clone(), seated: map[int]string{}, stale: true}
}

// compile works out the board and the state in which a room begins.
func (n *Node) compile() {
	n.board = choice.NewBoard(n.Layout.Totals, n.Layout.Slices)
	state := n.board.Empty()
	n.start = &state
	t := table{node: n, board: n.board, now: state}
	for i := range state.Marks {
		state.Marks[i] = t.idle(i)
	}
	for id := range n.Held {
		if i, ok := n.board.At(id); ok {
			t.take(i)
		}
	}
}

// idle is the mark of a slice that nobody holds.
func (t *table) idle(i int) choice.Mark {
	if len(t.node.NotOffered) > 0 && t.node.NotOffered[t.node.Layout.Slices[i].Set] {
		return choice.Out
	}
	return t.soon(i)
}

// soon is idle, with the sets that the kubelet has yet to hear of.
func (t *table) soon(i int) choice.Mark {
	if len(t.node.Down) > 0 && t.node.Down[t.node.Layout.Slices[i].ID] {
		return choice.Out
	}
	return choice.Open
}

// take notes that a slice is held. One that is held already stays so.
func (t *table) take(i int) {
	if t.now.Marks[i] == choice.Taken {
		return
	}
	t.stale = true
	t.now.Marks[i] = choice.Taken
	t.board.Change(i, t.now.Left, -1)
	if t.held != nil {
		t.held[t.node.Layout.Slices[i].ID] = true
	}
	if t.kept != nil {
		t.kept.Marks[i] = choice.Taken
		t.board.Change(i, t.kept.Left, -1)
	}
}

// give notes that nobody holds a slice any more.
func (t *table) give(i int) {
	if t.now.Marks[i] != choice.Taken {
		return
	}
	delete(t.held, t.node.Layout.Slices[i].ID)
	delete(t.parting, i)
	t.stale = true
	t.now.Marks[i] = t.idle(i)
	t.board.Change(i, t.now.Left, +1)
	if t.kept == nil {
		return
	}
	if t.kept.leaving[i] {
		delete(t.kept.leaving, i)
		return
	}
	t.kept.Marks[i] = t.soon(i)
	t.board.Change(i, t.kept.Left, +1)
}

// holding is what is held, by ID.
func (t *table) holding() map[gpu.SliceID]bool {
	if t.held == nil {
		t.held = map[gpu.SliceID]bool{}
		for i, mark := range t.now.Marks {
			if mark == choice.Taken {
				t.held[t.node.Layout.Slices[i].ID] = true
			}
		}
	}
	return t.held
}

// later is the ledger that room is kept in, to be changed by the caller.
func (t *table) later() *future {
	if t.kept != nil {
		return &future{State: t.kept.Clone(), leaving: maps.Clone(t.kept.leaving), hopes: t.kept.hopes}
	}
	f := &future{leaving: map[int]bool{}}
	f.State = t.present()
	for i := range t.parting {
		f.release(t, i)
	}
	return f
}

// present is the ledger now, with the sets that the kubelet has yet to hear of.
func (t *table) present() choice.State {
	s := t.now.Clone()
	for i, mark := range s.Marks {
		if mark == choice.Out {
			s.Marks[i] = t.soon(i)
		}
	}
	return s
}

// settle works out what depends on the ledger, if it has changed.
func (t *table) settle() {
	if !t.stale {
		return
	}
	t.stale = false
	t.free = t.board.Unused(t.now.Left)
	t.open = t.now
	if t.kept != nil {
		t.open = t.now.Clone()
		for c, left := range t.kept.Left {
			t.open.Left[c] = min(t.open.Left[c], left)
		}
		for i, mark := range t.kept.Marks {
			if t.open.Marks[i] == choice.Open && mark != choice.Open {
				t.open.Marks[i] = choice.Out
			}
		}
	}
	t.digest = digestOf(t.open, t.salt)
}

// digestOf tells states apart. Two that share one are rare and harmless: see
// Room.confirmed.
func digestOf(s choice.State, salt uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := salt + odd
	mix := func(x uint64) {
		h = (h ^ x) * odd
		h ^= h >> 29
	}
	var word uint64
	for i, mark := range s.Marks {
		word = word<<2 | uint64(mark)
		if i%32 == 31 {
			mix(word)
			word = 0
		}
	}
	mix(word)
	for _, left := range s.Left {
		mix(uint64(left))
	}
	return h
}
